package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// judge decides by a function and remembers what it was asked.
type judge struct {
	decide func(permission.Request) permission.Decision

	mu       sync.Mutex
	revision string
	seen     []permission.Request
	admitted []admission.Request
}

func (j *judge) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := j.decide(r)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, r)
	d.Reason, d.By, d.Revision = "because of the test", "policy", j.revision
	return d, nil
}

func (j *judge) Revision() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.revision
}

func (j *judge) revise(revision string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.revision = revision
}

func (j *judge) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.admitted = append(j.admitted, r)
	return permission.Decision{Effect: permission.Allow}, nil
}

// requests are those of one door.
func (j *judge) requests(door permission.Door) (all []permission.Request) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.seen {
		if r.Door == door {
			all = append(all, r)
		}
	}
	return all
}

func (j *judge) use(o *engine.Options) {
	o.Deciders, o.Admission = []permission.Decider{j}, []admission.Decider{j}
}

// asks makes a judge that asks about everything, under terms.
func asks(t permission.AskTerms) *judge {
	return &judge{revision: "r1", decide: func(permission.Request) permission.Decision {
		return permission.Decision{Effect: permission.Ask, Rule: "test.ask", Rules: []string{"ask:test.ask"}, Ask: t}
	}}
}

const oneBash = `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}}]]}`

func changed(command string) json.RawMessage { return json.RawMessage(`{"command":"` + command + `"}`) }

func TestWhoMayAnswer(t *testing.T) {
	type step struct {
		answer engine.Answer
		code   engine.Code // "" = taken
	}
	client, human := engine.Answer{Allow: true}, engine.Answer{Allow: true, Approver: "human"}
	with := func(a engine.Answer, command string) engine.Answer { a.UpdatedInput = changed(command); return a }
	no := func(a engine.Answer) engine.Answer { a.Allow = false; return a }
	cases := []struct {
		name  string
		terms permission.AskTerms
		steps []step
		runs  string // the command that runs, "" = denied
	}{
		{"a person is wanted", permission.AskTerms{Approver: "human"}, []step{{client, engine.PermissionDenied}, {human, ""}}, "x"},
		{"a client may refuse in a person's place", permission.AskTerms{Approver: "human"}, []step{{no(client), ""}}, ""},
		{"a group", permission.AskTerms{Approvers: []string{"client"}}, []step{{human, engine.PermissionDenied}, {client, ""}}, "x"},
		{"two", permission.AskTerms{Quorum: 2}, []step{{client, ""}, {client, ""}, {human, ""}}, "x"},
		{"two, and the first no counts", permission.AskTerms{Quorum: 2}, []step{{human, ""}, {no(client), ""}}, ""},
		{"two of the same input", permission.AskTerms{Quorum: 2}, []step{{with(client, "y"), ""}, {human, ""}, {client, ""}}, "x"},
		{"two of the same changed input", permission.AskTerms{Quorum: 2}, []step{{with(client, "y"), ""}, {with(human, "y"), ""}}, "y"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, oneBash, asks(c.terms).use)
			s := h.mustStart()
			id := h.action(s).RequestID
			for i, step := range c.steps {
				step.answer.RequestID = id
				err := s.Answer(t.Context(), step.answer)
				if err == nil && step.code != "" || err != nil && engine.CodeOf(err) != step.code {
					t.Fatalf("answer %d: %v, want %q", i, err, step.code)
				}
				if open := len(s.Pending()); i < len(c.steps)-1 && open != 1 {
					t.Fatalf("answer %d: %d questions are open", i, open)
				}
			}
			h.settled(s)
			ran := find(s, event.PermissionResult, `"input":{"command":"`+c.runs+`"}`) && find(s, event.PermissionResult, `"behavior":"allow"`)
			if ran != (c.runs != "") || ran != find(s, event.ToolResult, `"content":"o"`) {
				t.Errorf("events:\n%s", dump(s))
			}
		})
	}
}

func TestApprovalsSoFarAreShown(t *testing.T) {
	h := newHarness(t, oneBash, asks(permission.AskTerms{Quorum: 2, Scope: "exact", TTLSeconds: 60, Fields: []string{"/command", "/none"}}).use)
	s := h.mustStart()
	a := h.action(s)
	if a.Quorum != 2 || a.Scope != "exact" || a.ScopeTTL != 60 || len(a.Fields) != 2 || a.Fields[0].Value != "x" || !a.Fields[1].Missing {
		t.Errorf("action = %+v", a)
	}
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
		t.Fatal(err)
	}
	if got := s.Pending()[0].ApprovedBy; !slices.Equal(got, []string{"client"}) || !find(s, event.Notice, `"left":1`) {
		t.Errorf("approved by %q, events:\n%s", got, dump(s))
	}
}

func TestNobodyWhoMayAnswer(t *testing.T) {
	cases := []struct {
		name   string
		terms  permission.AskTerms
		who    []string
		reason string // "" = the question is put
	}{
		{"a group nobody is in", permission.AskTerms{Approvers: []string{"ops"}}, nil, "an approval has to come from ops, and here only client, human can answer"},
		{"no person here", permission.AskTerms{Approver: "human"}, []string{"client"}, "has to come from human, and here only client can answer"},
		{"nobody at all", permission.AskTerms{Approvers: []string{}}, nil, "has to come from nobody"},
		{"more than there are", permission.AskTerms{Quorum: 3}, nil, "it takes 3 approvers, and here only 2"},
		{"two, of one kind", permission.AskTerms{Quorum: 2, Approvers: []string{"client", "ops"}}, nil, "it takes 2 approvers, and here only 1"},
		{"contradiction", permission.AskTerms{Approver: "human", Approvers: []string{"client"}}, nil, "from human out of client"},
		{"the caller's group", permission.AskTerms{Approvers: []string{"dev"}}, nil, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := asks(c.terms)
			h := newHarness(t, oneBash, func(o *engine.Options) { j.use(o); o.Approvers = c.who })
			ctx := engine.WithCaller(t.Context(), permission.Caller{Client: "c", Groups: []string{"dev"}})
			s, err := h.Start(ctx, engine.StartParams{Prompt: "go"})
			if err != nil {
				t.Fatal(err)
			}
			if c.reason == "" {
				if err := s.Answer(ctx, engine.Answer{RequestID: h.action(s).RequestID, Allow: true}); err != nil {
					t.Error(err)
				}
				return
			}
			h.settled(s)
			if !find(s, event.PermissionResult, `"rule":"engine.approvers"`) || !find(s, event.PermissionResult, c.reason) || find(s, event.PermissionAsked, "") {
				t.Errorf("events:\n%s", dump(s))
			}
		})
	}
}

func TestTimeoutThatHalts(t *testing.T) {
	for _, halt := range []bool{false, true} {
		terms := permission.AskTerms{OnTimeout: permission.Deny}
		if halt {
			terms.OnTimeout = permission.Halt
		}
		h := newHarness(t, oneBash, func(o *engine.Options) { asks(terms).use(o); o.ApprovalTimeout = time.Millisecond })
		s := h.mustStart()
		if failed := h.settled(s).Result.IsError; failed != halt || find(s, event.PermissionResult, `"interrupt":true`) != halt {
			t.Errorf("halt %t: the turn failed: %t, events:\n%s", halt, failed, dump(s))
		}
	}
}

func TestDigestOfAnAnswer(t *testing.T) {
	h := newHarness(t, oneBash, asks(permission.AskTerms{}).use)
	s := h.mustStart()
	a := h.action(s)
	err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true, Digest: strings.Repeat("0", 64)})
	if engine.CodeOf(err) != engine.InvalidArgument || len(s.Pending()) != 1 {
		t.Errorf("another digest: %v", err)
	}
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true, Digest: a.InputSHA256}); err != nil {
		t.Error(err)
	}
}

// TestChangedInputWantsItsOwnApprover: an answer cannot turn a question that
// anybody may answer into a call that only a person may approve.
func TestChangedInputWantsItsOwnApprover(t *testing.T) {
	j := &judge{revision: "r1", decide: func(r permission.Request) permission.Decision {
		d := permission.Decision{Effect: permission.Ask, Rule: "test.ask"}
		switch {
		case strings.Contains(string(r.Input), "human"):
			d.Ask.Approver = "human"
		case strings.Contains(string(r.Input), "two"):
			d.Ask.Quorum = 2
		case strings.Contains(string(r.Input), "never"):
			d.Effect = permission.Deny
		case strings.Contains(string(r.Input), "withheld"):
			d.Effect, d.Obligations = permission.Allow, []permission.Obligation{{Kind: "redact_result"}}
		}
		return d
	}}
	h := newHarness(t, oneBash, j.use)
	s := h.mustStart()
	id := h.action(s).RequestID
	for _, command := range []string{"human", "two", "never"} {
		err := s.Answer(t.Context(), engine.Answer{RequestID: id, Allow: true, UpdatedInput: changed(command)})
		if engine.CodeOf(err) != engine.PermissionDenied {
			t.Errorf("%s: %v", command, err)
		}
	}
	if err := s.Answer(t.Context(), engine.Answer{RequestID: id, Allow: true, UpdatedInput: changed("withheld")}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if !find(s, event.PermissionResult, `"obligations":["redact_result"]`) || !find(s, event.ToolResult, "[withheld]") {
		t.Errorf("the obligation of the changed input was lost:\n%s", dump(s))
	}
}

// TestQuestionUnderNewPolicies: what was asked under old policies is judged by
// those in force when the answer comes.
func TestQuestionUnderNewPolicies(t *testing.T) {
	j := asks(permission.AskTerms{})
	h := newHarness(t, oneBash, j.use)
	s := h.mustStart()
	id := h.action(s).RequestID
	j.mu.Lock()
	j.revision, j.decide = "r2", func(permission.Request) permission.Decision {
		return permission.Decision{Effect: permission.Deny, Rule: "test.new"}
	}
	j.mu.Unlock()
	err := s.Answer(t.Context(), engine.Answer{RequestID: id, Allow: true})
	if engine.CodeOf(err) != engine.PermissionDenied || !strings.Contains(err.Error(), "under the policies that are in force now, refused by rule test.new") {
		t.Errorf("answer: %v", err)
	}
}

func TestAskRate(t *testing.T) {
	call := `{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}}`
	h := newHarness(t, `{"turns":[[`+call+`,`+call+`,`+call+`]]}`, func(o *engine.Options) {
		asks(permission.AskTerms{}).use(o)
		o.MaxQuestions, o.ApprovalTimeout = 2, time.Millisecond
	})
	s := h.mustStart()
	h.settled(s)
	if n := strings.Count(dump(s), `"rule":"engine.ask_rate"`); n != 1 || !strings.Contains(dump(s), "(2, [limits] max_questions)") {
		t.Errorf("%d calls were denied by engine.ask_rate:\n%s", n, dump(s))
	}
}
