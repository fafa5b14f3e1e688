package permission

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

type decide func(Request) (Decision, error)

func (d decide) Decide(_ context.Context, r Request) (Decision, error) { return d(r) }
func (decide) Revision() string                                        { return "r" }

func says(e Effect) decide {
	return func(Request) (Decision, error) {
		return Decision{Effect: e, Rule: e.String(), Rules: []string{e.String()}, UpdatedInput: json.RawMessage(`{"x":2}`)}, nil
	}
}

// modifyOnce changes the input the first time it sees it.
func modifyOnce(r Request) (Decision, error) {
	if string(r.Input) == `{"x":1}` {
		return Decision{Effect: Modify, UpdatedInput: json.RawMessage(`{"x":2}`)}, nil
	}
	return Decision{Effect: Allow, Rule: "after"}, nil
}

func modifyAlways(r Request) (Decision, error) {
	return Decision{Effect: Modify, UpdatedInput: json.RawMessage(`{"y":` + string(r.Input) + `}`)}, nil
}

func TestChain(t *testing.T) {
	fails := decide(func(Request) (Decision, error) { return Decision{Effect: Allow}, errors.New("broken") })
	panics := decide(func(Request) (Decision, error) { panic("broken") })
	odd := decide(func(Request) (Decision, error) { return Decision{Effect: 99}, nil })
	other := decide(func(Request) (Decision, error) {
		return Decision{Effect: Modify, UpdatedInput: json.RawMessage(`{"z":3}`)}, nil
	})
	empty := decide(func(Request) (Decision, error) { return Decision{Effect: Modify}, nil })
	denyChanged := decide(func(r Request) (Decision, error) {
		if string(r.Input) == `{"x":2}` {
			return Decision{Effect: Deny, Rule: "changed"}, nil
		}
		return Decision{Effect: Abstain}, nil
	})
	askAndChange := decide(func(r Request) (Decision, error) {
		return Decision{Effect: Ask, Rule: "both", UpdatedInput: json.RawMessage(`{"y":` + string(r.Input) + `}`)}, nil
	})
	cases := []struct {
		name     string
		deciders []Decider
		fallback Effect
		effect   Effect
		rule     string
	}{
		{"nobody", nil, Ask, Deny, "engine.no_policy"},
		{"all abstain", []Decider{says(Abstain)}, Ask, Ask, "engine.default"},
		{"all abstain, unattended", []Decider{says(Abstain)}, Deny, Deny, "engine.default"},
		{"a default never grants", []Decider{says(Abstain)}, Allow, Ask, "engine.default"},
		{"allow", []Decider{says(Allow), says(Abstain)}, Ask, Allow, "allow"},
		{"ask beats allow", []Decider{says(Allow), says(Ask)}, Ask, Ask, "ask"},
		{"deny beats ask", []Decider{says(Deny), says(Ask)}, Ask, Deny, "deny"},
		{"halt beats deny", []Decider{says(Deny), says(Halt)}, Ask, Halt, "halt"},
		{"error denies", []Decider{says(Allow), fails}, Ask, Deny, "engine.error"},
		{"panic denies", []Decider{panics, says(Allow)}, Ask, Deny, "engine.panic"},
		{"unknown effect denies", []Decider{odd}, Ask, Deny, "engine.decode"},
		{"two changes ask", []Decider{says(Modify), other}, Ask, Ask, "engine.modify_conflict"},
		{"change without input", []Decider{empty}, Ask, Deny, "engine.modify_empty"},
		{"change judged again", []Decider{decide(modifyOnce)}, Ask, Modify, ""},
		{"change denied", []Decider{decide(modifyOnce), denyChanged}, Ask, Deny, "changed"},
		{"change for ever", []Decider{decide(modifyAlways)}, Ask, Deny, "engine.modify_loop"},
		{"change, then ask about another change", []Decider{decide(modifyOnce), decide(func(r Request) (Decision, error) {
			if string(r.Input) == `{"x":1}` {
				return Decision{Effect: Abstain}, nil
			}
			return askAndChange(r)
		})}, Ask, Deny, "engine.modify_loop"},
		{"ask about another's change", []Decider{decide(modifyOnce), says(Ask)}, Ask, Ask, "ask"},
		{"ask about another's change, which is denied", []Decider{decide(modifyOnce), says(Ask), denyChanged}, Ask, Deny, "changed"},
		{"ask about two changes", []Decider{other, askAndChange}, Ask, Ask, "engine.modify_conflict"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := Chain{Deciders: c.deciders, Default: c.fallback}.Decide(context.Background(), Request{Input: json.RawMessage(`{"x":1}`)})
			if d.Effect != c.effect || d.Rule != c.rule {
				t.Errorf("decision = %s by %q, want %s by %q", d.Effect, d.Rule, c.effect, c.rule)
			}
		})
	}
}

func TestEffectFailsClosed(t *testing.T) {
	if e, err := ParseEffect("alow"); err == nil || e != Deny {
		t.Errorf("ParseEffect(alow) = %s, %v", e, err)
	}
	if e, err := ParseEffect("ask"); err != nil || e != Ask {
		t.Errorf("ParseEffect(ask) = %s, %v", e, err)
	}
	if s := Effect(77).String(); s != "deny" {
		t.Errorf("Effect(77) = %s", s)
	}
}

func TestMemo(t *testing.T) {
	base := Request{ToolUseID: "t", Tool: "Bash", AgentID: "a", Input: json.RawMessage(`{"command":"x","n":1}`)}
	change := func(f func(*Request)) Request { r := base; f(&r); return r }
	cases := []struct {
		name     string
		r        Request
		revision string
		hit      bool
	}{
		{"same", base, "r", true},
		{"keys in another order", change(func(r *Request) { r.Input = json.RawMessage(`{"n":1, "command":"x"}`) }), "r", true},
		{"other input", change(func(r *Request) { r.Input = json.RawMessage(`{"command":"y","n":1}`) }), "r", false},
		{"other number", change(func(r *Request) { r.Input = json.RawMessage(`{"command":"x","n":1.0}`) }), "r", false},
		{"other agent", change(func(r *Request) { r.AgentID = "" }), "r", false},
		{"other tool", change(func(r *Request) { r.Tool = "Read" }), "r", false},
		{"other id", change(func(r *Request) { r.ToolUseID = "u" }), "r", false},
		{"other policies", base, "s", false},
		{"other mode", change(func(r *Request) { r.Session.Mode = "plan" }), "r", false},
		{"a rule added", change(func(r *Request) { r.Session.DisallowedTools = []string{"Bash"} }), "r", false},
		{"a rule on the other list", change(func(r *Request) { r.Session.AllowedTools = []string{"Bash"} }), "r", false},
		{"later in the session", change(func(r *Request) { r.Session.ToolCalls = 7 }), "r", true},
	}
	for _, c := range cases {
		var m Memo
		m.Put(base, "r", Decision{Effect: Allow})
		if _, hit := m.Take(c.r, c.revision); hit != c.hit {
			t.Errorf("%s: hit = %v, want %v", c.name, hit, c.hit)
		}
		if c.hit {
			if _, again := m.Take(c.r, c.revision); again {
				t.Errorf("%s: used twice", c.name)
			}
		}
	}
}

func TestMemoIsBounded(t *testing.T) {
	var m Memo
	for i := range 3 * memoBound {
		m.Put(Request{ToolUseID: strings.Repeat("x", i)}, "r", Decision{})
	}
	if len(m.entries) > memoBound || len(m.order) > memoBound {
		t.Errorf("%d entries, bound %d", len(m.entries), memoBound)
	}
}

func TestApprovals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewApprovals(2)
		q, err := a.Open(Request{Tool: "Bash"}, Decision{}, time.Minute)
		if err != nil || len(q.ID) != 32 {
			t.Fatalf("open: %v, id %q", err, q.ID)
		}
		late, _ := a.Open(Request{}, Decision{}, time.Hour)
		if _, err := a.Open(Request{}, Decision{}, time.Hour); !errors.Is(err, ErrFull) {
			t.Errorf("third question: %v", err)
		}
		if _, err := a.Answer(q.ID, Verdict{Allow: true}, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Answer(q.ID, Verdict{}, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("second answer: %v", err)
		}
		if v := a.Wait(context.Background(), q); !v.Allow {
			t.Errorf("verdict = %+v", v)
		}
		start := time.Now()
		if v := a.Wait(context.Background(), late); v.Allow || v.Source != "timeout" || time.Since(start) != time.Hour {
			t.Errorf("verdict = %+v after %s", v, time.Since(start))
		}
		if _, err := a.Answer(late.ID, Verdict{Allow: true}, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("answer after the deadline: %v", err)
		}
		if len(a.Pending()) != 0 {
			t.Errorf("pending = %v", a.Pending())
		}
	})
}

func TestPollingDoesNotExtendTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := NewApprovals(0)
		q, _ := a.Open(Request{}, Decision{}, time.Second)
		time.Sleep(1500 * time.Millisecond)
		if _, err := a.Get(q.ID); !errors.Is(err, ErrNotFound) {
			t.Errorf("get: %v", err)
		}
		if _, err := a.Answer(q.ID, Verdict{Allow: true}, nil); !errors.Is(err, ErrNotFound) {
			t.Errorf("answer: %v", err)
		}
		if v := a.Wait(context.Background(), q); v.Allow {
			t.Errorf("verdict = %+v", v)
		}
	})
}

func TestWithdrawnQuestionIsADeny(t *testing.T) {
	a := NewApprovals(0)
	q, _ := a.Open(Request{}, Decision{}, time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if v := a.Wait(ctx, q); v.Allow || v.Source != "cancel" {
		t.Errorf("verdict = %+v", v)
	}
}

func TestQuorum(t *testing.T) {
	a := NewApprovals(0)
	q, _ := a.Open(Request{}, Decision{Ask: AskTerms{Quorum: 2}}, time.Hour)
	yes := func(who, input string) Verdict {
		return Verdict{Allow: true, Approver: who, Input: json.RawMessage(input)}
	}
	before := 0
	for i, c := range []struct {
		v    Verdict
		left int
	}{
		{yes("client", "1"), 1}, {yes("client", "1"), 1}, // the same one twice counts once
		{yes("human", "2"), 1},  // not of the same input
		{yes("client", "2"), 0}, // the last word of each
	} {
		if left, err := a.Answer(q.ID, c.v, func() { before++ }); left != c.left || err != nil {
			t.Errorf("answer %d: %d left, %v; want %d", i, left, err, c.left)
		}
	}
	if v := a.Wait(context.Background(), q); !v.Allow || string(v.Input) != "2" || before != 1 {
		t.Errorf("verdict = %+v; before was called %d times", v, before)
	}
	q, _ = a.Open(Request{}, Decision{Ask: AskTerms{Quorum: 2}}, time.Hour)
	a.Answer(q.ID, yes("human", "1"), nil)
	if left, err := a.Answer(q.ID, Verdict{Approver: "client"}, nil); left != 0 || err != nil {
		t.Errorf("a deny: %d left, %v", left, err)
	}
	if v := a.Wait(context.Background(), q); v.Allow || len(a.votes) != 0 {
		t.Errorf("verdict = %+v, %d votes kept", v, len(a.votes))
	}
}

func TestStricterTerms(t *testing.T) {
	a := AskTerms{TimeoutSeconds: 60, TTLSeconds: 0, Approvers: []string{"a", "b"}, Scope: "session", Quorum: 1, Fields: []string{"/x"}}
	b := AskTerms{OnTimeout: Halt, TTLSeconds: 5, Approver: "human", Approvers: []string{"b", "c"}, Scope: "exact", Quorum: 2, Fields: []string{"/x", "/y"}}
	want := AskTerms{
		TimeoutSeconds: 60, OnTimeout: Halt, TTLSeconds: 5, Approver: "human", Approvers: []string{"b"}, Scope: "exact", Quorum: 2, Fields: []string{"/x", "/y"},
	}
	for _, got := range []AskTerms{a.Stricter(b), b.Stricter(a)} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("terms = %+v, want %+v", got, want)
		}
	}
	if got := a.Stricter(AskTerms{}); got.Scope != "" || len(got.Approvers) != 2 || got.TimeoutSeconds != 60 {
		t.Errorf("beside terms that say nothing: %+v", got)
	}
	if got := a.Stricter(AskTerms{Approvers: []string{"z"}}); got.Approvers == nil || len(got.Approvers) != 0 {
		t.Errorf("approvers of whom none satisfies both: %#v", got.Approvers)
	}
}

func TestChainUnites(t *testing.T) {
	say := func(d Decision) Decider { return decide(func(Request) (Decision, error) { return d, nil }) }
	redact, limit := Obligation{Kind: "redact_result"}, Obligation{Kind: "limit_output", Args: map[string]any{"bytes": 1}}
	d := Chain{Deciders: []Decider{
		say(Decision{Effect: Allow, Obligations: []Obligation{redact}, Labels: map[string]string{"k": "allow", "a": "1"}}),
		say(Decision{Effect: Ask, Obligations: []Obligation{limit, redact}, Labels: map[string]string{"k": "ask"}, Ask: AskTerms{Quorum: 2}}),
		say(Decision{Effect: Ask, Ask: AskTerms{Approver: "human"}}),
	}}.Decide(context.Background(), Request{})
	if d.Effect != Ask || len(d.Obligations) != 2 || d.Labels["k"] != "ask" || d.Labels["a"] != "1" || d.Ask.Quorum != 2 || d.Ask.Approver != "human" || d.Revision != "r+r+r" {
		t.Errorf("decision = %+v", d)
	}
	twice := decide(func(r Request) (Decision, error) {
		if string(r.Input) == `{"x":1}` {
			return Decision{Effect: Modify, UpdatedInput: json.RawMessage(`{"x":2}`), Obligations: []Obligation{limit}}, nil
		}
		return Decision{Effect: Allow, Obligations: []Obligation{redact}, Labels: map[string]string{"l": "2"}}, nil
	})
	d = Chain{Deciders: []Decider{twice}}.Decide(context.Background(), Request{Input: json.RawMessage(`{"x":1}`)})
	if d.Effect != Modify || len(d.Obligations) != 2 || d.Labels["l"] != "2" {
		t.Errorf("a changed input: %+v", d)
	}
}
