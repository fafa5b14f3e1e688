package plugins

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

// code is a compiled module in a runtime of its own, as the limit of memory is one
// of the runtime's. Closing it frees everything made in it.
type code struct {
	runtime  wazero.Runtime
	memories *memories // of instances
	beside   int64     // bytes that an instance takes beside its memory
	least    int64     // bytes that one takes in all
	module   wazero.CompiledModule
	config   wazero.ModuleConfig
	cache    wazero.CompilationCache // nil: none
}

const page = 64 << 10

// compile compiles a module that was prepared. Nothing ends it but its end, which is
// why the module is bounded before.
func compile(ctx context.Context, wasm []byte, memory int64, cache wazero.CompilationCache) (*code, error) {
	config := wazero.NewRuntimeConfig().
		WithCoreFeatures(api.CoreFeaturesV2).
		WithCloseOnContextDone(true).
		WithDebugInfoEnabled(false).
		WithMemoryLimitPages(uint32(memory / page))
	if cache != nil {
		config = config.WithCompilationCache(cache)
	}
	c := &code{runtime: wazero.NewRuntimeWithConfig(ctx, config), cache: cache}
	// No name, so that a module cannot take the host's place, and no _start: a module
	// that exports it is a program, not a plugin.
	c.config = wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
	if err := c.fill(ctx, wasm); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *code) fill(ctx context.Context, wasm []byte) (err error) {
	if c.module, err = c.runtime.CompileModule(ctx, wasm); err != nil {
		return err
	}
	if err := abiModule(ctx, c.runtime); err != nil {
		return err
	}
	return wasiModule(ctx, c.runtime, c.module.ImportedFunctions())
}

// close frees everything. No call may be under way.
func (c *code) close() {
	ctx := context.Background()
	_ = c.runtime.Close(ctx)
	if c.cache != nil {
		_ = c.cache.Close(ctx)
	}
}
