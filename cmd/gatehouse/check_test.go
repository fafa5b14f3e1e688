package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
)

// loopbackCLI stands for a CLI that plays the canaries and sends what its tools
// gave back to the model's API, as the real one does. With --misbehave=HOW
// first it does not hold the gate.
func loopbackCLI(args []string) int {
	sc := cliScenario()
	prefix := os.Getenv("CLAUDE_CODE_SHELL_PREFIX")
	if slices.Contains(args, "--misbehave=no-prefix") {
		prefix = ""
	}
	for _, step := range sc.Turns[0] {
		if step.Tool != nil && step.Tool.Input["command"] == failingCommand {
			step.Tool.Error = runFailing(prefix)
		}
	}
	if len(args) > 0 && strings.HasPrefix(args[0], "--misbehave=") {
		misbehave(&sc, strings.TrimPrefix(args[0], "--misbehave="))
		args = args[1:]
	}
	file, err := writeScenario(sc)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	stdout := &relay{out: os.Stdout, api: os.Getenv("ANTHROPIC_BASE_URL")}
	return script.Main(append([]string{"--scenario=" + file}, args...), os.Stdin, stdout, os.Stderr)
}

// runFailing runs the command that fails and returns what it printed.
func runFailing(prefix string) string {
	cmd := exec.Command("sh", "-c", failingCommand)
	if prefix != "" {
		cmd = exec.Command(prefix, failingCommand)
	}
	out, err := cmd.CombinedOutput()
	return fmt.Sprintf("%v\n%s", err, out)
}

func misbehave(sc *script.Scenario, how string) {
	switch how {
	case "no-hooks":
		sc.NoHooks = true
	case "no-questions":
		sc.NoAsk = true
	case "unmediated":
		for _, step := range sc.Turns[0] {
			if step.Tool != nil {
				step.Tool.Unmediated = true
			}
		}
	}
}

func writeScenario(sc script.Scenario) (string, error) {
	f, err := os.CreateTemp("", "loopback-*.json")
	if err != nil {
		return "", err
	}
	defer f.Close()
	return f.Name(), json.NewEncoder(f).Encode(sc)
}

// relay passes frames on and posts those with tool results to the API first.
type relay struct {
	out  io.Writer
	api  string
	line []byte
}

func (r *relay) Write(b []byte) (int, error) {
	r.line = append(r.line, b...)
	for {
		frame, rest, whole := bytes.Cut(r.line, []byte("\n"))
		if !whole {
			return r.out.Write(b)
		}
		r.post(frame)
		r.line = slices.Clone(rest)
	}
}

func (r *relay) post(frame []byte) {
	var f struct {
		Type    string
		Message json.RawMessage
	}
	if json.Unmarshal(frame, &f) != nil || f.Type != "user" {
		return
	}
	body := fmt.Sprintf(`{"tools":[{}],"messages":[%s]}`, f.Message)
	response, err := http.Post(r.api+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	response.Body.Close()
}

func TestEnvironmentWarnings(t *testing.T) {
	long := strings.Repeat("s", minSecret)
	tests := []struct {
		name string
		env  environment
		want string // part of the only warning; empty: none
	}{
		{"nothing set", nil, ""},
		{"both well", environment{allowDiskResume + "=1", resumeSecret + "=" + long}, ""},
		{"secret alone", environment{resumeSecret + "=" + long}, ""},
		{"short secret", environment{resumeSecret + "=" + long[1:]}, resumeSecret + " has 31 bytes; one below 32 can be guessed"},
		{"no secret", environment{allowDiskResume + "=1"}, resumeSecret + " is not set, so disk resume will refuse"},
		{"switched off", environment{allowDiskResume + "=0"}, ""},
	}
	for _, tt := range tests {
		got := environmentWarnings(tt.env)
		if len(got) > 1 || (len(got) == 1) != (tt.want != "") || tt.want != "" && !strings.Contains(got[0], tt.want) {
			t.Errorf("%s: warnings %q, want one with %q", tt.name, got, tt.want)
		}
		if strings.Contains(strings.Join(got, ""), "sss") {
			t.Errorf("%s: the secret is shown: %q", tt.name, got)
		}
	}
}

func TestWorldPassesNothingOfTheOwnerOn(t *testing.T) {
	w := world{base: "b", home: "h", project: "p", temp: "t"}
	owner := environment{
		"PATH=/bin", "HOME=/home/me", "ANTHROPIC_API_KEY=mine", "ANTHROPIC_AUTH_TOKEN=mine", "ANTHROPIC_BASE_URL=https://example.com",
		"CLAUDE_CONFIG_DIR=/home/me/.claude", "CLAUDE_CODE_OAUTH_TOKEN=mine", "AWS_SECRET_ACCESS_KEY=mine", "HTTPS_PROXY=http://example.com",
	}
	got := environment(w.environ(owner, "http://127.0.0.1:1"))
	for name, want := range map[string]string{
		"PATH": "/bin", "HOME": "h", "ANTHROPIC_API_KEY": "dummy", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
		"ANTHROPIC_AUTH_TOKEN": "", "CLAUDE_CONFIG_DIR": "", "CLAUDE_CODE_OAUTH_TOKEN": "", "AWS_SECRET_ACCESS_KEY": "", "HTTPS_PROXY": "",
	} {
		if got.get(name) != want {
			t.Errorf("%s = %q, want %q", name, got.get(name), want)
		}
	}
	if strings.Contains(strings.Join(got, " "), "mine") || strings.Contains(strings.Join(got, " "), "/home/me") {
		t.Errorf("the owner's values are passed on: %q", got)
	}
}

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{
		"/usr/bin/gatehouse": "/usr/bin/gatehouse", "dev": "dev", "": "''", "my project": "'my project'",
		"it's": `'it'\''s'`, "$(reboot)": "'$(reboot)'", "a;b": "'a;b'",
	} {
		if got := shellWord(word); got != want {
			t.Errorf("shellWord(%q) = %s, want %s", word, got, want)
		}
	}
}

func TestExitCodeOfCheck(t *testing.T) {
	failed, ok := gateResult{Status: gateFailed}, gateResult{Status: gateOK}
	tests := []struct {
		name   string
		report checkReport
		want   int
	}{
		{"all well", checkReport{CLI: &checkedCLI{}, Gate: []gateResult{ok}}, exitOK},
		{"no CLI", checkReport{CLI: &checkedCLI{Error: "not found"}, Gate: []gateResult{ok}}, exitNoCLI},
		{"gate", checkReport{CLI: &checkedCLI{}, Gate: []gateResult{ok, failed}}, exitTurnFailed},
		{"both", checkReport{CLI: &checkedCLI{Error: "old"}, Gate: []gateResult{failed}}, exitTurnFailed},
		{"nothing known", checkReport{}, exitNoCLI},
	}
	for _, tt := range tests {
		if got := tt.report.exitCode(); got != tt.want {
			t.Errorf("%s: exit code %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestInterruptedCheckSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var stdout, stderr bytes.Buffer
	home := t.TempDir()
	code := run(ctx, []string{"check", "--json", "--cwd", t.TempDir()}, strings.NewReader(""), &stdout, &stderr, []string{"HOME=" + home, "USERPROFILE=" + home})
	var report checkReport
	if err := json.Unmarshal(stdout.Bytes(), &report); err != nil {
		t.Fatalf("%v in %q", err, &stdout)
	}
	if code != exitInterrupted || report.ExitCode != code || report.OK || len(report.Gate) > 0 {
		t.Errorf("exit code %d, report %s", code, &stdout)
	}
	if stderr.String() != "gatehouse: check: interrupted\n" {
		t.Errorf("stderr %q", &stderr)
	}
}

// TestCheckIsDocumented holds the object of check --json and its page together.
func TestCheckIsDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	words := []string{gateScripted, gateConfigured, gateSkipped}
	for word := range checkTitles {
		words = append(words, word)
	}
	for _, part := range []any{checkReport{}, checkedConfig{}, checkedPolicy{}, checkedCLI{}, gateResult{}, checkedSample{}} {
		for i := range reflect.TypeOf(part).NumField() {
			name, _, _ := strings.Cut(reflect.TypeOf(part).Field(i).Tag.Get("json"), ",")
			words = append(words, name)
		}
	}
	for _, word := range words {
		if !strings.Contains(string(page), "`"+word+"`") {
			t.Errorf("docs/configuration.md does not name `%s` of check --json", word)
		}
	}
}
