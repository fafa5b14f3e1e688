package engine_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// labelling makes a judge that allows all but what is forbidden, with labels.
func labelling() *judge {
	return &judge{revision: "r1", decide: func(r permission.Request) permission.Decision {
		d := permission.Decision{Effect: permission.Allow, Rule: "test." + strings.ToLower(r.Tool), Labels: map[string]string{"used": r.Tool}}
		if strings.Contains(string(r.Input), "forbidden") {
			d.Effect = permission.Deny
		}
		return d
	}}
}

func TestFactsOfACall(t *testing.T) {
	j := labelling()
	h := newHarness(t, calls("Bash:x", "Bash:forbidden", "Glob:y", "Bash:last"), j.use)
	who := permission.Caller{Client: "desk", Version: "2", Transport: "stdio", UID: 7}
	before := time.Now()
	s, err := h.Start(engine.WithCaller(t.Context(), who), engine.StartParams{Prompt: "go", MaxTurns: 9, Sandbox: json.RawMessage(`{"enabled":true}`)})
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	seen := j.requests(permission.DoorHook)
	if len(seen) != 4 {
		t.Fatalf("%d calls were judged:\n%s", len(seen), dump(s))
	}
	r := seen[3]
	if r.Caller.Client != "desk" || r.Caller.Version != "2" || r.Caller.UID != 7 {
		t.Errorf("caller = %+v", r.Caller)
	}
	f := r.Session
	var told []string
	for _, recent := range f.Recent {
		told = append(told, recent.Tool+" "+recent.Effect.String()+" "+recent.Rule)
		if recent.At.Before(before) || time.Since(recent.At) < 0 {
			t.Errorf("%s was judged at %s", recent.Tool, recent.At)
		}
	}
	if want := []string{"Bash allow test.bash", "Bash deny test.bash", "Glob allow test.glob"}; !slices.Equal(told, want) {
		t.Errorf("recent = %q, want %q", told, want)
	}
	if f.Tools["Bash"] != 2 || f.Tools["Glob"] != 1 || len(f.Tools) != 2 {
		t.Errorf("tools = %v", f.Tools)
	}
	if want := []string{"used:Bash", "used:Glob"}; !slices.Equal(f.Taint, want) {
		t.Errorf("taint = %q, want %q", f.Taint, want)
	}
	if f.PromptSHA256 != fmt.Sprintf("%x", sha256.Sum256([]byte("go"))) || f.Started.Before(before) || !f.SandboxOn || f.MaxTurns != 9 {
		t.Errorf("session = %+v", f)
	}
	if len(seen[1].Session.Taint) != 1 || len(seen[0].Session.Recent) != 0 {
		t.Errorf("the first calls saw %+v and %+v", seen[0].Session, seen[1].Session)
	}
}

func TestFactsOfAnAgent(t *testing.T) {
	j := labelling()
	h := newHarness(t, `{"turns":[[{"agent":{"id":"toolu_out","agent_id":"a1","subagent_type":"Explore","steps":[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}}]}}]]}`, j.use)
	s := h.mustStart()
	h.settled(s)
	want := map[string]permission.Agent{"Agent": {}, "Bash": {Type: "Explore", Depth: 1, ParentToolUseID: "toolu_out"}}
	for _, r := range j.requests(permission.DoorHook) {
		if agent, ok := want[r.Tool]; !ok || r.Agent != agent {
			t.Errorf("%s: agent %+v, want %+v", r.Tool, r.Agent, agent)
		}
		delete(want, r.Tool)
	}
	if len(want) > 0 {
		t.Errorf("not judged: %v", want)
	}
}

func TestFactsOfAnAdmission(t *testing.T) {
	j := labelling()
	h := newHarness(t, `{"turns":[[{"text":"a"},{"result":{"cost":0.5}}],[{"text":"b"}]]}`, j.use)
	desk, other := engine.WithCaller(t.Context(), permission.Caller{Client: "desk", UID: 1}), engine.WithCaller(t.Context(), permission.Caller{Client: "other", UID: 1})
	s, err := h.Start(desk, engine.StartParams{Prompt: "go"})
	if err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if _, err := h.Inspect(other, s.ID(), false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Prompt(desk, engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	byAction := map[admission.Action]admission.Request{}
	for _, r := range j.admitted {
		byAction[r.Action] = r
	}
	start, list, reply := byAction[admission.Start], byAction[admission.List], byAction[admission.Reply]
	if start.Caller.Client != "desk" || start.Session.Cwd != "" || start.Target.State != "" || start.Load.USDToday != 0 {
		t.Errorf("start = %+v", start)
	}
	if list.Caller.Client != "other" || list.Target.OwnedByPeer || list.Load.USDToday != 0.5 || list.Load.CallerUSDToday != 0 {
		t.Errorf("list = %+v", list)
	}
	if !reply.Target.OwnedByPeer || reply.Target.State != "idle" || reply.Load.CallerUSDToday != 0.5 || reply.Session.CostUSD != 0.5 || reply.Session.Cwd != h.dir {
		t.Errorf("reply = %+v", reply)
	}
}

func TestAnAnswersInputIsAdmitted(t *testing.T) {
	j := asks(permission.AskTerms{})
	h := newHarness(t, oneBash, j.use)
	s := h.mustStart()
	if err := s.Answer(t.Context(), engine.Answer{RequestID: h.action(s).RequestID, Allow: true, UpdatedInput: changed("y")}); err != nil {
		t.Fatal(err)
	}
	last := j.admitted[len(j.admitted)-1]
	if last.Action != admission.Answer || string(last.Approval.UpdatedInput) != `{"command":"y"}` || last.Target.State != "waiting_permission" {
		t.Errorf("answer = %+v", last)
	}
	j = asks(permission.AskTerms{})
	h = newHarness(t, eliciting(nameForm), j.use)
	s = h.mustStart()
	if err := s.Answer(t.Context(), engine.Answer{RequestID: h.action(s).RequestID, Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"VALUE"}}`)}); err != nil {
		t.Fatal(err)
	}
	if last := j.admitted[len(j.admitted)-1]; last.Approval.UpdatedInput != nil || !last.Approval.InputChanged {
		t.Errorf("what was filled into a form is shown: %+v", last.Approval)
	}
}

// TestTaintStays with a copy of the session, and with one that is resumed.
func TestTaintStays(t *testing.T) {
	j, state := labelling(), t.TempDir()
	read := `{"tool":{"name":"Glob","input":{"pattern":"x"},"output":"o","output_shape":"text"}}`
	h := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}}]],"resume_turns":[[`+read+`]]}`, disk(state, j.use))
	s := h.mustStart()
	h.settled(s)
	fork, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "fork", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	h.settled(fork)
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := labelling()
	h2 := over(t, state, `{"turns":[[]],"resume_turns":[[`+read+`]]}`, h.dir, again.use)
	resumed, err := h2.Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	h2.settled(resumed)
	first := j.requests(permission.DoorHook)[0]
	for name, all := range map[string][]permission.Request{"fork": j.requests(permission.DoorHook)[1:], "resume": again.requests(permission.DoorHook)} {
		if len(all) != 1 || !slices.Contains(all[0].Session.Taint, "used:Bash") || all[0].Session.PromptSHA256 != first.Session.PromptSHA256 {
			t.Errorf("%s: %+v", name, all)
		}
	}
	if all := j.requests(permission.DoorHook); len(all) == 2 && all[1].Session.Parent != s.ID() {
		t.Errorf("the fork's parent is %q", all[1].Session.Parent)
	}
}
