package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// The real CLI's call is denied by a plugin: its command does not run.
func TestRealCLIPluginDenies(t *testing.T) {
	w := newRealWorld(t)
	config := pluginWorld(t, testwasm.Deny("pre_permission", "not on my watch"))
	out := w.command(t, "", "gatehouse", "run", "--config", config, "--cli", w.cli, "--allowed-tools", "Bash", "publish it")
	for _, want := range []string{"plugin.guard", "not on my watch"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(w.project, "done.txt")); err == nil {
		t.Error("the command ran")
	}
	if !w.api.Saw("not on my watch") {
		t.Error("the model was not told why")
	}
}

// A plugin covers what the real CLI's tool gave back, before the model reads it.
func TestRealCLIPluginRedacts(t *testing.T) {
	w := newRealWorldWith(t, "cat hosts.txt")
	const host = "build1.corp.example"
	if err := os.WriteFile(filepath.Join(w.project, "hosts.txt"), []byte(host+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := pluginWorld(t, testwasm.Output("post_tool", `{"edits":[{"path":"/stdout","op":"replace","rule":"host"}]}`))
	out := w.command(t, "", "gatehouse", "run", "--config", config, "--cli", w.cli, "--allowed-tools", "Bash", "look")
	if w.api.Saw(host) || strings.Contains(out, host) {
		t.Errorf("the host is in what the model read, or in\n%s", out)
	}
	if !w.api.Saw("[REDACTED:plugin.guard.host]") {
		t.Errorf("the model did not read the placeholder:\n%s", out)
	}
}

// pluginWorld is a configuration with one plugin.
func pluginWorld(t *testing.T, wasm []byte) (config string) {
	t.Helper()
	folder := files(t, map[string]string{
		"guard.wasm":     string(wasm),
		"gatehouse.toml": "[[plugin]]\nname = \"guard\"\npath = \"guard.wasm\"\nallow_unpinned = true\ntimeout = \"10s\"\n",
	})
	return filepath.Join(folder, "gatehouse.toml")
}
