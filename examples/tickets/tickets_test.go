package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// built is a folder that TestMain makes; build puts both programs there once.
var (
	built string
	build = sync.OnceValue(func() error {
		for _, path := range []string{"../../cmd/gatehouse", "."} {
			if out, err := exec.Command("go", "build", "-o", built+string(filepath.Separator), path).CombinedOutput(); err != nil {
				return fmt.Errorf("go build %s: %w\n%s", path, err, out)
			}
		}
		return nil
	})
)

func TestMain(m *testing.M) {
	var err error
	if built, err = os.MkdirTemp("", "gatehouse-tickets-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// place is a home with this example's configuration, for sessions in a project.
type place struct {
	home, project string
	token         string
}

func newPlace(t *testing.T, turn []any) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	p := place{home: filepath.Join(base, "home"), project: filepath.Join(base, "project"), token: "tkt" + strings.Repeat("x9Qw", 8)}
	if err := os.CopyFS(filepath.Join(p.home, "policies"), os.DirFS("policies")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(p.project, 0o700); err != nil {
		t.Fatal(err)
	}
	scenario, err := json.Marshal(map[string]any{"turns": [][]any{turn}})
	if err != nil {
		t.Fatal(err)
	}
	shipped, err := os.ReadFile("gatehouse.toml")
	if err != nil {
		t.Fatal(err)
	}
	played := filepath.Join(base, "scenario.json")
	config := fmt.Sprintf("cli.executable = %q\ncli.args = [\"scripted-cli\", \"--scenario\", %q]\n", p.program(), played) + string(shipped)
	for path, text := range map[string]string{played: string(scenario), filepath.Join(p.home, "gatehouse.toml"): config} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p place) program() string {
	path := filepath.Join(built, "gatehouse")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	return path
}

// play runs gatehouse in the project and returns what it printed.
func (p place) play(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.program(), args...)
	cmd.Dir, cmd.Stdin = p.project, strings.NewReader(stdin)
	cmd.Env = []string{
		"HOME=" + p.home, "USERPROFILE=" + p.home, "XDG_CONFIG_HOME=" + p.home, "GATEHOUSE_CONFIG=" + filepath.Join(p.home, "gatehouse.toml"),
		"PATH=" + built + string(filepath.ListSeparator) + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "TICKETS_TOKEN=" + p.token,
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s\n%s", args, err, &stdout, &stderr)
	}
	return stdout.String() + stderr.String()
}

// call is a step of the scripted CLI: a call, and what the model has to read.
func call(name string, input map[string]any, isError bool, reads ...string) any {
	expect := map[string]any{"is_error": isError}
	if len(reads) > 0 {
		expect["contains"] = reads
	}
	return map[string]any{"tool": map[string]any{"name": "mcp__tickets__" + name, "input": input, "expect": expect}}
}

type arguments = map[string]any

// TestSession: a session does with tickets what the policies let it do. The scripted
// CLI fails where the model would read something else.
func TestSession(t *testing.T) {
	turn := []any{
		call("list", arguments{}, false, "flickers"),
		call("create", arguments{"title": "The lift sticks"}, false, "The lift sticks"),
		call("create", arguments{"text": "no title"}, true, "Give the ticket a title"),
		call("close", arguments{"id": 1}, false, `"open":false`),
		call("delete", arguments{"id": 2}, true, "Close it instead"),
	}
	for i := range 12 {
		turn = append(turn, call("create", arguments{"title": fmt.Sprintf("%s %d", strings.Repeat("long ", 20), i)}, false))
	}
	turn = append(turn, call("list", arguments{}, true, "List fewer, with limit"), call("list", arguments{"limit": 2}, false, "squeaks"), map[string]any{"text": "Done."})
	p := newPlace(t, turn)
	out := p.play(t, "allow\n", "run", "--json", "--on-ask", "stdin", "Look after the tickets")
	for _, want := range []string{`"tickets.list"`, `"tickets.create"`, `"tickets.title"`, `"tickets.close"`, `"tickets.delete"`, `"tickets.size"`, "Done."} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in\n%s", want, out)
		}
	}
	p.hides(t, out)
}

// hides fails where the token is anywhere but in the environment.
func (p place) hides(t *testing.T, out string) {
	t.Helper()
	if strings.Contains(out, p.token) {
		t.Errorf("the token was printed:\n%s", out)
	}
	err := filepath.WalkDir(p.home, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte(p.token)) {
			t.Errorf("the token is in %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestPolicies runs the policies' own tests as README.md says.
func TestPolicies(t *testing.T) {
	p := newPlace(t, []any{})
	if out := p.play(t, "", "policy", "test", filepath.Join(p.home, "policies")); !strings.Contains(out, "5 tests passed") {
		t.Error(out)
	}
	p.play(t, "", "policy", "lint", filepath.Join(p.home, "policies"))
	eval := []string{"policy", "eval", "--tool", "mcp__tickets__create", "--input", `{"title":"The lift sticks"}`, "--expect", "allow"}
	if out := p.play(t, "", eval...); !strings.Contains(out, "tickets.create") {
		t.Error(out)
	}
}

// TestServer: without a token it does not start; numbers of tickets are used once.
func TestServer(t *testing.T) {
	ours, theirs := mcp.NewInMemoryTransports()
	if err := run(t.Context(), "", ours); err == nil || !strings.Contains(err.Error(), "TICKETS_TOKEN") {
		t.Errorf("without a token: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- run(t.Context(), "token", ours) }() // ends when the client goes
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		tool  string
		input arguments
		fails bool
		want  string
	}{
		{"create", arguments{"title": "a"}, false, `"id":3`},
		{"delete", arguments{"id": 3}, false, `"tickets":`},
		{"create", arguments{"title": "b"}, false, `"id":4`},
		{"close", arguments{"id": 1}, false, `"open":false`},
		{"close", arguments{"id": 99}, true, "no ticket 99"},
		{"list", arguments{"limit": 1}, false, `"id":2`},
	} {
		result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: row.tool, Arguments: row.input})
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, block := range result.Content {
			if one, ok := block.(*mcp.TextContent); ok {
				text += one.Text
			}
		}
		if result.IsError != row.fails || !strings.Contains(text, row.want) {
			t.Errorf("%s %v: got %s (error %v), want %s", row.tool, row.input, text, result.IsError, row.want)
		}
	}
	client.Close()
	<-done
}
