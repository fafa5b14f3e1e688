package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
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
