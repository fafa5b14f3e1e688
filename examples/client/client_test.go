package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/internal/testcli"
)

// world is what one run of an example is given: a built server, a project and a
// Claude Code CLI in which the model publishes a branch.
type world struct {
	project string
	environ []string
	server  string // command of the server
}

// built is a folder that TestMain makes; build puts the server's binary there once.
var (
	built string
	build = sync.OnceValue(func() error {
		out, err := exec.Command("go", "build", "-o", built, "../../cmd/gatehouse").CombinedOutput()
		if err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
		return nil
	})
)

// newWorld makes the folders; config is the start of the server's configuration.
func newWorld(t *testing.T, config func(binary string) string, environ ...string) world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := build(); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(built, "gatehouse")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	w := world{project: filepath.Join(base, "project"), server: binary + " serve"}
	home := filepath.Join(base, "home")
	for _, folder := range []string{w.project, home, filepath.Join(base, "tmp")} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(home, "gatehouse.toml")
	if err := os.WriteFile(file, []byte(config(binary)+fmt.Sprintf("\n[workspace]\nroots = [%q]\n", w.project)), 0o600); err != nil {
		t.Fatal(err)
	}
	w.environ = append([]string{
		"HOME=" + home, "USERPROFILE=" + home, "XDG_CONFIG_HOME=" + home, "TMPDIR=" + filepath.Join(base, "tmp"),
		"PATH=" + os.Getenv("PATH"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"), "GATEHOUSE_CONFIG=" + file,
	}, environ...)
	return w
}

// scripted is a world with the scripted CLI.
func scripted(t *testing.T) world {
	t.Helper()
	scenario := filepath.Join(t.TempDir(), "scenario.json")
	text := `{"turns": [[
		{"tool": {"name": "Bash", "input": {"command": "git push origin main"}, "output": "pushed"}},
		{"text": "Published."}
	]]}`
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, func(binary string) string {
		return fmt.Sprintf("cli.executable = %q\ncli.args = [\"scripted-cli\", \"--scenario\", %q]", binary, scenario)
	})
}

// realCLI is a world with the real CLI and a scripted model. It skips without
// the CLI.
func realCLI(t *testing.T) world {
	t.Helper()
	cli := testcli.Path(t)
	push := fakeapi.Use("Bash", map[string]string{"command": "git push origin main", "description": "publish"})
	done := fakeapi.Say("Published.")
	api, err := fakeapi.New(fakeapi.Scenario{Turns: []fakeapi.Turn{push, done, push, done}}) // for two sessions
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	return newWorld(t, func(string) string { return fmt.Sprintf("cli.executable = %q", cli) },
		"ANTHROPIC_BASE_URL="+api.URL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1")
}

var worlds = []struct {
	name string
	make func(*testing.T) world
}{{"scripted", scripted}, {"real", realCLI}}

// The test binary plays the client, so that the client's environment is the
// world's and not the test's.
func TestMain(m *testing.M) {
	if os.Getenv("EXAMPLE_CLIENT") == "1" {
		main()
		os.Exit(0)
	}
	var err error
	if built, err = os.MkdirTemp("", "gatehouse-example-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// play runs a command in the project and wants every text in its output, in order.
func (w world) play(t *testing.T, command []string, wants ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Stderr = w.project, &stderr
	cmd.Env = append([]string{"EXAMPLE_CLIENT=1"}, w.environ...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s\n%s", command, err, out, &stderr)
	}
	rest := string(out)
	for _, want := range wants {
		before, after, ok := strings.Cut(rest, want)
		if !ok {
			t.Fatalf("%q lacks %q after\n%s\nstderr\n%s", out, want, before, &stderr)
		}
		rest = after
	}
}

func TestGoClient(t *testing.T) {
	for _, world := range worlds {
		t.Run(world.name, func(t *testing.T) {
			w := world.make(t)
			w.play(t, []string{os.Args[0], "--server", w.server, "--cwd", w.project, "publish the branch"},
				"event: output", "allow: Bash: git push origin main (git.push)", "event: permission_result",
				"status: idle\nresult: Published.\n2 turns, $", "session: ", " idle")
		})
	}
}

// The loop as clients of the predecessor wrote it: no waitMs, a null cursor.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed; the example needs nothing else")
	}
	source, err := filepath.Abs("../python/client.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, world := range worlds {
		t.Run(world.name, func(t *testing.T) {
			w := world.make(t)
			for _, wait := range []string{"0", "20000"} {
				w.play(t, []string{python, source, "--server", w.server, "--cwd", w.project, "--wait-ms", wait, "publish the branch"},
					"allow: Bash: git push origin main (git.push)", "status: idle\nresult: Published.\n", "session: ", " idle")
			}
		})
	}
}

func TestRefusalsAreTold(t *testing.T) {
	w := scripted(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "--server", w.server, " ")
	cmd.Dir, cmd.Env = w.project, append([]string{"EXAMPLE_CLIENT=1"}, w.environ...)
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "client: claude_code: Error [INVALID_ARGUMENT]: prompt: is blank") {
		t.Errorf("a blank prompt: %v\n%s", err, out)
	}
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"one", "two"}, {"--server", " ", "go"}} {
		if err := run(t.Context(), args, new(bytes.Buffer), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "want one prompt") {
			t.Errorf("%q: %v, want the usage", args, err)
		}
	}
}

// The answer's fields are found by their names in any case; this pins the ones
// the example relies on.
func TestAnswerDecodes(t *testing.T) {
	var a answer
	text := `{"sessionId":"s","nextCursor":3,"actions":[{"type":"permission","requestId":"r"}],"result":{"numTurns":2,"totalCostUsd":0.5}}`
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		t.Fatal(err)
	}
	if a.SessionID != "s" || *a.NextCursor != 3 || a.Actions[0].RequestID != "r" || a.Result.NumTurns != 2 || a.Result.TotalCostUSD != 0.5 {
		t.Errorf("decoded %+v", a)
	}
}
