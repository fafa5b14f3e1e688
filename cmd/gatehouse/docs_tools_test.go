package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// blocks are the code blocks of a page in a language, of the section that begins with
// heading; empty: of all.
func blocks(t *testing.T, page, heading, language string) (all []string) {
	t.Helper()
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(raw), heading)
	if !found {
		t.Fatalf("%s has no %q", page, heading)
	}
	if heading != "" {
		text, _, _ = strings.Cut(text, "\n## ")
	}
	for {
		_, rest, found := strings.Cut(text, "```"+language+"\n")
		block, after, closed := strings.Cut(rest, "```")
		if !found || !closed {
			break
		}
		all, text = append(all, block), after
	}
	if len(all) == 0 {
		t.Fatalf("%s has no %s", page, language)
	}
	return all
}

// TestDocsOfTools: what the pages tell to write into a file is taken as they say.
func TestDocsOfTools(t *testing.T) {
	for _, page := range []struct{ name, heading string }{{"../../docs/tools.md", ""}, {"../../README.md", "## Tools of your own"}} {
		for i, block := range blocks(t, page.name, page.heading, "toml") {
			c, at := defaultConfig(), places{}
			if err := c.decode(page.name, block, at); err != nil {
				t.Errorf("block %d: %v", i+1, err)
			}
			bin := t.TempDir()
			for j, s := range c.MCPServer {
				if len(s.Command) > 0 { // which nobody has here
					s.Command[0] = filepath.Join(bin, "program.exe")
					if err := os.WriteFile(s.Command[0], nil, 0o700); err != nil {
						t.Fatal(err)
					}
					c.MCPServer[j] = s
				}
			}
			k := &checker{l: &loaded{fileConfig: c, at: at, serversAt: make([]string, len(c.MCPServer))}, env: environment{"HOME=" + bin, "USERPROFILE=" + bin}}
			if k.mcpServers(); k.err != nil || len(c.MCPServer) == 0 {
				t.Errorf("%s, block %d: %d servers, %v", page.name, i+1, len(c.MCPServer), k.err)
			}
		}
	}
	folder := t.TempDir()
	for i, block := range blocks(t, "../../docs/tools.md", "", "rego") {
		if err := os.WriteFile(filepath.Join(folder, string(rune('a'+i))+".rego"), []byte(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := policy.Load(t.Context(), policy.Options{Profile: "ci", Paths: []string{folder}}); err != nil {
		t.Error(err)
	}
}
