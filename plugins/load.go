package plugins

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// Load loads plugins. The error tells what is wrong with each that cannot be.
func Load(ctx context.Context, o Options) (*Host, error) {
	h := newHost(o)
	if err := checkCache(o.CacheDir); err != nil {
		h.events.close()
		return nil, err
	}
	h.enter(newSet(nil))
	if err := h.Reload(ctx, o.Plugins); err != nil {
		return nil, errors.Join(err, h.Close(ctx))
	}
	return h, nil
}

// Reload replaces the plugins: the new ones are made aside, then take the place of
// the old ones, whose calls go on to their end. On an error nothing has changed.
// A plugin whose file and settings are as they were stays as it is.
func (h *Host) Reload(ctx context.Context, plugins []Config) error {
	h.loading.Lock()
	defer h.loading.Unlock()
	if h.isClosed() {
		return errClosed
	}
	configs, err := checkAll(plugins, h.options)
	if err != nil {
		return err
	}
	old := h.inForce()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !h.begins(cancel) {
		return errClosed
	}
	loaded, err := h.loadAll(ctx, configs, old)
	h.begins(nil)
	if err != nil {
		return err
	}
	defer quiet(old, loaded)()
	h.enter(newSet(loaded))
	h.replaced(old, loaded)
	return nil
}

// begins notes what ends the loading that begins, or with nil that it is through. It
// reports false when the host is closed.
func (h *Host) begins(stop context.CancelFunc) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopLoading = stop
	return !h.closed
}

// quiet keeps calls from telling news of plugins until the function it gives is called.
func quiet(old, loaded []*plugin) (end func()) {
	all := slices.Clone(old)
	for _, p := range loaded {
		if !slices.Contains(old, p) {
			all = append(all, p)
		}
	}
	for _, p := range all {
		p.telling.Lock()
	}
	return func() {
		for _, p := range all {
			p.telling.Unlock()
		}
	}
}

func (h *Host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

// checkAll checks all settings, before a file is opened.
func checkAll(plugins []Config, o Options) ([]Config, error) {
	if len(plugins) > MaxPlugins {
		return nil, fmt.Errorf("plugins: there are %d, at most %d may be", len(plugins), MaxPlugins)
	}
	var problems []error
	names := map[string]bool{}
	configs := make([]Config, len(plugins))
	for i, c := range plugins {
		checked, err := c.checked()
		configs[i] = checked
		problems = append(problems, err)
		if names[c.Name] {
			problems = append(problems, fmt.Errorf("plugin %q: the name is there twice", c.Name))
		}
		names[c.Name] = true
		if c.Redacted && o.Cover == nil {
			problems = append(problems, fmt.Errorf("plugin %q: wants redacted documents, but there is nothing to redact them with", c.Name))
		}
	}
	return configs, errors.Join(problems...)
}

// loadAll loads beside one another what is not in old. On an error it leaves nothing.
func (h *Host) loadAll(ctx context.Context, configs []Config, old []*plugin) ([]*plugin, error) {
	loaded, problems := make([]*plugin, len(configs)), make([]error, len(configs))
	free := newSlots(parallel())
	var all sync.WaitGroup
	for i, c := range configs {
		all.Go(func() { // ends with its compiling, which bounded modules bound
			free <- struct{}{}
			defer free.release()
			if loaded[i], problems[i] = h.loadOne(ctx, c, old); problems[i] != nil {
				problems[i] = fmt.Errorf("plugin %q: %w", c.Name, problems[i])
			}
		})
	}
	all.Wait()
	err := errors.Join(problems...)
	for _, p := range loaded {
		if err != nil && p != nil && !slices.Contains(old, p) {
			p.close()
		}
	}
	return loaded, err
}

// loadOne gives the plugin of old that is the same, or a new one.
func (h *Host) loadOne(ctx context.Context, c Config, old []*plugin) (*plugin, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	wasm, digest, err := readModule(c)
	if err != nil {
		return nil, err
	}
	prepared, err := module.Prepare(wasm)
	if err != nil {
		return nil, err
	}
	p := &plugin{
		host: h, config: c, sha256: digest, settings: newTape(c.Config),
		lanes: [...]lane{newLane(h.slots), newLane(h.toolSlots), newLane(h.eventSlots)},
	}
	if p.hooks, err = checkModule(c, prepared); err != nil {
		return nil, err
	}
	for _, o := range old {
		if string(o.identity()) == string(p.identity()) {
			return o, nil
		}
	}
	if err := p.begin(ctx, prepared); err != nil {
		return nil, err // begin has freed what it made
	}
	return p, nil
}

// readModule reads a plugin's file once: what is hashed is what is compiled.
func readModule(c Config) (wasm []byte, digest string, err error) {
	wasm, err = regular.Read(c.Path, MaxModule)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", fmt.Errorf("%w; build it, or correct path", err)
	} else if err != nil {
		return nil, "", err
	}
	sum := sha256.Sum256(wasm)
	digest = hex.EncodeToString(sum[:])
	if c.SHA256 != "" && c.SHA256 != digest {
		return nil, "", fmt.Errorf("%s: sha256 is %s, config pins %s; if the new file is meant, pin it", c.Path, digest, c.SHA256)
	}
	return wasm, digest, nil
}

// begin compiles a plugin and makes its first instance, so that one that cannot work
// fails here and not at its first call.
func (p *plugin) begin(ctx context.Context, m module.Prepared) (err error) {
	defer func() {
		if v := recover(); v != nil { // of the compiler, whose mistakes are not to end the server
			err = fmt.Errorf("compiling: the compiler failed: %.200v", v)
		}
	}()
	started := time.Now()
	p.code, err = compileCached(ctx, m.Wasm, p.config.Memory, p.host.options.CacheDir, p.host.log)
	if err != nil {
		return fmt.Errorf("compiling: %s", fault(err))
	}
	p.compiled, p.code.memories = time.Since(started), &p.host.memories
	p.code.beside, p.code.least = m.Beside, m.Beside+int64(m.Memory.Min)*page
	p.spare = newPool(p)
	if err := p.first(ctx); err != nil {
		p.close()
		return err
	}
	return nil
}

func (p *plugin) first(ctx context.Context) error {
	limit := p.config.Timeout
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timedOut(limit))
	defer cancel()
	i, err := p.make(ctx)
	if err != nil {
		return fmt.Errorf("%w (timeout = %v, memory = %d MiB)", err, limit, p.config.Memory>>20)
	}
	if !slices.Contains(p.hooks, ToolsList) {
		p.spare.done(i, true)
		return nil
	}
	x := &exchange{plugin: p, hook: ToolsList, doc: p.view(newDocument(ToolsList, nil))}
	err = i.call(ctx, x)
	x.log.tell(ctx, p.host.log, p.config.Name, ToolsList)
	p.spare.done(i, false)
	if err == nil {
		p.tools, err = decodeTools(p.config.Name, x.output)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", ToolsList, err)
	}
	return nil
}

// replaced tells of what came and went, and forgets what was kept for the latter. The
// caller holds the news of all of them.
func (h *Host) replaced(old, loaded []*plugin) {
	names := map[string]bool{}
	for _, p := range loaded {
		names[p.config.Name] = true
	}
	h.events.retain(func(name string) bool { return names[name] })
	h.kv.forget(func(scope kvScope) bool { return !names[scope.plugin] })
	for _, p := range old {
		p.gone = !slices.Contains(loaded, p)
		if !names[p.config.Name] {
			h.tell(Unloaded, p)
		}
	}
	for _, p := range loaded {
		if !slices.Contains(old, p) {
			h.tell(Loaded, p)
		}
	}
}

// checkModule looks at what a module imports and exports, all of it, and returns the
// hooks the plugin is called at.
func checkModule(c Config, m module.Prepared) ([]Hook, error) {
	hooks, err := checkExports(c, m)
	if err := errors.Join(checkImports(m), err); err != nil {
		return nil, errors.New(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return hooks, nil
}
