package main

import (
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// toolGuest writes a plugin with one tool; without a name, one that only passes.
func toolGuest(t *testing.T, folder, plugin, tool string) plugins.Config {
	t.Helper()
	g := testwasm.NewGuest()
	if tool == "" {
		g.Hook("pre_permission")
	} else {
		g.Hook("tools_list", g.Output(`{"tools":[{"name":"`+tool+`","description":"d","inputSchema":{"type":"object"}}]}`))
		g.Hook("tools_call", g.Output(`{"content":[{"type":"text","text":"`+tool+`"}]}`))
	}
	path := filepath.Join(folder, plugin+tool+".wasm")
	if err := os.WriteFile(path, g.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return plugins.Config{Name: plugin, Path: path, AllowUnpinned: true}
}

func TestPluginTools(t *testing.T) {
	folder, discard := t.TempDir(), slog.New(slog.DiscardHandler)
	s := &settings{plugins: pluginSettings{list: []plugins.Config{toolGuest(t, folder, "one", "greet"), toolGuest(t, folder, "quiet", "")}}}
	cover := scanRedactor{}
	p, err := openPlugins(t.Context(), s, cover, func() map[string]any { return nil }, nil, discard)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close(discard)
	names := func() string { return strings.Join(slices.Sorted(maps.Keys(p.tools.servers())), " ") }
	if names() != "one" {
		t.Fatalf("servers %q", names())
	}
	first := p.tools.servers()["one"]
	reload := func(list ...plugins.Config) {
		t.Helper()
		if err := p.reload(t.Context(), &settings{servers: s.servers, plugins: pluginSettings{list: list}}); err != nil {
			t.Fatal(err)
		}
	}
	if reload(toolGuest(t, folder, "two", "bow")); names() != "two" {
		t.Errorf("after a reload: %q", names())
	}
	// It is the server that running sessions have, so its tools come back to them.
	if reload(toolGuest(t, folder, "one", "wave")); names() != "one" || p.tools.servers()["one"] != first {
		t.Errorf("after another: %q, another server: %v", names(), p.tools.servers()["one"] != first)
	}
	// One that gets the name of an [[mcp_server]] with a reload is left out.
	s.servers.at = map[string]string{"two": "user.toml:1"}
	if reload(toolGuest(t, folder, "two", "bow"), toolGuest(t, folder, "one", "wave")); names() != "one" {
		t.Errorf("with a name that is taken: %q", names())
	}
}

// With a start it is an error, which names both.
func TestPluginToolsShareNoName(t *testing.T) {
	folder, discard := t.TempDir(), slog.New(slog.DiscardHandler)
	for name, wrong := range map[string]string{
		"taken": `user.toml:9: plugin "taken": it has tools, and the name of the mcp_server at user.toml:1; give one of them another name`,
		"a__b":  `user.toml:9: plugin "a__b": its tools would be called mcp__a__b__TOOL; the name of a plugin with tools must not end with _ or hold two in a row`,
		"a_":    `its tools would be called mcp__a___TOOL`,
	} {
		s := &settings{
			servers: mcpServerSettings{at: map[string]string{"taken": "user.toml:1"}},
			plugins: pluginSettings{list: []plugins.Config{toolGuest(t, folder, name, "greet")}, at: map[string]string{name: "user.toml:9"}},
		}
		_, err := openPlugins(t.Context(), s, scanRedactor{}, func() map[string]any { return nil }, nil, discard)
		if err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%s: %v, want %q", name, err, wrong)
		}
		s.plugins.list = []plugins.Config{toolGuest(t, folder, name, "")} // without tools nothing is wrong with it
		p, err := openPlugins(t.Context(), s, scanRedactor{}, func() map[string]any { return nil }, nil, discard)
		if err != nil {
			t.Errorf("%s without tools: %v", name, err)
		}
		p.close(discard)
	}
}

// Another [[mcp_server]] needs a restart; its files are kept from sessions at once.
func TestChangedServers(t *testing.T) {
	one := fileConfig{MCPServer: []mcpServerConfig{{Name: "a", Env: map[string]any{"A": "x"}}}}
	other := fileConfig{MCPServer: []mcpServerConfig{{Name: "a", Env: map[string]any{"A": "y"}}}}
	if got := changedKeys(one, other); !slices.Equal(got, []string{mcpServerKey}) {
		t.Errorf("changed %q", got)
	}
	start := mcpServerSettings{at: map[string]string{"a": "x:1"}, secrets: []string{"/a"}, files: []string{"/p"}, withheld: []string{"A"}}
	got := mcpServerSettings{at: map[string]string{"b": "x:1"}, secrets: []string{"/b"}, files: []string{"/q"}, withheld: []string{"B"}}.beside(start)
	if !slices.Equal(got.secrets, []string{"/a", "/b"}) || !slices.Equal(got.files, []string{"/p", "/q"}) || !slices.Equal(got.withheld, start.withheld) || got.at["a"] == "" {
		t.Errorf("got %+v", got)
	}
}
