package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// fakeLog is an audit log in memory.
type fakeLog struct {
	fail func(audit.Record) error // of Record; nil: all is well
	hang func(audit.Record) bool  // Record ends with its context only

	mu      sync.Mutex
	records []audit.Record // of both, as they came
	noted   []audit.Record
}

func (l *fakeLog) Record(ctx context.Context, r audit.Record) error {
	if l.hang != nil && l.hang(r) {
		<-ctx.Done()
		return ctx.Err()
	}
	if l.fail != nil {
		if err := l.fail(r); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records = append(l.records, r)
	return nil
}

func (l *fakeLog) Note(r audit.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records, l.noted = append(l.records, r), append(l.noted, r)
}

func (l *fakeLog) of(kind audit.Kind) (found []audit.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.records {
		if r.Kind == kind {
			found = append(found, r)
		}
	}
	return found
}

// whole is everything that a log would write of its records.
func (l *fakeLog) whole(t *testing.T) string {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, err := json.Marshal(l.records)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// byTool decides by the name of the tool: Allow…, Ask…, Deny… and so on.
type byTool struct{}

func (byTool) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Rule: "test." + strings.ToLower(r.Tool), Reason: "said of " + string(r.Input), By: "policy", Layer: "user", Revision: "r7", DecisionID: "d-" + r.Tool}
	switch {
	case strings.Contains(string(r.Input), "forbidden"):
		d.Effect = permission.Deny
	case strings.HasPrefix(r.Tool, "Fail"):
		return d, errors.New("broken")
	case strings.HasPrefix(r.Tool, "Modify"):
		if !strings.Contains(string(r.Input), "changed") {
			d.Effect, d.UpdatedInput = permission.Modify, json.RawMessage(`{"command":"changed"}`)
			return d, nil
		}
		d.Effect = permission.Allow
	case strings.HasPrefix(r.Tool, "Ask"), r.Tool == formTool:
		d.Effect, d.Rules = permission.Ask, []string{"ask:" + d.Rule}
	case strings.HasPrefix(r.Tool, "Grant"):
		d.Effect, d.Ask.Scope = permission.Ask, "session"
	case strings.HasPrefix(r.Tool, "Halt"):
		d.Effect = permission.Halt
	case strings.HasPrefix(r.Tool, "Deny"):
		d.Effect = permission.Deny
	default:
		d.Effect = permission.Allow
	}
	if r.Tool == "AskHuman" {
		d.Ask.Approver = "human"
	}
	if strings.HasPrefix(r.Tool, "AllowPlain") {
		d.Obligations = []permission.Obligation{{Kind: "redact_result"}}
	}
	return d, nil
}

func (byTool) Revision() string { return "r7" }

// aSession is a session with a process that is none, for requests of a CLI.
func aSession(t testing.TB, log audit.Recorder, change func(*Options)) *process {
	t.Helper()
	o := Options{
		Roots: []string{t.TempDir()}, Deciders: []permission.Decider{byTool{}}, Admission: []admission.Decider{grants{}}, MaxDenials: -1, MaxQuestions: -1,
		Mentions: func(prompt string) []string { return strings.Fields(strings.ReplaceAll(prompt, "@", "")) }, Audit: log,
		ApprovalTimeout: time.Minute, Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&o)
	}
	e, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	s := e.newSession(StartParams{Cwd: e.o.Roots[0]}, "")
	s.caller = permission.Caller{Client: "desk", Version: "2", Transport: "stdio", UID: 7}
	s.state, s.cwd = Running, e.o.Roots[0]
	if err := e.register(s); err != nil {
		t.Fatal(err)
	}
	s.tellOrigin()
	p := &process{session: s, tasks: map[string]struct{}{}, inited: make(chan struct{}), pumped: make(chan struct{})}
	p.ctx, p.end = context.WithCancelCause(s.ctx)
	s.folders.reset(s.cwd)
	t.Cleanup(func() {
		s.cancel("the test is over", "test")
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p
}

func askFor(tool, input string) control.Request {
	name, _ := json.Marshal(tool)
	return control.Request{Subtype: "can_use_tool", Fields: map[string]json.RawMessage{
		"tool_name": name, "input": json.RawMessage(input), "tool_use_id": json.RawMessage(`"toolu_1"`), "agent_id": json.RawMessage(`"a1"`),
	}}
}

func hookFor(tool, input string) control.Request {
	raw, _ := json.Marshal(map[string]any{"tool_name": tool, "tool_input": json.RawMessage(input), "tool_use_id": "toolu_1"})
	return control.Request{Subtype: "hook_callback", Fields: map[string]json.RawMessage{"callback_id": json.RawMessage(`"PreToolUse"`), "input": raw}}
}

func promptFor(text string) control.Request {
	raw, _ := json.Marshal(map[string]any{"prompt": text})
	return control.Request{Subtype: "hook_callback", Fields: map[string]json.RawMessage{"callback_id": json.RawMessage(`"UserPromptSubmit"`), "input": raw}}
}

func formFor(message string) control.Request {
	text, _ := json.Marshal(message)
	return control.Request{Subtype: "elicitation", Fields: map[string]json.RawMessage{
		"mcp_server_name": json.RawMessage(`"ext"`), "message": text,
		"requested_schema": json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
	}}
}

// begin makes a request of the CLI; its answer comes as JSON.
func (p *process) begin(r control.Request) <-chan string {
	out := make(chan string, 1)
	go func() { // ends with the request
		a, err := p.HandleRequest(context.Background(), r)
		if err != nil {
			a = "error: " + err.Error()
		}
		raw, _ := json.Marshal(a)
		out <- string(raw)
	}()
	return out
}

// asking makes one that puts a question, and returns the question's id.
func (p *process) asking(t testing.TB, r control.Request) (id string, answer <-chan string) {
	t.Helper()
	out := p.begin(r)
	deadline := time.Now().Add(2 * time.Minute)
	for len(p.session.Pending()) == 0 {
		if time.Now().After(deadline) {
			t.Fatalf("no question was put:\n%s", dumpOf(p.session))
		}
		time.Sleep(time.Millisecond)
	}
	return p.session.Pending()[0].RequestID, out
}

// answered makes a request and gives an answer to its question, if any.
func (p *process) answered(t testing.TB, r control.Request, answer *Answer) string {
	t.Helper()
	if answer == nil {
		return <-p.begin(r)
	}
	a := *answer
	var out <-chan string
	a.RequestID, out = p.asking(t, r)
	if err := p.session.Answer(context.Background(), a); err != nil {
		t.Errorf("answer: %v", err)
	}
	return <-out
}

// lets says whether an answer to the CLI lets something happen.
func lets(answer string) bool {
	return strings.Contains(answer, `"behavior":"allow"`) || strings.Contains(answer, `"action":"accept"`) || answer == "{}"
}

// door is one way for something to be let through.
type door struct {
	name    string
	request control.Request
	answer  *Answer // to its question; nil: none is put
	lets    bool    // where the log is well
	want    string  // "effect rule by door"
}

var (
	yes = &Answer{Allow: true}
	no  = &Answer{DenyMessage: "not today"}
)

func doors() []door {
	return []door{
		{"allow", askFor("Allow", `{"command":"x"}`), nil, true, "allow test.allow policy/user can_use_tool"},
		{"obligation", askFor("AllowPlain", `{"command":"x"}`), nil, true, "allow test.allowplain policy/user can_use_tool"},
		{"modify", askFor("Modify", `{"command":"x"}`), nil, true, "allow test.modify policy/user can_use_tool"},
		{"deny", askFor("Deny", `{"command":"x"}`), nil, false, "deny test.deny policy/user can_use_tool"},
		{"halt", askFor("Halt", `{"command":"x"}`), nil, false, "halt test.halt policy/user can_use_tool"},
		{"judge broken", askFor("Fail", `{"command":"x"}`), nil, false, "deny engine.error error/engine.error can_use_tool"},
		{"unreadable", askFor("", `{}`), nil, false, "deny engine.decode error/engine.decode can_use_tool"},
		{"early deny", hookFor("Deny", `{"command":"x"}`), nil, false, "deny test.deny policy/user pre_tool_use"},
		{"early and unreadable", hookFor("", `{}`), nil, false, "deny engine.decode error/engine.decode pre_tool_use"},
		{"answered", askFor("Ask", `{"command":"x"}`), yes, true, "allow test.ask approver/client can_use_tool"},
		{"answered by a person", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, Approver: "human"}, true, "allow test.ask approver/human can_use_tool"},
		{"answered with another input", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"y"}`)}, true, "allow test.ask approver/client can_use_tool"},
		{"refused", askFor("Ask", `{"command":"x"}`), no, false, "deny test.ask approver/client can_use_tool"},
		{"question of the model", askFor("AskUserQuestion", `{"questions":[]}`), yes, true, "allow test.askuserquestion approver/client can_use_tool"},
		{"form", formFor("your name?"), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"ada"}}`)}, true, "allow test.elicitation approver/client elicitation"},
		{"form declined", formFor("your name?"), no, false, "deny test.elicitation approver/client elicitation"},
		{"mention", promptFor("see @a.txt"), nil, true, "allow test.read policy/user mention"},
		{"forbidden mention", promptFor("@forbidden"), nil, false, "deny test.read policy/user mention"},
	}
}

func saidOf(r audit.Record) string {
	by := strings.TrimSuffix(r.By.Kind+"/"+r.By.Name, "/")
	return fmt.Sprintf("%s %s %s %s", r.Verdict.Effect, r.Verdict.Rule, by, r.Door)
}

func TestEveryDecisionIsRecorded(t *testing.T) {
	for _, c := range doors() {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{}
			p := aSession(t, log, nil)
			answer := p.answered(t, c.request, c.answer)
			if lets(answer) != c.lets {
				t.Fatalf("answer = %s", answer)
			}
			found := log.of(audit.Decision)
			if len(found) == 0 {
				t.Fatal("nothing was recorded")
			}
			r := found[len(found)-1]
			if saidOf(r) != c.want {
				t.Errorf("record = %s, want %s", saidOf(r), c.want)
			}
			if r.Session != p.session.id || r.Cwd != p.session.cwd || r.Principal.Client != "desk" || r.Principal.UID != 7 {
				t.Errorf("session, folder or principal: %+v", r)
			}
			asked := log.of(audit.ApprovalAsked)
			if (len(asked) == 1) != (c.answer != nil) {
				t.Fatalf("%d questions were noted", len(asked))
			}
			if c.answer == nil {
				if r.RequestID != "" || r.ShownDigest != "" {
					t.Errorf("a question is named that was not put: %+v", r)
				}
				return
			}
			checkQuestion(t, p.session, log, r, asked[0])
		})
	}
}

// checkQuestion looks at what ties the records of a question together.
func checkQuestion(t *testing.T, s *Session, log *fakeLog, decision, asked audit.Record) {
	t.Helper()
	var shown string
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == event.PermissionAsked {
			shown = digest(e.Data)
		}
	}
	records := slices.Concat([]audit.Record{decision, asked}, log.of(audit.ApprovalAnswered), log.of(audit.Admission))
	if len(records) != 4 {
		t.Fatalf("%d records of the question, want 4", len(records))
	}
	for _, r := range records {
		if r.RequestID != decision.RequestID || r.RequestID == "" || r.ShownDigest != shown {
			t.Errorf("%s: request %q shown %q, want %q and %q", r.Kind, r.RequestID, r.ShownDigest, decision.RequestID, shown)
		}
	}
}

func TestRecordedInput(t *testing.T) {
	for _, c := range []struct {
		name    string
		request control.Request
		answer  *Answer
		raw     string
		excerpt string
		changed bool
	}{
		{"as asked", askFor("Allow", `{"command":"a && b"}`), nil, `{"command":"a && b"}`, `{"command":"a && b"}`, false},
		{"modified", askFor("Modify", `{"command":"x"}`), nil, `{"command":"changed"}`, `{"command":"changed"}`, true},
		{"by an approver", askFor("Ask", `{"command":"x"}`), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"y"}`)}, `{"command":"y"}`, `{"command":"y"}`, true},
		{"denied", askFor("Deny", `{"command":"x"}`), nil, `{"command":"x"}`, `{"command":"x"}`, false},
		{"filled form", formFor("?"), &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"ada"}}`)}, `{"name":"ada"}`, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{}
			p := aSession(t, log, nil)
			p.answered(t, c.request, c.answer)
			found := log.of(audit.Decision)
			if len(found) != 1 {
				t.Fatalf("%d decisions", len(found))
			}
			r := found[0]
			if string(r.Input.Raw) != c.raw || r.Input.Excerpt != c.excerpt || r.Verdict.Changed != c.changed {
				t.Errorf("input = %s, excerpt %s, changed %v", r.Input.Raw, r.Input.Excerpt, r.Verdict.Changed)
			}
			if r.Policy == nil || r.Policy.Revision != "r7" || r.Policy.Package != "gatehouse.permission" || r.Verdict.ID == "" {
				t.Errorf("policy = %+v, verdict = %+v", r.Policy, r.Verdict)
			}
		})
	}
}

// A log that cannot be written to lets nothing through, in any door; denies are
// answered all the same.
func TestNothingRunsUnrecorded(t *testing.T) {
	full := fmt.Errorf("write audit log: %w", syscall.ENOSPC)
	for _, c := range doors() {
		t.Run(c.name, func(t *testing.T) {
			log := &fakeLog{fail: func(r audit.Record) error {
				if r.Kind == audit.Decision {
					return full
				}
				return nil
			}}
			p := aSession(t, log, nil)
			answer := p.answered(t, c.request, c.answer)
			if lets(answer) || strings.HasPrefix(answer, `"error`) {
				t.Fatalf("answer = %s", answer)
			}
			if !c.lets {
				if len(log.noted) == 0 || len(log.of(audit.Decision)) != 1 {
					t.Errorf("the deny was not noted: %+v", log.records)
				}
				return
			}
			if text := dumpOf(p.session) + answer; !strings.Contains(text, ruleAudit) || !strings.Contains(text, "no room on its disk") || strings.Contains(text, `"behavior":"allow"`) {
				t.Errorf("events and answer:\n%s", text)
			}
			if c.request.Subtype != "hook_callback" {
				if found := log.of(audit.Decision); len(found) != 1 || saidOf(found[0]) != "deny engine.audit error/engine.audit "+found[0].Door || found[0].RequestID == "" && c.answer != nil {
					t.Errorf("noted: %+v", found)
				}
			}
		})
	}
}

func dumpOf(s *Session) string {
	var b strings.Builder
	for _, e := range s.Events(nil, 0).Events {
		fmt.Fprintf(&b, "%s %s\n", e.Type, e.Data)
	}
	return b.String()
}

func TestGrantIsRecordedOrDenied(t *testing.T) {
	broken := false
	log := &fakeLog{}
	log.fail = func(r audit.Record) error {
		if broken && r.Kind == audit.Decision {
			return errors.New("no")
		}
		return nil
	}
	p := aSession(t, log, nil)
	p.answered(t, askFor("Grant", `{"command":"x"}`), yes)
	if a := p.answered(t, askFor("Grant", `{"command":"y"}`), nil); !lets(a) {
		t.Fatalf("the grant did not answer: %s", a)
	}
	found := log.of(audit.Decision)
	if len(found) != 2 || saidOf(found[1]) != "allow test.grant grant can_use_tool" || found[1].RequestID != found[0].RequestID {
		t.Errorf("records = %+v", found)
	}
	broken = true
	if a := p.answered(t, askFor("Grant", `{"command":"z"}`), nil); lets(a) {
		t.Errorf("a grant let a call through unrecorded: %s", a)
	}
}

// An approval that could not be recorded grants nothing later either.
func TestUnrecordedApprovalGrantsNothing(t *testing.T) {
	broken := true
	log := &fakeLog{}
	log.fail = func(r audit.Record) error {
		if broken && r.Kind == audit.Decision {
			return errors.New("no")
		}
		return nil
	}
	p := aSession(t, log, nil)
	p.answered(t, askFor("Grant", `{"command":"x"}`), yes)
	broken = false
	if a := p.answered(t, askFor("Grant", `{"command":"y"}`), no); lets(a) {
		t.Errorf("the call ran: %s", a)
	}
}

func TestHungLogDeniesInTime(t *testing.T) {
	for _, deaf := range []bool{false, true} { // to its context
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			log := &fakeLog{hang: func(r audit.Record) bool {
				if r.Kind != audit.Decision {
					return false
				}
				if deaf {
					<-release
				}
				return true
			}}
			p := aSession(t, log, nil)
			began := time.Now()
			answer := p.answered(t, askFor("Allow", `{"command":"x"}`), nil)
			if took := time.Since(began); lets(answer) || took != auditPatience {
				t.Errorf("answer after %s: %s", took, answer)
			}
			if !strings.Contains(dumpOf(p.session), "did not answer within 10s") {
				t.Errorf("events:\n%s", dumpOf(p.session))
			}
			began = time.Now()
			if answer = p.answered(t, askFor("Deny", `{"command":"x"}`), nil); lets(answer) || time.Since(began) != auditPatience {
				t.Errorf("deny after %s: %s", time.Since(began), answer)
			}
			close(release)
		})
	}
}

// The record is there before the CLI gets its answer.
func TestAnswerWaitsForItsRecord(t *testing.T) {
	for _, c := range doors() {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			held := false
			log := &fakeLog{}
			log.fail = func(r audit.Record) error {
				if r.Kind == audit.Decision {
					held = true
					<-release
				}
				return nil
			}
			p := aSession(t, log, nil)
			out := make(chan string, 1)
			go func() { out <- p.answered(t, c.request, c.answer) }()
			time.Sleep(time.Second) // until nothing moves any more
			synctest.Wait()
			select {
			case answer := <-out:
				t.Errorf("%s: the answer came first: %s", c.name, answer)
			default:
			}
			if !held {
				t.Errorf("%s: no record was begun", c.name)
			}
			if c.lets && strings.Contains(dumpOf(p.session), `"behavior":"allow"`) {
				t.Errorf("%s: the event came first", c.name)
			}
			close(release)
			<-out
		})
	}
}

func TestAnUnwrittenAllowIsHeldBack(t *testing.T) {
	for _, a := range []any{allowAnswer{Behavior: "allow"}, formAnswer{Action: "accept"}} {
		if !unpermitted(a) {
			t.Errorf("%+v passed", a)
		}
	}
	for _, a := range []any{allowAnswer{permit: permit{true}}, formAnswer{Action: "accept", permit: permit{true}}, formAnswer{Action: "decline"}, denyAnswer{}, nil} {
		if unpermitted(a) {
			t.Errorf("%+v was held back", a)
		}
	}
}

func TestExpiredQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &fakeLog{}
		p := aSession(t, log, nil)
		p.answered(t, askFor("Ask", `{"command":"x"}`), nil)
		expired, decisions := log.of(audit.ApprovalExpired), log.of(audit.Decision)
		if len(expired) != 1 || expired[0].By.Kind != "timeout" || expired[0].ShownDigest == "" {
			t.Errorf("expired = %+v", expired)
		}
		if len(decisions) != 1 || saidOf(decisions[0]) != "deny test.ask timeout can_use_tool" || decisions[0].ShownDigest != expired[0].ShownDigest {
			t.Errorf("decisions = %+v", decisions)
		}
	})
}
