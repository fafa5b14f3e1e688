package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// aPin is the digest of nothing in particular.
var aPin = strings.Repeat("ab", 32)

// pluginTable is a [[plugin]] that is right, with more lines below.
func pluginTable(name, more string) string {
	return "[[plugin]]\nname = \"" + name + "\"\npath = \"x.wasm\"\nsha256 = \"" + aPin + "\"\n" + more
}

// checkedPlugins reads a user's file beside x.wasm.
func checkedPlugins(t *testing.T, org, user string) (pluginSettings, string, error) {
	t.Helper()
	folder := files(t, map[string]string{"org.toml": org, "user.toml": user, "x.wasm": "\x00asm"})
	l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), environment{"HOME=" + folder})
	if err != nil {
		return pluginSettings{}, folder, err
	}
	project := filepath.Join(folder, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	s, err := l.check(project, environment{"HOME=" + folder})
	if err != nil {
		return pluginSettings{}, folder, err
	}
	return s.plugins, folder, nil
}

func TestPluginConfig(t *testing.T) {
	s, folder, err := checkedPlugins(t, "", `
[plugins]
cache = "cache"
`+pluginTable("plain", "")+`
[[plugin]]
name = "full"
path = "./x.wasm"
allow_unpinned = true
hooks = ["redact", "post_tool"]
order = -5
binding = "none"
on_error = "drop"
timeout = "1500ms"
tool_timeout = "2m"
memory = "128KiB"
state = "instance"
kv = true
redacted = true
data = ["tickets.pattern", "hosts"]
events = ["result"]
[plugin.config]
level = 3
ratio = 0.5
deep = { list = ["a", 1, true] }
"odd key" = "x"
[[plugin.config.rules]]
name = "first"
`)
	if err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(filepath.Join(folder, "x.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	want := []plugins.Config{
		{
			Name: "plain", Path: real, SHA256: aPin, Binding: plugins.BindingDeny, OnError: plugins.ErrorDenies,
			Timeout: plugins.DefaultTimeout, ToolTimeout: plugins.DefaultToolTimeout, Memory: plugins.DefaultMemory,
		},
		{
			Name: "full", Path: real, AllowUnpinned: true, Hooks: []plugins.Hook{plugins.RedactHook, plugins.PostTool}, Order: -5,
			Binding: plugins.BindingNone, OnError: plugins.ErrorDenies, Timeout: 1500 * time.Millisecond, ToolTimeout: 2 * time.Minute,
			Memory: 128 << 10, Reuse: true, KV: true, Redacted: true, Data: []string{"tickets.pattern", "hosts"}, Events: []event.Kind{event.Result},
			Config: []byte(`{"deep":{"list":["a",1,true]},"level":3,"odd key":"x","ratio":0.5,"rules":[{"name":"first"}]}`),
		},
	}
	if !reflect.DeepEqual(s.list, want) {
		t.Errorf("got  %+v\nwant %+v", s.list, want)
	}
	if !slices.Contains(s.files, filepath.Join(folder, "x.wasm")) || !strings.HasSuffix(s.at["full"], "user.toml:9") || s.cache != filepath.Join(filepath.Dir(real), "cache") {
		t.Errorf("files %v, place %s, cache %s", s.files, s.at["full"], s.cache)
	}
}

func TestPluginConfigErrors(t *testing.T) {
	for _, row := range []struct{ name, text, wrong string }{
		{"unknown key", pluginTable("a", "timout = \"1s\"\n"), `user.toml:5: unknown key "plugin.timout"; the nearest known key is "plugin.timeout"`},
		{"unknown key of all", "[plugins]\ncash = \"x\"\n", `user.toml:2: unknown key "plugins.cash"; the nearest known key is "plugins.cache"`},
		{"one table", "[plugin]\nname = \"a\"\n", `user.toml:1: key "plugin" wants an array of tables, found a table`},
		{"no table", pluginTable("a", "config = 3\n"), `user.toml:5: key "plugin.config" wants a table, found an integer`},
		{"no name", "[[plugin]]\npath = \"x.wasm\"\n", `user.toml:1: plugin: name is missing; want name = `},
		{"name", pluginTable("No", ""), `user.toml:1: plugin: name "No": want a lower-case letter`},
		{"twice", pluginTable("a", "") + pluginTable("a", ""), `user.toml:5: plugin: "a" is the name of the plugin at `},
		{"no path", "[[plugin]]\nname = \"a\"\nallow_unpinned = true\n", `"a": path is missing`},
		{"no file", strings.Replace(pluginTable("a", ""), "x.wasm", "y.wasm", 1), `user.toml:1: plugin: "a": path: `},
		{"no pin", "[[plugin]]\nname = \"a\"\npath = \"x.wasm\"\n", `"a": sha256 is missing; gatehouse plugin check FILE.wasm prints it`},
		{"pin", strings.Replace(pluginTable("a", ""), aPin, "abc", 1), `"a": sha256 = "abc" is no digest`},
		{"hook", pluginTable("a", "hooks = [\"pre\"]\n"), `"a": hook "pre" is unknown, want one of session_admit, pre_permission,`},
		{"hook twice", pluginTable("a", "hooks = [\"redact\", \"redact\"]\n"), `"a": hook "redact" stands twice`},
		{"no hook", pluginTable("a", "hooks = []\n"), `"a": hooks = [] calls it nowhere`},
		{"order", pluginTable("a", "order = 1001\n"), `"a": order = 1001 is out of bounds, want -1000 to 1000`},
		{"binding", pluginTable("a", "binding = \"ask\"\n"), `"a": binding = "ask" is unknown, want one of deny, none`},
		{"on_error", pluginTable("a", "on_error = \"allow\"\n"), `"a": on_error = "allow" is unknown, want one of deny, ask, skip`},
		{"drop at a verdict", pluginTable("a", "on_error = \"drop\"\nhooks = [\"redact\", \"pre_permission\"]\n"), `"a": on_error = "drop" withholds a payload`},
		{"drop at all", pluginTable("a", "on_error = \"drop\"\n"), `"a": on_error = "drop" withholds a payload`},
		{"timeout", pluginTable("a", "timeout = \"fast\"\n"), `"a": timeout = "fast" is no duration; write it like "200ms"`},
		{"long timeout", pluginTable("a", "timeout = \"11s\"\n"), `"a": timeout = 11s is out of bounds, want 1ms to 10s`},
		{"tool timeout", pluginTable("a", "tool_timeout = \"11m\"\n"), `"a": tool_timeout = 11m is out of bounds, want 1ms to 10m0s`},
		{"memory", pluginTable("a", "memory = \"32MB\"\n"), `"a": memory = "32MB" is no size; write it like "32MiB"`},
		{"no page", pluginTable("a", "memory = \"65KiB\"\n"), `"a": memory = 65KiB is out of bounds, want 64KiB to 512MiB in steps of 64KiB`},
		{"much memory", pluginTable("a", "memory = \"513MiB\"\n"), `"a": memory = 513MiB is out of bounds`},
		{"state", pluginTable("a", "state = \"pool\"\n"), `"a": state = "pool" is unknown, want one of call, instance`},
		{"data", pluginTable("a", "data = [\"a..b\"]\n"), `"a": data "a..b" is no path`},
		{"events", pluginTable("a", "events = [\"partial\"]\n"), `"a": event "partial" is unknown, want one of output,`},
		{"date", pluginTable("a", "[plugin.config]\nsince = 2026-01-02\n"), `"a": config.since is a date or time, which JSON does not have; put it in quotes`},
		{"no number", pluginTable("a", "[plugin.config.deep]\nx = [nan]\n"), `"a": config.deep.x[0] = NaN is no number of JSON`},
		{"cache in a project", "[plugins]\ncache = \"project/cache\"\n", `user.toml:2: plugins.cache: `},
		{"too many", strings.Repeat(pluginTable("a", ""), plugins.MaxPlugins+1), `33 plugins are too many, want at most 32`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, _, err := checkedPlugins(t, "", row.text); err == nil || !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("error = %v, want one with %q", err, row.wrong)
			}
		})
	}
}

// What the organisation runs stays, whatever the user's file says.
func TestPluginsOfTheOrganisation(t *testing.T) {
	for _, row := range []struct {
		name, org, user, wrong string
		names                  []string
	}{
		{"together", pluginTable("theirs", "order = 9\n"), pluginTable("mine", ""), "", []string{"theirs", "mine"}},
		{"not taken away", pluginTable("theirs", ""), "profile = \"dev\"\n", "", []string{"theirs"}},
		{"not named over", pluginTable("theirs", ""), pluginTable("theirs", ""), `user.toml:1: plugin: "theirs" is the name of the plugin at `, nil},
		{"locked", "[lock]\nkeys = [\"plugin\"]\n", pluginTable("mine", ""), `user.toml:1: key "plugin" is locked by`, nil},
		{"locked with its own", "[lock]\nkeys = [\"plugin\", \"plugins.cache\"]\n" + pluginTable("theirs", ""), "[plugins]\ncache = \"x\"\n", `user.toml:2: key "plugins.cache" is locked by`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _, err := checkedPlugins(t, row.org, row.user)
			if row.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), row.wrong) {
					t.Errorf("error = %v, want one with %q", err, row.wrong)
				}
				return
			}
			var names []string
			for _, p := range s.list {
				names = append(names, p.Name)
			}
			if err != nil || !slices.Equal(names, row.names) {
				t.Errorf("plugins %v, %v; want %v", names, err, row.names)
			}
		})
	}
}

func TestPluginLinks(t *testing.T) {
	folder := files(t, map[string]string{"user.toml": "", "x.wasm": ""})
	outside := files(t, map[string]string{"y.wasm": ""})
	link := func(name, to string) {
		if err := os.Symlink(to, filepath.Join(folder, name)); err != nil {
			t.Skip("this system lets nobody make links: ", err)
		}
	}
	link("in.wasm", "x.wasm")
	link("out.wasm", filepath.Join(outside, "y.wasm"))
	link("away", outside)
	for _, row := range []struct{ path, wrong string }{
		{filepath.Join(folder, "x.wasm"), ""},
		{filepath.Join(folder, "in.wasm"), ""},
		{filepath.Join(folder, "out.wasm"), "is a link that leads out of"},
		{filepath.Join(folder, "away", "y.wasm"), "is a link that leads out of"},
		{filepath.Join(outside, "y.wasm"), ""}, // named itself
		{filepath.Join(folder, "no.wasm"), "no such file"},
	} {
		real, err := new(pluginChecker).resolve(folder, row.path)
		if row.wrong == "" && (err != nil || filepath.Base(real) == "in.wasm") || row.wrong != "" && (err == nil || !strings.Contains(err.Error(), row.wrong)) {
			t.Errorf("%s: %s, %v; want %q", row.path, real, err, row.wrong)
		}
	}
}
