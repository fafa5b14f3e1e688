package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// TestDocsOfMPM: what the pages tell to write into a file is taken as they say.
func TestDocsOfMPM(t *testing.T) {
	for i, block := range blocks(t, "../../docs/mpm.md", "", "toml") {
		c, at := defaultConfig(), places{}
		if err := c.decode("docs/mpm.md", block, at); err != nil {
			t.Errorf("block %d: %v", i+1, err)
		}
		k := &checker{l: &loaded{fileConfig: c, at: at}}
		if k.mpm(k.tools()); k.err != nil || len(at) == 0 {
			t.Errorf("block %d: %v", i+1, k.err)
		}
	}
	for _, page := range []struct{ name, heading string }{{"../../docs/mpm.md", "## Install"}, {"../../README.md", "### The MPM session tools"}} {
		entry := blocks(t, page.name, page.heading, "json")[0]
		var file struct {
			Servers map[string]struct{ Command string } `json:"mcpServers"`
		}
		if err := json.Unmarshal([]byte(entry), &file); err != nil || file.Servers["mpm-session"].Command != mpmName {
			t.Errorf("%s: %v\n%s", page.name, err, entry)
		}
	}
}

// Every key and variable has its row.
func TestDocsOfToolsAndVariables(t *testing.T) {
	raw, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "| `") {
			first, _, _ := strings.Cut(line[2:], "|")
			rows.WriteString(first)
		}
	}
	names := append([]string{userFolderVariable, logLevelVariable}, readVariables...)
	for key, kind := range knownKeys {
		if kind != tomlTable && (strings.HasPrefix(key, "tools.") || strings.HasPrefix(key, "mpm.")) {
			names = append(names, key)
		}
	}
	for _, name := range names {
		if !strings.Contains(rows.String(), "`"+name+"`") {
			t.Errorf("docs/configuration.md has no row for %s", name)
		}
	}
}

// The help of the command names each of its flags, and no other.
func TestHelpOfMPM(t *testing.T) {
	var out bytes.Buffer
	c := &command{stdout: &out, stderr: &out}
	if code := c.serveTools(t.Context(), nil, parsed(c, "--help")); code != exitOK {
		t.Fatalf("code %d", code)
	}
	for _, flag := range []string{"--max-concurrent 3", "--config x", "--cli x", "--cwd x", "--profile dev"} {
		name, value, _ := strings.Cut(flag, " ")
		if err := parsed(c, name, value); err != nil || !strings.Contains(out.String(), "\n"+name+" ") {
			t.Errorf("%s: error %v, help\n%s", name, err, out.String())
		}
	}
	if n := strings.Count(out.String(), "\n--"); n != 6 {
		t.Errorf("the help has %d flags, want 6", n)
	}
}

func parsed(c *command, args ...string) error {
	_, err := c.parse(mpmName, args, false)
	return err
}
