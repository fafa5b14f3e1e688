package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// byLists allows and denies what the session's lists name, and asks otherwise.
type byLists struct{}

func (byLists) Revision() string { return "r1" }

func (byLists) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Ask, Rule: "test.ask", Reason: "asks", By: "policy"}
	switch {
	case slices.Contains(r.Session.DisallowedTools, r.Tool):
		d.Effect, d.Rule = permission.Deny, "test.listed"
	case slices.Contains(r.Session.AllowedTools, r.Tool):
		d.Effect, d.Rule = permission.Allow, "test.listed"
	}
	return d, nil
}

func rule(behavior, tool string) json.RawMessage {
	return json.RawMessage(`[{"type":"addRules","destination":"session","behavior":"` + behavior + `","rules":[{"toolName":"` + tool + `"}]}]`)
}

// interjects lets somebody else answer while an answer is judged.
type interjects struct{ answer func() }

func (i *interjects) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if answer := i.answer; r.Action == admission.Answer && answer != nil {
		i.answer = nil
		answer()
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.ok"}, nil
}

// TestAnswerThatLostChangesNothing: the rules of an allow that came too late
// are not in force.
func TestAnswerThatLostChangesNothing(t *testing.T) {
	judge := &interjects{}
	h := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"tool":{"name":"Write","input":{"file_path":"/x"},"output":"o"}}]]}`, func(o *engine.Options) {
		o.Deciders, o.Admission = []permission.Decider{byLists{}}, []admission.Decider{judge}
	})
	s := h.mustStart()
	a := h.action(s)
	judge.answer = func() {
		if err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Approver: "human"}); err != nil {
			t.Error(err)
		}
	}
	err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true, UpdatedPermissions: rule("allow", "Write")})
	if engine.CodeOf(err) != engine.PermissionRequestNotFound {
		t.Errorf("the second answer: %v", err)
	}
	h.until(s, "question about Write", func() bool { return len(s.Pending()) > 0 && s.Pending()[0].ToolName == "Write" })
	if err := s.Answer(t.Context(), engine.Answer{RequestID: s.Pending()[0].RequestID}); err != nil {
		t.Error(err)
	}
	h.settled(s)
	if strings.Contains(dump(s), "test.listed") {
		t.Errorf("the rule of the refused answer counts:\n%s", dump(s))
	}
}

// TestForkKeepsWhatAnswersForbade, and so does a token.
func TestForkKeepsWhatAnswersForbade(t *testing.T) {
	read := `{"tool":{"name":"Read","input":{"file_path":"/x"},"output":"o"}}`
	state := t.TempDir()
	h := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}}]],"resume_turns":[[`+read+`]]}`, disk(state, func(o *engine.Options) {
		o.Deciders = []permission.Decider{byLists{}}
	}))
	s := h.mustStart()
	if err := s.Answer(t.Context(), engine.Answer{RequestID: h.action(s).RequestID, Allow: true, UpdatedPermissions: rule("deny", "Read")}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	fork, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "fork", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	if h.settled(fork); !strings.Contains(dump(fork), `"rule":"test.listed"`) {
		t.Errorf("the fork does not keep the rule:\n%s", dump(fork))
	}
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = h.dir
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	resumed, err := over(t, state, resumeScenario, h.dir, nil).Resume(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if got := resumed.Info().Params.DisallowedTools; !slices.Contains(got, "Read") {
		t.Errorf("the resumed session forbids %q", got)
	}
}
