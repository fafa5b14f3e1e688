package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// pluginTools offers the tools of plugins: those of each as a server with the name
// of the plugin. It is safe for concurrent use.
type pluginTools struct {
	call   func(ctx context.Context, plugin, tool, session string, arguments json.RawMessage) (json.RawMessage, error)
	logger *slog.Logger

	mu    sync.Mutex
	sets  map[string]*inproc.ToolSet
	names []string // of plugins that have tools now, sorted
}

// maxToolSets bounds the servers kept for sessions that began when a plugin, since
// removed, had tools: should it come back, they have them again.
const maxToolSets = 8 * plugins.MaxPlugins

// toolLimit is for calls that the host itself does not end: its own limit is lower.
const toolLimit = plugins.MaxToolTimeout + time.Minute

func newPluginTools(h *plugins.Host, logger *slog.Logger) *pluginTools {
	return &pluginTools{call: h.CallTool, logger: logger, sets: map[string]*inproc.ToolSet{}}
}

// byPlugin are the tools of each plugin, as servers offer them.
func (t *pluginTools) byPlugin(tools []plugins.Tool) map[string][]inproc.Tool {
	all := map[string][]inproc.Tool{}
	for _, tool := range tools {
		all[tool.Plugin] = append(all[tool.Plugin], inproc.Tool{
			Name: tool.Name, Description: tool.Description, InputSchema: tool.InputSchema, Annotations: tool.Annotations,
			Call: func(ctx context.Context, session string, arguments json.RawMessage) (json.RawMessage, error) {
				return t.call(ctx, tool.Plugin, tool.Name, session, arguments)
			},
		})
	}
	return all
}

// replace offers tools and no others; sessions under way follow. Those of a plugin
// that cannot be offered are left out, and the error says why.
func (t *pluginTools) replace(h *plugins.Host, allowed func(plugin string) error) error {
	versions := map[string]string{}
	for _, p := range h.Plugins() {
		versions[p.Name] = fmt.Sprintf("%.12s", p.SHA256)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var errs []error
	now := t.byPlugin(h.Tools())
	for _, name := range slices.Sorted(maps.Keys(now)) {
		err := allowed(name)
		if err == nil {
			err = t.set(name, versions[name]).Replace(now[name])
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("plugin %q: %w", name, err))
			delete(now, name)
		}
	}
	t.names = slices.Sorted(maps.Keys(now))
	return errors.Join(append(errs, t.takeBack())...)
}

// takeBack empties the servers of plugins that have no tools any more.
func (t *pluginTools) takeBack() error {
	var errs []error
	for name, set := range t.sets {
		if slices.Contains(t.names, name) {
			continue
		}
		errs = append(errs, set.Replace(nil))
		if len(t.sets) > maxToolSets {
			delete(t.sets, name)
		}
	}
	return errors.Join(errs...)
}

// set is the server of a plugin.
func (t *pluginTools) set(name, version string) *inproc.ToolSet {
	if t.sets[name] == nil {
		t.sets[name] = inproc.NewToolSet(name, version, "", &inproc.Options{Timeout: toolLimit, Logger: t.logger})
	}
	return t.sets[name]
}

// servers are those of plugins that have tools now.
func (t *pluginTools) servers() map[string]engine.ToolServer {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make(map[string]engine.ToolServer, len(t.names))
	for _, name := range t.names {
		all[name] = t.sets[name]
	}
	return all
}
