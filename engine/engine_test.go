package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(script.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	if dir := os.Getenv(doomedServer); dir != "" {
		doomed(dir)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") // else each scripted CLI waits a second at its end
	// The developer's own MCP servers are not a test's.
	os.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(os.TempDir(), "gatehouse-test-no-config"))
	code := m.Run()
	if left := leaked(); left != "" && code == 0 {
		fmt.Fprintln(os.Stderr, "goroutines are left after the tests:\n"+left)
		code = 1
	}
	os.Exit(code)
}

// leaked returns the stacks of goroutines that run this module's code, after a
// moment for those about to end. The one locked spawner thread is permanent.
func leaked() string {
	var left []string
	for range 100 {
		left = nil
		buf := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "gatehouse-mcp/gatehouse/engine") && !strings.Contains(stack, "engine_test.") && !strings.Contains(stack, "cli.init.func") {
				left = append(left, stack)
			}
		}
		if len(left) == 0 {
			return ""
		}
		time.Sleep(30 * time.Millisecond)
	}
	return strings.Join(left, "\n\n")
}

// rules decides by tool name; what is not named abstains.
type rules map[string]permission.Effect

func (r rules) Decide(_ context.Context, q permission.Request) (permission.Decision, error) {
	e := r[q.Tool]
	return permission.Decision{Effect: e, Rule: "test." + e.String(), Reason: "because of the test", By: "policy"}, nil
}

func (rules) Revision() string { return "r1" }

type admitAll struct{}

func (admitAll) Admit(context.Context, admission.Request) (permission.Decision, error) {
	return permission.Decision{Effect: permission.Allow}, nil
}

// harness is an engine over one scenario.
type harness struct {
	*engine.Engine
	t   *testing.T
	dir string
}

func newHarness(t *testing.T, scenario string, change func(*engine.Options)) harness {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	o := engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file}, Roots: []string{dir},
		Deciders:  []permission.Decider{rules{"Read": permission.Allow, "Bash": permission.Ask, "Write": permission.Deny}},
		Admission: []admission.Decider{admitAll{}}, Mentions: func(string) []string { return nil },
		ApprovalTimeout: 10 * time.Second, MaxDenials: -1,
	}
	if change != nil {
		change(&o)
	}
	e, err := engine.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := e.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return harness{e, t, dir}
}

func (h harness) start(change func(*engine.StartParams)) (*engine.Session, error) {
	p := engine.StartParams{Prompt: "go"}
	if change != nil {
		change(&p)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return h.Start(ctx, p)
}

func (h harness) mustStart() *engine.Session {
	h.t.Helper()
	s, err := h.start(nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return s
}

// until waits for a condition that events and states bring about.
func (h harness) until(s *engine.Session, what string, ok func() bool) {
	h.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for !ok() {
		if time.Now().After(deadline) {
			h.t.Fatalf("%s: never; state %s, events:\n%s", what, s.Info().State, dump(s))
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (h harness) settled(s *engine.Session) engine.Info {
	h.t.Helper()
	h.until(s, "end of turn", func() bool { return !s.Info().State.Busy() })
	return s.Info()
}

func (h harness) action(s *engine.Session) engine.Action {
	h.t.Helper()
	h.until(s, "question", func() bool { return len(s.Pending()) > 0 })
	return s.Pending()[0]
}

func dump(s *engine.Session) string {
	var b strings.Builder
	for _, e := range s.Events(nil, 0).Events {
		b.WriteString(string(e.Type) + " " + string(e.Data) + "\n")
	}
	return b.String()
}

func find(s *engine.Session, kind event.Kind, part string) bool {
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == kind && strings.Contains(string(e.Data), part) {
			return true
		}
	}
	return false
}

const askOnce = `{"turns":[[{"tool":{"name":"Bash","input":{"command":"touch x"},"output":"done it"}},{"text":"finished"}],[{"text":"again"}]]}`

func TestAskAllowResultReply(t *testing.T) {
	h := newHarness(t, askOnce, nil)
	s := h.mustStart()
	a := h.action(s)
	if a.ToolName != "Bash" || a.Summary != "Bash: touch x" || a.Rule != "test.ask" {
		t.Errorf("action = %+v", a)
	}
	if err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
		t.Fatal(err)
	}
	if i := h.settled(s); i.State != engine.Idle || i.Result.Result != "finished" || i.Result.IsError {
		t.Fatalf("info = %+v result = %+v", i, i.Result)
	}
	if !find(s, event.ToolResult, "done it") || !find(s, event.PermissionResult, `"behavior":"allow","source":"respond"`) {
		t.Errorf("events:\n%s", dump(s))
	}
	if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	if i := h.settled(s); i.Result.Result != "again" {
		t.Errorf("reply result = %+v", i.Result)
	}
}

func TestDecisions(t *testing.T) {
	const one = `{"turns":[[{"tool":{"name":"%s","input":{"file_path":"x","command":"x","content":"y","url":"https://example.com","prompt":"p"},"output":"SEEN"}},{"text":"end"}]]}`
	cases := []struct {
		tool   string
		answer *engine.Answer
		ran    bool
		record string
	}{
		{"Read", nil, true, `"behavior":"allow","source":"policy","rule":"test.allow"`},
		{"Write", nil, false, `"behavior":"deny","source":"policy","rule":"test.deny"`},
		{"Bash", &engine.Answer{Allow: true}, true, `"behavior":"allow","source":"respond"`},
		{"Bash", &engine.Answer{}, false, `"behavior":"deny","source":"respond"`},
		{"Bash", &engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"other"}`)}, true, `"inputChanged":true`},
		{"WebFetch", &engine.Answer{Allow: true}, true, `"rule":"engine.default"`},
	}
	for _, c := range cases {
		t.Run(c.tool, func(t *testing.T) {
			h := newHarness(t, strings.Replace(one, "%s", c.tool, 1), nil)
			s := h.mustStart()
			if c.answer != nil {
				a := *c.answer
				a.RequestID = h.action(s).RequestID
				if a.UpdatedInput != nil {
					// a changed input is judged again: asked before, so it may pass
					a.Approver = "human"
				}
				if err := s.Answer(context.Background(), a); err != nil {
					t.Fatal(err)
				}
			}
			h.settled(s)
			if find(s, event.ToolResult, "SEEN") != c.ran {
				t.Errorf("ran = %v, want %v:\n%s", !c.ran, c.ran, dump(s))
			}
			if c.record != "" && c.answer != nil && c.answer.UpdatedInput == nil && !find(s, event.PermissionResult, c.record) {
				t.Errorf("no %s:\n%s", c.record, dump(s))
			}
		})
	}
}

func TestUnmediatedCallEndsTheSession(t *testing.T) {
	for name, scenario := range map[string]string{
		"unasked":    `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"ran","unmediated":true}},{"sleep_ms":5000},{"text":"end"}]]}`,
		"only hooks": `{"no_ask":true,"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"ran"}},{"sleep_ms":5000},{"text":"end"}]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t, scenario, nil)
			s := h.mustStart()
			h.until(s, "cancelled", func() bool { return s.Info().State == engine.Cancelled })
			if !find(s, event.Notice, `"type":"unmediated"`) {
				t.Errorf("events:\n%s", dump(s))
			}
			<-s.Done()
		})
	}
}

func TestSelfCheck(t *testing.T) {
	const turns = `"turns":[[{"text":"end"}]]`
	cases := []struct {
		name, scenario string
		policy         engine.Isolation
		refused        string
	}{
		{"held", `{` + turns + `}`, "", ""},
		{"lock dropped heals isolated", `{"settings_dropped":{"keys":["allowManagedHooksOnly"]},` + turns + `}`, "", ""},
		{"lock dropped refused", `{"settings_dropped":{"keys":["allowManagedHooksOnly"]},` + turns + `}`, engine.Refuse, "allowManagedHooksOnly"},
		{"ask dropped refused", `{"settings_dropped":{"keys":["permissions.ask"]},` + turns + `}`, "", "permissions.ask"},
		{"hooks off refused", `{"extra_settings":{"disableAllHooks":true},` + turns + `}`, "", "disableAllHooks"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, c.scenario, func(o *engine.Options) { o.OnUnsafeSettings = c.policy })
			s, err := h.start(nil)
			if c.refused == "" {
				if err != nil {
					t.Fatal(err)
				}
				h.settled(s)
				return
			}
			if err == nil || engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), c.refused) {
				t.Fatalf("err = %v, want PERMISSION_DENIED naming %s", err, c.refused)
			}
		})
	}
}

func TestStartFailures(t *testing.T) {
	cases := []struct {
		name, scenario string
		change         func(*engine.StartParams)
		options        func(*engine.Options)
		code           engine.Code
		part           string
	}{
		{"blank prompt", `{}`, func(p *engine.StartParams) { p.Prompt = " \n" }, nil, engine.InvalidArgument, "prompt is blank"},
		{"missing cwd", `{}`, func(p *engine.StartParams) { p.Cwd = "/no/such/folder" }, nil, engine.InvalidArgument, "no such folder"},
		{"exit at start", `{"exit_at_start":{"code":3,"stderr":"login expired"}}`, nil, nil, engine.Internal, "login expired"},
		{"never answers", `{"never_initialize":true}`, func(p *engine.StartParams) { p.SessionInitTimeout = 300 * time.Millisecond }, nil, engine.Timeout, "sessionInitTimeoutMs"},
		{"never begins", `{"never_init":true}`, func(p *engine.StartParams) { p.SessionInitTimeout = 600 * time.Millisecond }, nil, engine.Timeout, "sessionInitTimeoutMs"},
		{"too old", `{"version":"2.0.1"}`, nil, nil, engine.InvalidArgument, "at least 2.1.197"},
		{"no executable", `{}`, nil, func(o *engine.Options) { o.Executable = "/no/such/claude" }, engine.InvalidArgument, "not found"},
		{"no admission", `{}`, nil, func(o *engine.Options) { o.Admission = nil }, engine.PermissionDenied, "engine.no_policy"},
		{"mention without finder", `{}`, func(p *engine.StartParams) { p.Prompt = "read @x" }, func(o *engine.Options) { o.Mentions = nil }, engine.PermissionDenied, "engine.mentions"},
		{"mention not allowed", `{}`, func(p *engine.StartParams) { p.Prompt = "read @x" }, func(o *engine.Options) {
			o.Mentions = func(string) []string { return []string{"x"} }
			o.Deciders = []permission.Decider{rules{"Read": permission.Ask}}
		}, engine.PermissionDenied, "mentions @x"},
		{"control character", `{}`, func(p *engine.StartParams) { p.Model = "a\x00b" }, nil, engine.InvalidArgument, "control character"},
		{"odd rule", `{}`, func(p *engine.StartParams) { p.DisallowedTools = []string{"Bash,Read"} }, nil, engine.InvalidArgument, "disallowedTools"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, c.scenario, c.options)
			_, err := h.start(c.change)
			if err == nil || engine.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.part) {
				t.Fatalf("err = %v, want %s with %q", err, c.code, c.part)
			}
			if list, _ := h.Sessions(context.Background(), false); len(list) != 0 {
				t.Errorf("%d sessions are left", len(list))
			}
		})
	}
}

func TestCLIDiesWhileApprovalWaits(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"y","die":{"code":9,"stderr":"out of memory"}}},{"text":"end"}]]}`, nil)
	s := h.mustStart()
	i := h.settled(s)
	if i.State != engine.Failed || i.Result == nil || !strings.Contains(i.Result.Result, "out of memory") {
		t.Fatalf("state %s result %+v", i.State, i.Result)
	}
	if len(s.Pending()) != 0 {
		t.Error("the question outlived its process")
	}
	if other := h.mustStart(); other.ID() == s.ID() {
		t.Error("no new session")
	}
}

func TestCancelWhileApprovalWaits(t *testing.T) {
	h := newHarness(t, askOnce, nil)
	s := h.mustStart()
	a := h.action(s)
	if err := s.Cancel(context.Background(), "enough", "test"); err != nil {
		t.Fatal(err)
	}
	if err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Allow: true}); engine.CodeOf(err) != engine.PermissionRequestNotFound {
		<-s.Done()
		if err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Allow: true}); engine.CodeOf(err) != engine.PermissionRequestNotFound {
			t.Errorf("answer after the end: %v", err)
		}
	}
	<-s.Done()
	if find(s, event.ToolResult, "done it") {
		t.Error("the call ran")
	}
	if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "x"}); engine.CodeOf(err) != engine.CancelledCode {
		t.Errorf("reply: %v", err)
	}
}

func TestApprovalTimesOut(t *testing.T) {
	h := newHarness(t, askOnce, func(o *engine.Options) { o.ApprovalTimeout = 100 * time.Millisecond })
	s := h.mustStart()
	h.settled(s)
	if !find(s, event.PermissionResult, `"source":"timeout"`) || find(s, event.ToolResult, "done it") {
		t.Errorf("events:\n%s", dump(s))
	}
}

func TestQueueIsFair(t *testing.T) {
	h := newHarness(t, askOnce, func(o *engine.Options) { o.MaxConcurrent = 1 })
	first := h.mustStart()
	a := h.action(first)
	second := h.mustStart()
	if !find(second, event.Notice, `"type":"queued"`) {
		t.Fatalf("second did not queue:\n%s", dump(second))
	}
	if err := first.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
		t.Fatal(err)
	}
	h.settled(first)
	b := h.action(second)
	if err := second.Answer(context.Background(), engine.Answer{RequestID: b.RequestID}); err != nil {
		t.Fatal(err)
	}
	h.settled(second)
}

func TestCancelOfAStubbornCLI(t *testing.T) {
	h := newHarness(t, `{"ignore_interrupt":true,"ignore_sigint":true,"ignore_sigterm":true,"ignore_stdin_close":true,"turns":[[{"tool":{"name":"Bash","input":{"command":"x"}}},{"text":"end"}]]}`, nil)
	s := h.mustStart()
	h.action(s)
	began := time.Now()
	if err := s.Cancel(context.Background(), "test", "test"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if took := time.Since(began); took > 9*time.Second {
		t.Errorf("cancel took %s", took)
	}
}

func TestWithdrawnQuestionIsTold(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"withdraw":{"after_ms":50}}},{"text":"end"}]]}`, nil)
	s := h.mustStart()
	h.settled(s)
	h.until(s, "record", func() bool { return find(s, event.PermissionResult, `"source":"cli"`) })
	if len(s.Pending()) != 0 {
		t.Error("the question is still open")
	}
}
