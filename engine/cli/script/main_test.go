package script

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain lets the test binary be the scripted CLI, as hosts start it.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(testleak.Run(m))
}

func TestCommandLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"version":"2.1.329"}`)
	base := strings.Join(pipeArgs, " ")
	for _, tt := range []struct {
		args   string
		code   int
		stdout string
		stderr string
	}{
		{"--version", 0, "2.1.197 (Claude Code)\n", ""},
		{"--scenario " + file + " --version", 0, "2.1.329 (Claude Code)\n", ""},
		{"--scenario-builtin demo -v", 0, "2.1.197 (Claude Code)\n", ""},
		{"--scenario-builtin=other", 2, "", "want \"demo\""},
		{"--scenario", 2, "", "needs a value"},
		{"--scenario /no/such/file", 2, "", "scenario: read"},
		{"--no-such-flag", 1, "", "error: unknown option '--no-such-flag'"},
		{"--max-turns", 1, "", "argument missing"},
		{"--output-format stream-json", 1, "", "requires --verbose"},
		{base + " --session-id x", 1, "", "Invalid session ID"},
		{base + " --settings={", 1, "", "Invalid JSON"},
		{base + " --settings /no/such/file", 1, "", "not found"},
		{base + " --resume --allowedTools Read Bash(ls *) --add-dir /a /b --fork-session", 0, "", ""},
	} {
		var stdout, stderr bytes.Buffer
		code := Main(strings.Fields(tt.args), strings.NewReader(""), &stdout, &stderr)
		if code != tt.code || stdout.String() != tt.stdout || !strings.Contains(stderr.String(), tt.stderr) {
			t.Errorf("%s: code %d, stdout %q, stderr %q", tt.args, code, &stdout, &stderr)
		}
	}
}

func TestRules_split(t *testing.T) {
	o, err := parseFlags([]string{"--allowedTools=Read,Bash(git log, git show)", "--allowed-tools", "Edit", "Write"})
	if got := strings.Join(o.rules("--allowedTools"), "|"); err != nil || got != "Read|Bash(git log, git show)|Edit|Write" {
		t.Errorf("rules = %s, %v", got, err)
	}
}

// TestDecode: a misspelt scenario is an error, never an empty one.
func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		`{"turns":[[{"text":"a"},{"tool":{"name":"Bash","input":{"command":"ls"},"output":"x"}}]]}`: "",
		`{"turns":[[{"agent":{"steps":[{"text":"a"}],"after":[{"text":"b"}]}}]]}`:                   "",
		`{"turms":[]}`:              "unknown field",
		`{"turns":[[{"txt":"a"}]]}`: "unknown field",
		`{"turns":[[{}]]}`:          "0 actions",
		`{"turns":[[{"tool":{}}]]}`: "name is empty",
		`{"resume_turns":[[{}]]}`:   "turn 1: step 1",
		`{} {}`:                     "more than one",
		`[]`:                        "decode",
		`{"turns":[[{"agent":{"steps":[{"agent":{}}]}}]]}`:                  "sub-agent",
		`{"turns":[[{"text":"a","sleep_ms":1}]]}`:                           "2 actions",
		`{"turns":[[{"tool":{"name":"Bash","output_shape":"sculpture"}}]]}`: "sculpture",
	} {
		_, err := Decode([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestDemo: four calls in under three seconds, and the key only in the output.
func TestDemo(t *testing.T) {
	if err := Demo.validate(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		h := start(t, Demo, askAll)
		h.initialize("PostToolUse")
		h.say("go")
		var asked []string
		leaked := false
		for f := h.next(); kindOf(f) != "result/success"; f = h.next() {
			switch kindOf(f) {
			case "control_request/can_use_tool":
				line, _ := json.Marshal(at(f, "request", "input"))
				asked = append(asked, string(line))
				h.allow(f)
			case "control_request/hook_callback":
				line, _ := json.Marshal(f)
				leaked = leaked || strings.Contains(string(line), demoKey())
				h.answer(f, map[string]any{})
			}
		}
		if all := strings.Join(asked, "\n"); len(asked) != 4 || !strings.Contains(all, "README.md") ||
			!strings.Contains(all, "rm -rf /") || !strings.Contains(all, "git push") {
			t.Errorf("asked:\n%s", all)
		}
		if took := time.Since(begin); took >= 3*time.Second || !leaked {
			t.Errorf("took %v; key in a tool's output: %v", took, leaked)
		}
		h.end()
	})
}

// TestPipe is the exported form, with its options.
func TestPipe(t *testing.T) {
	stdin, stdout, wait := Pipe(Scenario{Turns: texts("hello")}, "--model", "m")
	go func() { // ends with the write
		_, _ = stdin.Write([]byte(`{"type":"user","message":{"role":"user","content":"x"}}` + "\n"))
		stdin.Close()
	}()
	var out bytes.Buffer
	if _, err := out.ReadFrom(stdout); err != nil {
		t.Fatal(err)
	}
	if code := wait(); code != 0 || !strings.Contains(out.String(), `"model":"m"`) || !strings.Contains(out.String(), "hello") {
		t.Errorf("code %d, stdout %s", code, &out)
	}
}
