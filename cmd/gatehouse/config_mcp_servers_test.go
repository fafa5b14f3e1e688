package main

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/upstream"
)

// serverTable is an [[mcp_server]] that is right, with more lines below.
func serverTable(name, more string) string {
	return "[[mcp_server]]\nname = \"" + name + "\"\ncommand = [\"go\", \"version\"]\n" + more
}

// checkedMCPServers reads a user's file beside the files given, in an environment.
func checkedMCPServers(t *testing.T, texts map[string]string, env ...string) (*settings, string, error) {
	t.Helper()
	folder := files(t, texts)
	project := filepath.Join(folder, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	e := append(environment{"HOME=" + folder, "USERPROFILE=" + folder}, env...)
	l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), e)
	if err != nil {
		return nil, folder, err
	}
	s, err := l.check(project, e)
	return s, folder, err
}

func TestMCPServerConfig(t *testing.T) {
	token, key := strings.Repeat("to", 10), strings.Repeat("ke", 10)
	s, folder, err := checkedMCPServers(t, map[string]string{"key.txt": key + "\r\n", "server.py": "", "user.toml": serverTable("plain", "") + `
[[mcp_server]]
name = "full"
command = ["go", "run", "./server.py", "--flag"]
dir = "."
env_from = ["TICKETS_TOKEN"]
env = { KEY = "k=${file:~/key.txt};", MODE = "production", COST = "$${5}" }
tools = ["create_*", "list"]
timeout = "90s"
start_timeout = "5s"
idle_timeout = "1h"
per_session = true

[[mcp_server]]
name = "far-away_2"
url = "https://mcp.example.com/mcp"
headers = { authorization = "Bearer ${TICKETS_TOKEN}" }
`}, "TICKETS_TOKEN="+token)
	if err != nil {
		t.Fatal(err)
	}
	got := s.servers
	if len(got.list) != 3 {
		t.Fatalf("servers %+v", got.list)
	}
	plain, full, far := got.list[0], got.list[1], got.list[2]
	if !filepath.IsAbs(plain.Command[0]) || plain.Command[1] != "version" || plain.Tools != nil || plain.Dir != "" ||
		plain.Timeout != upstream.DefaultTimeout || plain.StartTimeout != upstream.DefaultStartTimeout || plain.IdleTimeout != upstream.DefaultIdleTimeout {
		t.Errorf("plain: %+v", plain)
	}
	if full.Dir != folder || !slices.Equal(full.Tools, []string{"create_*", "list"}) || !full.PerSession ||
		full.Timeout != 90*time.Second || full.StartTimeout != 5*time.Second || full.IdleTimeout != time.Hour {
		t.Errorf("full: %+v", full)
	}
	for name, want := range map[string]string{"TICKETS_TOKEN": token, "KEY": "k=" + key + ";", "MODE": "production", "COST": "${5}"} {
		if value, err := full.Env[name](); err != nil || string(value) != want {
			t.Errorf("env %s = %q, %v; want %q", name, string(value), err, want)
		}
	}
	if value, err := far.Headers["Authorization"](); err != nil || string(value) != "Bearer "+token || far.URL != "https://mcp.example.com/mcp" {
		t.Errorf("far: %v, %+v", err, far)
	}
	if want := []int{0, 2, 1}; len(plain.Secrets) != want[0] || plain.Secrets == nil || len(full.Secrets) != want[1] || len(far.Secrets) != want[2] {
		t.Errorf("secrets: %d, %d, %d", len(plain.Secrets), len(full.Secrets), len(far.Secrets))
	}
	if !slices.Equal(got.withheld, []string{"TICKETS_TOKEN"}) || !slices.Contains(got.secrets, filepath.Join(folder, "key.txt")) ||
		!slices.Contains(got.files, filepath.Join(folder, "server.py")) || !slices.Contains(got.files, full.Command[0]) {
		t.Errorf("kept from sessions: %v, %v, %v", got.withheld, got.secrets, got.files)
	}
	for _, list := range [][]string{s.secret(), s.protected()} {
		if !slices.Contains(list, filepath.Join(folder, "key.txt")) {
			t.Errorf("key.txt is not in %v", list)
		}
	}
	for _, secret := range []string{token, key} {
		if covered, _ := s.redaction.scanner.String("it is " + secret + "."); strings.Contains(covered, secret) {
			t.Errorf("not covered: %s", covered)
		}
	}
	if len(got.warnings) > 0 {
		t.Errorf("warnings %q", got.warnings)
	}
}

func TestMCPServerErrors(t *testing.T) {
	url := func(address, more string) string {
		return "[[mcp_server]]\nname = \"a\"\nurl = \"" + address + "\"\n" + more
	}
	for _, row := range []struct{ name, text, wrong string }{
		{"unknown key", serverTable("a", "timout = \"1s\"\n"), `user.toml:4: unknown key "mcp_server.timout"; the nearest known key is "mcp_server.timeout"`},
		{"one table", "[mcp_server]\nname = \"a\"\n", `user.toml:1: key "mcp_server" wants an array of tables, found a table`},
		{"no table", serverTable("a", "env = 3\n"), `user.toml:4: key "mcp_server.env" wants a table, found an integer`},
		{"no list", serverTable("a", "env_from = \"X\"\n"), `user.toml:4: key "mcp_server.env_from" wants an array of strings, found a string`},
		{"no name", "[[mcp_server]]\ncommand = [\"go\"]\n", `user.toml:1: mcp_server: name is missing; want name = `},
		{"name", serverTable("a__b", ""), `name "a__b": want 1 to 64 of A-Z, a-z, 0-9, _ and -, with no _ at either end`},
		{"long name", serverTable(strings.Repeat("a", 65), ""), `want 1 to 64 of`},
		{"twice", serverTable("a", "") + serverTable("a", ""), `user.toml:4: mcp_server: "a" is the name of the server at `},
		{"neither", "[[mcp_server]]\nname = \"a\"\n", `"a": command and url are missing; want command = ["program", "argument"] or url = `},
		{"both", serverTable("a", "url = \"https://x.example\"\n"), `"a": command and url are both set; keep one`},
		{"no program", "[[mcp_server]]\nname = \"a\"\ncommand = []\n", `"a": command names no program`},
		{"no such program", "[[mcp_server]]\nname = \"a\"\ncommand = [\"no-such-program-here\"]\n", `"a": command: `},
		{"no such file", "[[mcp_server]]\nname = \"a\"\ncommand = [\"./nowhere\"]\n", `nowhere`},
		{"no folder", serverTable("a", "dir = \"nowhere\"\n"), `"a": dir: `},
		{"a file as folder", serverTable("a", "dir = \"user.toml\"\n"), `user.toml is no folder`},
		{"variable", serverTable("a", "env_from = [\"A-B\"]\n"), `"a": env_from: "A-B" is no name of a variable`},
		{"variable twice", serverTable("a", "env_from = [\"A\", \"A\"]\n"), `"a": env_from: A stands twice`},
		{"variable in both", serverTable("a", "env_from = [\"A\"]\nenv = { A = \"x\" }\n"), `"a": A stands in env and in env_from`},
		{"variable sessions need", serverTable("a", "env = { X = \"${HOME}/x\" }\n"), `"a": env: X: HOME is needed in sessions`},
		{"variable of the CLI", serverTable("a", "env_from = [\"ANTHROPIC_API_KEY\"]\n"), `ANTHROPIC_API_KEY is needed in sessions, which get no variable that is named here`},
		{"variable of Gatehouse", serverTable("a", "env_from = [\"CLAUDE_CODE_MCP_RESUME_SECRET\"]\n"), `CLAUDE_CODE_MCP_RESUME_SECRET is Gatehouse's own`},
		{"no text", serverTable("a", "env = { A = 3 }\n"), `"a": env: A wants a string, found an integer; put it in quotes`},
		{"name of a variable", serverTable("a", "env = { \"A=B\" = \"x\" }\n"), `"a": env: "A=B" is no name of a variable`},
		{"open", serverTable("a", "env = { A = \"x ${B\" }\n"), `"a": env: A: ${ is not closed; write ${NAME} or ${file:/path}`},
		{"odd", serverTable("a", "env = { A = \"${B:-c}\" }\n"), `"a": env: A: ${B:-c} names no variable`},
		{"relative file", serverTable("a", "env = { A = \"${file:x}\" }\n"), `"a": env: A: ${file:x}: the path must be absolute or begin with ~/`},
		{"headers of a command", serverTable("a", "headers = { A = \"x\" }\n"), `"a": headers are for a url; give a command its secrets by env or env_from`},
		{"dir of a url", url("https://x.example/", "dir = \".\"\n"), `"a": dir is for a command`},
		{"env of a url", url("https://x.example/", "env_from = [\"A\"]\n"), `"a": env_from is for a command; give a url its secrets by headers`},
		{"no url", url("x.example", ""), `"a": url is no address; write it like "https://`},
		{"plain http", url("http://x.example/mcp", ""), `"a": url: http:// to x.example would carry secrets uncovered over the network; want https://`},
		{"scheme", url("ws://x.example/mcp", ""), `"a": url: scheme "ws" is unknown, want https`},
		{"secret in a url", url("https://x.example/${KEY}", ""), `"a": url: ${…} is not filled in here`},
		{"password in a url", url("https://me:word@x.example/", ""), `"a": url holds a name or password`},
		{"header", url("https://x.example/", "headers = { \"A B\" = \"x\" }\n"), `"a": headers: "A B" is no name of a header`},
		{"our header", url("https://x.example/", "headers = { mcp-session-id = \"x\" }\n"), `"a": headers: Mcp-Session-Id is set by Gatehouse itself`},
		{"header twice", url("https://x.example/", "headers = { Key = \"x\", key = \"y\" }\n"), `"a": headers: Key stands twice`},
		{"no tools", serverTable("a", "tools = []\n"), `"a": tools = [] offers none`},
		{"tool", serverTable("a", "tools = [\"a b\"]\n"), `"a": tools "a b" is no name of a tool; write it as the server does`},
		{"timeout", serverTable("a", "timeout = \"fast\"\n"), `"a": timeout = "fast" is no duration; write it like "200ms"`},
		{"long timeout", serverTable("a", "timeout = \"25h\"\n"), `"a": timeout = 25h is out of bounds, want 100ms to 24h0m0s`},
		{"start_timeout", serverTable("a", "start_timeout = \"11m\"\n"), `"a": start_timeout = 11m is out of bounds`},
		{"idle_timeout", serverTable("a", "idle_timeout = \"0s\"\n"), `"a": idle_timeout = 0s is out of bounds`},
		{"too many", strings.Repeat(serverTable("a", ""), maxMCPServers+1), `33 servers are too many, want at most 32`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, _, err := checkedMCPServers(t, map[string]string{"user.toml": row.text})
			if err == nil || !strings.Contains(err.Error(), row.wrong) {
				t.Errorf("error = %v, want one with %q", err, row.wrong)
			}
			if err != nil && strings.Contains(err.Error(), "word@") {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
}

// No program is taken from the current folder, nor is Gatehouse itself one.
func TestMCPServerPrograms(t *testing.T) {
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := checkedMCPServers(t, map[string]string{"user.toml": "[[mcp_server]]\nname = \"a\"\ncommand = ['" + own + "']\n"}); err == nil || !strings.Contains(err.Error(), "is Gatehouse itself") {
		t.Errorf("its own program: %v", err)
	}
	name := "found-here-only"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, name), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(folder)
	t.Setenv("PATH", "."+string(filepath.ListSeparator)+os.Getenv("PATH"))
	_, _, err = checkedMCPServers(t, map[string]string{"user.toml": "[[mcp_server]]\nname = \"a\"\ncommand = [\"found-here-only\"]\n"})
	if err == nil || !strings.Contains(err.Error(), "was found in the current folder only") {
		t.Errorf("in the current folder: %v", err)
	}
}

// What the organisation runs stays, whatever the user's file says.
func TestMCPServersOfTheOrganisation(t *testing.T) {
	for _, row := range []struct {
		name, org, user, wrong string
		names                  []string
	}{
		{"together", serverTable("theirs", ""), serverTable("mine", ""), "", []string{"theirs", "mine"}},
		{"not taken away", serverTable("theirs", ""), "profile = \"dev\"\n", "", []string{"theirs"}},
		{"not named over", serverTable("theirs", ""), serverTable("theirs", ""), `user.toml:1: mcp_server: "theirs" is the name of the server at `, nil},
		{"locked", "[lock]\nkeys = [\"mcp_server\"]\n", serverTable("mine", ""), `user.toml:1: key "mcp_server" is locked by`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _, err := checkedMCPServers(t, map[string]string{"org.toml": row.org, "user.toml": row.user})
			if row.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), row.wrong) {
					t.Errorf("error = %v, want one with %q", err, row.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, c := range s.servers.list {
				names = append(names, c.Name)
			}
			if !slices.Equal(names, row.names) {
				t.Errorf("servers %v, want %v", names, row.names)
			}
		})
	}
}

// What is missing is told, and keeps that server alone from being reached.
func TestMCPServerWarnings(t *testing.T) {
	s, folder, err := checkedMCPServers(t, map[string]string{"short.txt": "abc", "user.toml": serverTable("a", `
env_from = ["MISSING"]
env = { A = "${file:~/gone.txt}", B = "${file:~/short.txt}" }
`)})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(s.servers.warnings, "\n")
	for _, want := range []string{
		`mcp_server "a": env_from: MISSING: MISSING is not set for Gatehouse; set it where Gatehouse is started; it cannot be reached until then`,
		`mcp_server "a": env: A: ` + filepath.Join(folder, "gone.txt") + `: `, `env: B: the value has fewer than 8 bytes`,
	} {
		if !strings.Contains(all, want) {
			t.Errorf("warnings lack %q:\n%s", want, all)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	s, folder, err = checkedMCPServers(t, map[string]string{"open.txt": "a-long-secret", "user.toml": ""})
	if err != nil || len(s.servers.warnings) > 0 {
		t.Fatal(err, s.servers.warnings)
	}
	path := filepath.Join(folder, "open.txt")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	k := &serverChecker{checker: &checker{l: &loaded{}}, s: mcpServerConfig{Name: "a"}, out: &mcpServerSettings{values: map[string]string{}}}
	k.note("env: A", part{file: path})
	if !slices.Contains(k.out.warnings, readableWarning("a", path)) {
		t.Errorf("a file others can read: %q", k.out.warnings)
	}
}

// A value is found again each time, and what is wrong with it is no part of errors.
func TestMCPServerSources(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "token")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	find := sourceOf([]part{{text: "Bearer "}, {file: path}}, neverInHeaders, nil)
	write("first\n")
	if value, err := find(); err != nil || string(value) != "Bearer first" {
		t.Errorf("%q, %v", string(value), err)
	}
	write("second\n\n") // one newline is the file's, the other the value's
	if value, err := find(); err == nil || strings.Contains(err.Error(), "second") || value != "" {
		t.Errorf("a line break: %q, %v", string(value), err)
	}
	write(strings.Repeat("x", maxSecretFile+1))
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "over 65536 bytes") {
		t.Errorf("a large file: %v", err)
	}
	write("\n")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := sourceOf([]part{{file: folder}}, "", nil)(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := sourceOf([]part{{variable: "A"}}, "", environment{"A="})(); err == nil || !strings.Contains(err.Error(), "A is not set") {
		t.Errorf("an empty variable: %v", err)
	}
}
