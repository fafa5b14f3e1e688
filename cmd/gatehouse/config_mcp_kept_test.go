package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/upstream"
)

// Names that differ in case alone are one to who reads them: neither another server
// nor a plugin stands beside the organisation's under such a name.
func TestMCPServerNamesByCase(t *testing.T) {
	_, _, err := checkedMCPServers(t, map[string]string{"org.toml": serverTable("tickets", ""), "user.toml": serverTable("Tickets", "")})
	if err == nil || !strings.Contains(err.Error(), `user.toml:1: mcp_server: "Tickets" is the name of the server at `) {
		t.Errorf("error = %v", err)
	}
	s, _, err := checkedMCPServers(t, map[string]string{"user.toml": serverTable("Tickets", "")})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.offers("tickets"); err == nil || !strings.Contains(err.Error(), "user.toml:1; give one of them another name") {
		t.Errorf("a plugin of that name: %v", err)
	}
	if err := s.offers("other"); err != nil {
		t.Error(err)
	}
}

// Whatever way an argument names a file, no session may write it.
func TestMCPServerFilesOfArguments(t *testing.T) {
	for _, row := range []struct{ name, argument string }{
		{"as it is", "FILE"},
		{"of a flag", "--require=FILE"},
		{"in the text of a shell", "cd / && exec python3 'FILE' --verbose"},
		{"by dir", "cd . && exec ./run.py"},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder := t.TempDir()
			file := filepath.Join(folder, "run.py")
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			text := fmt.Sprintf("[[mcp_server]]\nname = \"a\"\ncommand = [\"go\", %q]\ndir = %q\n", strings.ReplaceAll(row.argument, "FILE", filepath.ToSlash(file)), folder)
			s, _, err := checkedMCPServers(t, map[string]string{"user.toml": text})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(s.protected(), filepath.Clean(file)) {
				t.Errorf("%s can be written: %v", file, s.servers.files)
			}
		})
	}
}

// What sessions can change or come upon is told, with the place and what to do.
func TestMCPServerInsideTheWorkspace(t *testing.T) {
	secret := "wr1tten" + strings.Repeat("out", 5)
	_, folder, err := checkedMCPServers(t, map[string]string{"user.toml": ""})
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.EvalSymlinks(filepath.Join(folder, "project"))
	if err != nil {
		t.Fatal(err)
	}
	token := filepath.Join(root, "token.txt")
	if err := os.WriteFile(token, []byte("long-enough-a-text"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("[[mcp_server]]\nname = \"a\"\ncommand = [\"go\", \"x\", \"%s ${TOKEN}\"]\ndir = \"project\"\nenv = { KEY = '${file:%s}' }\n", secret, token)
	path := filepath.Join(folder, "user.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := loadConfig(filepath.Join(folder, "none"), path, environment{"HOME=" + folder})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.check(root, environment{"HOME=" + folder})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.serverWarnings(), "\n")
	for _, want := range []string{
		`mcp_server "a": command: ${…} in argument 2 is not filled in by Gatehouse`,
		`mcp_server "a": ` + filepath.Join(folder, "project") + ` lies in ` + root + `, where sessions work`,
		`mcp_server: the file of ${file:` + token + `} lies in ` + root,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, secret) {
		t.Errorf("the argument is shown:\n%s", all)
	}
}

func TestMCPServerToolPatterns(t *testing.T) {
	_, _, err := checkedMCPServers(t, map[string]string{"user.toml": serverTable("a", "tools = [\"mcp__a__list\"]\n")})
	if err == nil || !strings.Contains(err.Error(), `"a": tools "mcp__a__list": write the name as the server does, without mcp__`) {
		t.Errorf("error = %v", err)
	}
	tools := []upstream.Tool{{Name: "list"}, {Name: "create.one"}}
	got := unmatched([]string{"list", "list_*", "*", "create.*", "createXone", "l*t", "lis"}, tools)
	if want := []string{"list_*", "createXone", "lis"}; !slices.Equal(got, want) {
		t.Errorf("unmatched %q, want %q", got, want)
	}
}

// What may be a secret in an address is not told, nor is a name made of nothing.
func TestMCPServerTexts(t *testing.T) {
	for address, want := range map[string]string{"": "", "https://x.example/mcp": "https://x.example/mcp", "https://x.example/mcp?key=abc&y=1": "https://x.example/mcp?…"} {
		if got := plainURL(address); got != want {
			t.Errorf("%s: %s", address, got)
		}
	}
	if got := fileKind("/a/---"); got != "file-secret" {
		t.Errorf("a name without letters: %s", got)
	}
}

// A server that came, went or changed is told as what only a restart heeds.
func TestMCPServersReadAgain(t *testing.T) {
	before, after := defaultConfig(), defaultConfig()
	after.MCPServer = []mcpServerConfig{{Name: "a", Env: map[string]any{"X": "y"}}}
	if keys := changedKeys(before, after); !slices.Equal(keys, []string{mcpServerKey}) {
		t.Errorf("keys that need a restart: %v", keys)
	}
}
