package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/internal/testcli"
)

// realWorld is a home, a project and a scripted model for the real CLI.
type realWorld struct {
	cli, project string
	environ      []string
	api          *fakeapi.Server
}

// newRealWorld skips without the CLI. Its model has one command run.
func newRealWorld(t *testing.T) realWorld {
	t.Helper()
	return newRealWorldWith(t, "echo published > done.txt")
}

func newRealWorldWith(t *testing.T, command string) realWorld {
	t.Helper()
	cli := testcli.Path(t)
	api, err := fakeapi.New(fakeapi.Scenario{Turns: []fakeapi.Turn{
		{Tools: []fakeapi.ToolUse{{Name: "Bash", Input: map[string]string{"command": command, "description": "publish"}}}},
		{Text: "Published."},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.Close)
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"home", "project", "tmp"} {
		if err := os.Mkdir(filepath.Join(base, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return realWorld{cli: cli, project: filepath.Join(base, "project"), environ: []string{
		"HOME=" + filepath.Join(base, "home"), "TMPDIR=" + filepath.Join(base, "tmp"), "PATH=" + os.Getenv("PATH"),
		"ANTHROPIC_BASE_URL=" + api.URL, "ANTHROPIC_API_KEY=dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
	}, api: api}
}

// command runs one of the test binary's programs in the project.
func (w realWorld) command(t *testing.T, stdin, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.project, w.environ, strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// check wants every text in the output, and the file the call writes.
func (w realWorld) check(t *testing.T, out string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(w.project, "done.txt")); err != nil || string(text) != "published\n" {
		t.Errorf("done.txt holds %q, %v", text, err)
	}
}

func TestRealCLIRun(t *testing.T) {
	w := newRealWorld(t)
	out := w.command(t, "allow\n", "gatehouse", "run", "--cli", w.cli, "--on-ask", "stdin", "publish it")
	w.check(t, out,
		"? Bash wants: Bash: echo published > done.txt",
		"✓ Bash: echo published > done.txt  allowed by human",
		"› Published.", "● idle after 2 model turns")
}

func TestRealCLIServe(t *testing.T) {
	w := newRealWorld(t)
	calls := filepath.Join(t.TempDir(), "calls")
	text := "call claude_code {\"prompt\":\"publish it\"}\nwait waiting_permission\nanswer allow\nwait idle\n"
	if err := os.WriteFile(calls, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := w.command(t, "", "mcpclient", "--cli", w.cli, calls)
	w.check(t, out, `"behavior":"allow"`, `"source":"respond"`, `"result":"Published."`, "server exit 0")
}

func TestRealCLICheck(t *testing.T) {
	w := newRealWorld(t)
	out := w.command(t, "", "gatehouse", "check", "--json", "--cli", w.cli)
	var report checkReport
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if !report.OK || report.CLI == nil || report.CLI.Version == "" || len(report.Calls) == 0 {
		t.Errorf("report %s", out)
	}
	wanted := []string{checkJudged, checkDenied, checkAllowed, checkCovered, checkFailing, checkHooks, checkSettings}
	for _, g := range report.Gate {
		if g.CLI != gateConfigured {
			continue
		}
		if i := slices.Index(wanted, g.Check); i >= 0 && g.Status == gateOK {
			wanted = slices.Delete(wanted, i, i+1)
			continue
		}
		t.Errorf("gate result %+v", g)
	}
	if len(wanted) > 0 {
		t.Errorf("not tried with the real CLI: %q", wanted)
	}
}
