package engine

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

var states = []State{Starting, Running, Waiting, Idle, Failed, Cancelled}

func TestStateTable(t *testing.T) {
	reached := map[State]bool{Starting: true}
	for range states { // as many rounds as there are states reach a fixed point
		for s := range reached {
			for tr := range triggers {
				if next, err := s.after(tr); err == nil {
					reached[next] = true
				}
			}
		}
	}
	for _, s := range states {
		if !reached[s] {
			t.Errorf("%d is never reached", s)
		}
		for tr := range triggers {
			next, err := s.after(tr)
			if err != nil && next != s {
				t.Errorf("%d on %s: error, yet the state changed", s, tr)
			}
			if s == Cancelled && next != Cancelled {
				t.Errorf("cancelled is left on %s", tr)
			}
		}
		if s == Cancelled {
			continue
		}
		if next, err := s.after(cancelled); err != nil || next != Cancelled {
			t.Errorf("%d cannot be cancelled: %v", s, err)
		}
		if _, err := s.after(exited); err != nil {
			t.Errorf("%d does not survive the end of its process: %v", s, err)
		}
	}
}

func TestPromptOnlyWhenATurnMayBegin(t *testing.T) {
	want := map[State]Code{Starting: SessionBusy, Running: SessionBusy, Waiting: SessionBusy, Idle: "", Failed: "", Cancelled: CancelledCode}
	for s, code := range want {
		_, err := s.after(prompted)
		if (err == nil) != (code == "") || err != nil && CodeOf(err) != code {
			t.Errorf("prompt on %d: %v, want %q", s, err, code)
		}
	}
}

func TestTripwire(t *testing.T) {
	var tw tripwire
	if tw.hook("a") || tw.result("b") {
		t.Error("a call without an allow passed")
	}
	tw.allow("c")
	if !tw.hook("c") || !tw.result("c") {
		t.Error("an allowed call raised the alarm")
	}
	if tw.hook("c") || tw.result("c") {
		t.Error("one allow covered two runs of a repeated id")
	}
	tw.allow("c")
	tw.allow("c")
	if !tw.hook("c") {
		t.Error("a second allow does not count")
	}
}

func TestTripwireForgettingNeverHides(t *testing.T) {
	var tw tripwire
	tw.allow("first")
	for i := range tripwireBound + 1 {
		tw.allow(strings.Repeat("x", 1+i%7) + string(rune('a'+i%26)) + json.Number(rune2(i)).String())
	}
	if len(tw.calls) > tripwireBound {
		t.Errorf("%d ids kept, bound %d", len(tw.calls), tripwireBound)
	}
	if tw.hook("first") {
		t.Error("a forgotten id passed silently")
	}
}

func rune2(i int) string { b, _ := json.Marshal(i); return string(b) }

func TestEnvironment(t *testing.T) {
	e := &Engine{o: Options{DisableAttachments: true, Environ: []string{
		"KEEP=1", "HOME=/h", "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_SIMPLE=1", "LD_PRELOAD=x", "NODE_OPTIONS=x", "GATEHOUSE_CONFIG=x",
		"CLAUDE_CODE_MCP_RESUME_SECRET=s", "BASH_ENV=x", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_VALUE_0=n",
	}}}
	got := e.environment(map[string]string{"CI": "1", "LD_LIBRARY_PATH": "x", "ld_audit": "x"})
	got = slices.DeleteFunc(got, func(kv string) bool { return strings.HasPrefix(kv, gitBashVariable+"=") }) // where Git for Windows is installed
	want := []string{
		"ANTHROPIC_API_KEY=k", "CI=1", "CLAUDE_CODE_DISABLE_ATTACHMENTS=1", "DISABLE_AUTOUPDATER=1", "GIT_CONFIG_COUNT=2",
		"GIT_CONFIG_KEY_0=user.name", "GIT_CONFIG_KEY_1=core.fsmonitor", "GIT_CONFIG_VALUE_0=n", "GIT_CONFIG_VALUE_1=false", "HOME=/h", "KEEP=1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment = %q\nwant %q", got, want)
	}
}

// TestArgv pins the gate's flags: a change here is a change of the gate.
func TestArgv(t *testing.T) {
	e := &Engine{o: Options{DenyReads: []string{"//**/.env"}}}
	s := e.newSessionForTest(StartParams{
		Sandbox: json.RawMessage(`{"enabled":true,"autoAllowBashIfSandboxed":true}`), DisallowedTools: []string{"WebFetch", "Bash(rm *)"},
		Model: "--dangerously-skip-permissions", AllowedTools: []string{"Bash"},
	})
	args, err := s.args(launch{}, "/tmp/m.json")
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Join(args, "\n")
	for _, want := range []string{
		"--permission-prompt-tool\nstdio", "--permission-mode\ndefault", "--strict-mcp-config", "--setting-sources=user", "--mcp-config=/tmp/m.json",
		`"permissions":{"ask":["*"],"deny":["Read(//**/.env)"]}`, `"disableSkillShellExecution":true`, `"autoAllowBashIfSandboxed":false`,
		"--managed-settings\n" + managedLock, "--session-id=" + s.id, "--disallowedTools=WebFetch,Bash(rm *)", "--model=--dangerously-skip-permissions",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("argv lacks %q:\n%s", want, line)
		}
	}
	for _, never := range []string{"--allowedTools", "--allowed-tools", "\n--dangerously", "bypass-permissions"} {
		if strings.Contains(line, never) {
			t.Errorf("argv holds %q:\n%s", never, line)
		}
	}
}

func (e *Engine) newSessionForTest(p StartParams) *Session {
	return &Session{engine: e, id: newUUID(), params: p}
}

func TestSettingSources(t *testing.T) {
	none := []string{}
	cases := []struct {
		name    string
		l       launch
		p       StartParams
		trusted bool
		want    string
	}{
		{"untrusted", launch{}, StartParams{}, false, "user"},
		{"trusted", launch{}, StartParams{}, true, "user,project,local"},
		{"isolated", launch{isolated: true}, StartParams{}, true, ""},
		{"asked for none", launch{}, StartParams{SettingSources: &none}, true, ""},
	}
	for _, c := range cases {
		s := (&Engine{}).newSessionForTest(c.p)
		s.trusted = c.trusted
		if got := strings.Join(s.sources(c.l), ","); got != c.want {
			t.Errorf("%s: sources = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestProjectSnapshot(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, ".claude/settings.json", `{"language":"de","apiKeyHelper":"evil","env":{"A":"b"},"permissions":{"allow":["Bash"],"deny":["Read(x)"]},"hooks":{}}`)
	write(t, dir, ".claude/settings.local.json", `{broken`)
	write(t, dir, "CLAUDE.md", "Use tabs. secret")
	write(t, dir, ".mcp.json", `{"mcpServers":{"evil":{"command":"x"}}}`)
	write(t, dir, ".git/config", "[core]\n\tfsmonitor = x\n[filter \"lfs\"]\n\tclean = y\n[user]\n\tname = n\n")
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "CLAUDE.local.md")); err != nil {
		t.Fatal(err)
	}
	p, err := openProject(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.root.Close()
	s := p.snapshot(func(text string) string { return strings.ReplaceAll(text, "secret", "[x]") })
	if len(s.settings) != 1 || string(s.settings["language"]) != `"de"` || !slices.Equal(s.deny, []string{"Read(x)"}) {
		t.Errorf("kept %v, deny %v", s.settings, s.deny)
	}
	if !strings.Contains(s.memory, "Use tabs. [x]") || strings.Contains(s.memory, "root:") {
		t.Errorf("memory = %q", s.memory)
	}
	var left []string
	for _, l := range s.leftOut {
		left = append(left, l.File+":"+l.Key)
	}
	for _, want := range []string{".claude/settings.json:apiKeyHelper", ".claude/settings.json:env", ".claude/settings.json:hooks", ".claude/settings.local.json:", "CLAUDE.local.md:", ".mcp.json:mcpServers"} {
		if !slices.Contains(left, want) {
			t.Errorf("left out %q, want %q among it", left, want)
		}
	}
	f := p.facts()
	if !slices.Equal(f.McpServers, []string{"evil"}) || !slices.Contains(f.GitExecKeys, "core.fsmonitor") || slices.Contains(f.GitExecKeys, "user.name") {
		t.Errorf("facts = %+v", f)
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestApplyUpdates(t *testing.T) {
	cases := []struct {
		raw  string
		code Code
		mode string
	}{
		{``, "", "default"},
		{`[{"type":"addRules","destination":"session","behavior":"ask","rules":[{"toolName":"Bash"}]}]`, InvalidArgument, "default"},
		{`[{"type":"setMode","mode":"plan","destination":"session"},{"type":"addRules","destination":"session","behavior":"allow","rules":[{"toolName":"Bash","ruleContent":"ls)"}]}]`, InvalidArgument, "default"},
		{`[{"type":"setMode","mode":"acceptEdits","destination":"session"}]`, "", "acceptEdits"},
		{`[{"type":"addRules","destination":"session","behavior":"allow"}]`, "", "default"},
		{`[{"type":"addRules","destination":"localSettings"}]`, PermissionDenied, "default"},
		{`[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`, PermissionDenied, "default"},
		{`[{"type":"setMode","mode":"dontAsk","destination":"session"}]`, PermissionDenied, "default"},
		{`{"a":1}`, InvalidArgument, "default"},
	}
	for _, c := range cases {
		s := &Session{mode: "default"}
		err := s.applyUpdates(json.RawMessage(c.raw))
		if (err == nil) != (c.code == "") || err != nil && CodeOf(err) != c.code || s.mode != c.mode {
			t.Errorf("%s: %v, mode %s; want %q, %s", c.raw, err, s.mode, c.code, c.mode)
		}
	}
}

func TestSummaryShowsWhatWouldHide(t *testing.T) {
	r := permission.Request{Tool: "Bash", Input: json.RawMessage(`{"command":"ls\u0000\u202e\u200b\n\"a\\b\""}`)}
	if got, want := summary(r, uncovered), `Bash: ls\x00\u202e\u200b\n"a\b"`; got != want {
		t.Errorf("summary = %s, want %s", got, want)
	}
	long := permission.Request{Tool: "Bash", Input: json.RawMessage(`{"command":"` + strings.Repeat("x", 5000) + `"}`)}
	if got := summary(long, uncovered); len(got) > summaryShown+60 || !strings.Contains(got, "5014 bytes") {
		t.Errorf("summary of a long input = %s", got)
	}
}

func uncovered(text string) string { return text }

func TestVersions(t *testing.T) {
	for a, want := range map[string]bool{"2.1.197": false, "2.1.329": false, "2.1.96": true, "3.0.0": false, "nonsense": true, "": true} {
		if got := older(a, "2.1.197"); got != want {
			t.Errorf("older(%q) = %v, want %v", a, got, want)
		}
	}
}

func TestRules(t *testing.T) {
	for rule, ok := range map[string]bool{"Bash": true, "Bash(git push *)": true, "mcp__s__tools/list": true, "": false, "A,B": false, "Bash(": false, "Bash)": false, "Bash(a(b))": true, "A B": false} {
		if err := validateRule(rule); (err == nil) != ok {
			t.Errorf("rule %q: %v", rule, err)
		}
	}
}

func TestGitExecKeys(t *testing.T) {
	cases := map[string][]string{
		"":                                   nil,
		"[]":                                 nil,
		"[":                                  nil,
		"]":                                  nil,
		"[core] fsmonitor = x":               {"core.fsmonitor"},
		"[CORE]\n\tFsMonitor=x":              {"core.fsmonitor"},
		"[filter \"a ] b\"]\nclean = y":      {"filter.clean"},
		"[alias]\nx = !y":                    {"alias.x"},
		"[include]\npath = z":                {"include.path"},
		"[user]\nname = fsmonitor\n[core]\n": nil,
	}
	for config, want := range cases {
		if got := gitExecKeys([]byte(config)); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", config, got, want)
		}
	}
}

func FuzzGitExecKeys(f *testing.F) {
	f.Add([]byte("[core]\nfsmonitor=x\n[]\n[a \"b\"] c = d"))
	f.Fuzz(func(t *testing.T, config []byte) {
		for _, key := range gitExecKeys(config) {
			if !startsProgram(key) {
				t.Errorf("%q is named and starts no program", key)
			}
		}
	})
}

func TestChangedInputIsChecked(t *testing.T) {
	s := &Session{engine: &Engine{chain: permission.Chain{}}}
	cases := map[string]string{
		`{"command":"echo [REDACTED:aws]"}`:      "placeholder",
		`{"command":"echo \u005bREDACTED:aws]"}`: "placeholder",
		`{"[REDACTED:aws]":1}`:                   "placeholder",
		`{"command":"a","command":"b"}`:          "twice",
		`{"command":"\ud800"}`:                   "Unicode",
		`["a"]`:                                  "JSON object",
		`{"command":"ls"}`:                       "engine.no_policy", // reaches the policies, which are none here
		`{"command":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`: "levels",
	}
	for input, part := range cases {
		_, err := s.verdict(t.Context(), Answer{Allow: true, UpdatedInput: json.RawMessage(input)}, permission.Question{})
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%.60s: %v, want it to name %s", input, err, part)
		}
	}
}

func TestWithheldShape(t *testing.T) {
	got := string(withheldOutput("Read", json.RawMessage(`{"type":"text","file":{"content":"s","lines":3,"type":"SECRET-IN-TYPE"},"list":["a",true]}`)))
	if want := `{"file":{"content":"[withheld]","lines":3,"type":"[withheld]"},"list":["[withheld]",true],"type":"text"}`; got != want {
		t.Errorf("shape = %s, want %s", got, want)
	}
}

// A cancel that meets a prompt must not keep the prompt's slot.
func TestSlotsComeBack(t *testing.T) {
	e, err := New(Options{Roots: []string{t.TempDir()}, Executable: "/no/such/claude", Admission: []admission.Decider{grants{}}, MaxConcurrent: 3})
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		s := e.newSession(StartParams{}, "")
		s.state, s.cwd = Idle, e.o.Roots[0]
		if err := e.register(s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), ReplyParams{Prompt: "x"}); err != nil {
			t.Fatal(err)
		}
		s.cancel("test", "test")
		<-s.Done()
	}
	e.slots.mu.Lock()
	free := e.slots.free
	e.slots.mu.Unlock()
	if free != 3 {
		t.Errorf("%d slots are free, want 3", free)
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

type grants struct{}

func (grants) Admit(context.Context, admission.Request) (permission.Decision, error) {
	return permission.Decision{Effect: permission.Allow}, nil
}

func TestQuestionOfABackgroundTaskLeavesTheSessionIdle(t *testing.T) {
	e := &Engine{o: Options{}, log: slog.New(slog.DiscardHandler), ctx: t.Context()}
	s := e.newSession(StartParams{}, "")
	defer s.end(nil)
	s.state = Idle
	q, err := s.open(permission.Request{Tool: "Bash", Input: json.RawMessage(`{}`)}, permission.Decision{})
	if err != nil || s.Info().State != Waiting {
		t.Fatalf("open: %v, state %s", err, s.Info().State)
	}
	s.close(q.ID)
	if s.state != Idle {
		t.Errorf("state = %d, want idle", s.state)
	}
}

func TestTurnTimeoutCountsFromTheTurn(t *testing.T) {
	e := &Engine{o: Options{TurnTimeout: time.Hour, IdleTTL: 24 * time.Hour}, log: slog.New(slog.DiscardHandler), ctx: t.Context()}
	s := e.newSession(StartParams{}, "")
	defer s.end(nil)
	s.state, s.turnStarted = Idle, time.Now().Add(-5*time.Hour)
	s.must(initialized) // a background task begins a turn
	s.expire(time.Now())
	if s.state != Running {
		t.Errorf("state = %d, want running", s.state)
	}
}
