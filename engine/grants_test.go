package engine_test

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// calls is a turn with these calls, one after another: "Tool:command".
func calls(list ...string) string {
	var steps []string
	for _, c := range list {
		tool, command, _ := strings.Cut(c, ":")
		steps = append(steps, `{"tool":{"name":"`+tool+`","input":{"command":"`+command+`"},"output":"o","output_shape":"text"}}`)
	}
	return `{"turns":[[` + strings.Join(steps, ",") + `]]}`
}

func TestScopeOfAnApproval(t *testing.T) {
	cases := []struct {
		name  string
		terms permission.AskTerms
		calls []string
		asked int // questions put
	}{
		{"none", permission.AskTerms{}, []string{"Bash:x", "Bash:x"}, 2},
		{"once", permission.AskTerms{Scope: "once"}, []string{"Bash:x", "Bash:x"}, 2},
		{"exact", permission.AskTerms{Scope: "exact"}, []string{"Bash:x", "Bash:x", "Bash:y", "Bash:x"}, 2},
		{"rule", permission.AskTerms{Scope: "rule"}, []string{"Bash:x", "Bash:y", "Glob:x", "Glob:y"}, 2},
		{"session", permission.AskTerms{Scope: "session"}, []string{"Bash:x", "Bash:y", "Glob:x"}, 1},
		{"a question of the model has its own answer", permission.AskTerms{Scope: "session"}, []string{"AskUserQuestion:x", "AskUserQuestion:x"}, 2},
		{"another rule", permission.AskTerms{Scope: "session"}, []string{"Bash:x", "Bash:other", "Bash:x"}, 2},
		{"a second rule that asks", permission.AskTerms{Scope: "session"}, []string{"Bash:x", "Bash:both", "Bash:x"}, 2},
		{"other terms", permission.AskTerms{Scope: "session"}, []string{"Bash:x", "Bash:human", "Bash:x"}, 2},
		{"a deny", permission.AskTerms{Scope: "session"}, []string{"Bash:x", "Bash:never", "Bash:x"}, 1},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := &judge{revision: "r1", decide: func(r permission.Request) permission.Decision {
				d := permission.Decision{Effect: permission.Ask, Rule: "test.ask", Rules: []string{"ask:test.ask"}, Ask: c.terms}
				switch text := string(r.Input); {
				case strings.Contains(text, "other"):
					d.Rule, d.Rules = "test.other", []string{"ask:test.other"}
				case strings.Contains(text, "both"):
					d.Rules = append(d.Rules, "ask:test.other")
				case strings.Contains(text, "human"):
					d.Ask.Approver = "human"
				case strings.Contains(text, "never"):
					d.Effect, d.Ask = permission.Deny, permission.AskTerms{}
				}
				return d
			}}
			h := newHarness(t, calls(c.calls...), j.use)
			s := h.mustStart()
			var ids []string
			for {
				h.until(s, "question or end", func() bool { return len(s.Pending()) > 0 || !s.Info().State.Busy() })
				if len(s.Pending()) == 0 {
					break
				}
				ids = append(ids, s.Pending()[0].RequestID)
				if err := s.Answer(t.Context(), engine.Answer{RequestID: ids[len(ids)-1], Allow: true, Approver: "human"}); err != nil {
					t.Fatal(err)
				}
			}
			if len(ids) != c.asked {
				t.Errorf("%d questions, want %d; events:\n%s", len(ids), c.asked, dump(s))
			}
			denied := 0
			if strings.Contains(strings.Join(c.calls, " "), "never") {
				denied = 1
			}
			if granted := strings.Count(dump(s), `"source":"grant"`); granted != len(c.calls)-c.asked-denied {
				t.Errorf("%d grants used, events:\n%s", granted, dump(s))
			}
			if strings.Contains(dump(s), `"source":"grant"`) && !find(s, event.PermissionResult, `"requestId":"`+ids[0]+`","toolUseID":"toolu_script_`) {
				t.Errorf("a use of a grant does not name its approval:\n%s", dump(s))
			}
		})
	}
}

func TestWhatEndsAGrant(t *testing.T) {
	cases := map[string]func(*judge, *engine.Answer){
		"new policies":    func(j *judge, _ *engine.Answer) { j.revise("r2") },
		"a changed input": func(_ *judge, a *engine.Answer) { a.UpdatedInput = changed("z") },
	}
	for name, change := range cases {
		j := asks(permission.AskTerms{Scope: "session"})
		h := newHarness(t, calls("Bash:x", "Bash:x"), j.use)
		s := h.mustStart()
		a := engine.Answer{RequestID: h.action(s).RequestID, Allow: true}
		change(j, &a)
		if err := s.Answer(t.Context(), a); err != nil {
			t.Fatal(err)
		}
		h.until(s, name+": second question", func() bool { return len(s.Pending()) == 1 && s.Pending()[0].RequestID != a.RequestID })
	}
}
