package module_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// FuzzPrepare holds Prepare against the runtime: what is accepted compiles as it
// becomes, if it does as it was. Memory is bounded by a multiple of the input. What
// is refused is not given to the runtime, which makes room for as many entries as
// a malformed module says it has.
func FuzzPrepare(f *testing.F) {
	for _, wasm := range sound() {
		f.Add(wasm)
	}
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true).WithMemoryLimitPages(module.MaxMemory))
	f.Cleanup(func() { r.Close(ctx) })
	compiles := func(wasm []byte) bool {
		m, err := r.CompileModule(ctx, wasm)
		if err == nil {
			m.Close(ctx)
		}
		return err == nil
	}
	f.Fuzz(func(t *testing.T, wasm []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := module.Prepare(wasm)
		runtime.ReadMemStats(&after)
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20+200*uint64(len(wasm)) {
			t.Errorf("%d bytes for a module of %d", spent, len(wasm))
		}
		if err != nil {
			return
		}
		if compiles(wasm) && !compiles(p.Wasm) {
			t.Errorf("compiles, but not when prepared")
		}
		if _, err := module.Prepare(p.Wasm); err != nil && !strings.Contains(err.Error(), "too long") && !strings.Contains(err.Error(), "at most") {
			t.Errorf("prepared, it is refused: %v", err)
		}
	})
}
