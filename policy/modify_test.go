package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// whole judges as the engine does, a changed input included.
func whole(t *testing.T, s *Set, r permission.Request) permission.Decision {
	t.Helper()
	return permission.Chain{Deciders: []permission.Decider{s}, Default: permission.Ask}.Decide(t.Context(), r)
}

// env are rules about the member env of mcp__a__b.
func env(id, effect, more, when string) string {
	return head + fmt.Sprintf(`decisions contains {"effect": %q, "rule": %q, "reason": %q%s} if {
	input.tool.name == "mcp__a__b"
	%s
}
`, effect, id, id, more, when)
}

func setEnv(id, value, when string) string {
	return env(id, "modify", fmt.Sprintf(`, "ops": [{"op": "set", "path": "/env", "value": %q}]`, value), when)
}

func rules(texts ...string) string {
	return head + strings.ReplaceAll(strings.Join(texts, "\n"), head, "")
}

// What runs is the changed input, so its own terms hold for the question too.
func TestAskAboutAChangeHasTheTermsOfBoth(t *testing.T) {
	const before, after = "not input.tool.input.env", `input.tool.input.env == "prod"`
	org := env("org.deploy", "ask", `, "ask": {"approvers": ["human", "ops"], "quorum": 2, "scope": "session"}, "context": ["deploys"], "obligations": [{"kind": "redact_result"}]`, after)
	for name, row := range map[string]struct {
		ask, input string
		want       permission.Effect
		quorum     int
		approvers  []string
		rule       string
	}{
		"came so":          {env("user.ask", "ask", "", before), `{"env":"prod"}`, permission.Ask, 2, []string{"human", "ops"}, "org.deploy"},
		"changed to it":    {env("user.ask", "ask", `, "ask": {"approvers": ["client", "ops"], "scope": "session"}`, before), `{}`, permission.Ask, 2, []string{"ops"}, "user.ask"},
		"nobody satisfies": {env("user.ask", "ask", `, "ask": {"approvers": ["client"]}`, before), `{}`, permission.Deny, 0, nil, "engine.ask_terms"},
	} {
		t.Run(name, func(t *testing.T) {
			user := rules(setEnv("user.default", "prod", before), row.ask)
			s := load(t, Options{Profile: "none", Org: []string{userPolicy(t, org)}, Paths: []string{userPolicy(t, user)}})
			d := whole(t, s, request(workspace(t), "mcp__a__b", row.input))
			if d.Effect != row.want || d.Rule != row.rule || d.Ask.Quorum != row.quorum || !slices.Equal(d.Ask.Approvers, row.approvers) {
				t.Fatalf("%s by %s, terms %+v", d.Effect, d.Rule, d.Ask)
			}
			if d.Effect == permission.Deny {
				return
			}
			if len(d.Obligations) != 1 || !slices.Contains(d.Context, "deploys") || !slices.Contains(d.Rules, "ask:org.deploy") || !slices.Contains(d.Asking, "org:org.deploy") {
				t.Errorf("of the changed input is missing: %+v", d)
			}
			if row.input == `{}` && (string(d.UpdatedInput) != `{"env":"prod"}` || !slices.Contains(d.Asking, "user:user.ask") || d.Reason != "user.ask; org.deploy") {
				t.Errorf("runs %s, asked by %s: %s", d.UpdatedInput, d.Asking, d.Reason)
			}
		})
	}
}

// A change of what was changed already is never dropped.
func TestChangeThenAskWithAChange(t *testing.T) {
	user := rules(
		setEnv("user.one", "prod", "not input.tool.input.env"),
		env("org.dry", "modify", `, "ops": [{"op": "set", "path": "/dry", "value": true}]`, "input.tool.input.env == \"prod\"\n\tnot input.tool.input.dry"),
		env("org.ask", "ask", "", `input.tool.input.env == "prod"`))
	s := load(t, Options{Profile: "none", Paths: []string{userPolicy(t, user)}})
	if d := whole(t, s, request(workspace(t), "mcp__a__b", `{"env":"prod"}`)); d.Effect != permission.Ask || string(d.UpdatedInput) != `{"dry":true,"env":"prod"}` {
		t.Errorf("changed once: %s by %s, runs %s", d.Effect, d.Rule, d.UpdatedInput)
	}
	if d := whole(t, s, request(workspace(t), "mcp__a__b", `{}`)); d.Effect != permission.Deny || d.Rule != "engine.modify_loop" {
		t.Errorf("changed twice: %s by %s, runs %s", d.Effect, d.Rule, d.UpdatedInput)
	}
}

// Nobody's rule turns a change of the organisation into a question.
func TestWhoMayContradictAChange(t *testing.T) {
	const prod = `input.tool.input.env == "prod"`
	allow := env("user.all", "allow", "", "true")
	for name, row := range map[string]struct {
		org, user string
		want      permission.Effect
		rule      string
	}{
		"the user the organisation":   {setEnv("org.safe", "staging", prod), setEnv("zz.mine", "prod2", prod), permission.Deny, "engine.modify_conflict"},
		"the user, by the parent":     {env("org.safe", "modify", `, "ops": [{"op": "set", "path": "/env/x", "value": 1}]`, prod), setEnv("aa.mine", "prod2", prod), permission.Deny, "engine.modify_conflict"},
		"the organisation itself":     {rules(setEnv("org.a", "a", prod), setEnv("org.b", "b", prod)), "", permission.Deny, "engine.modify_conflict"},
		"the user the user":           {"", rules(setEnv("user.a", "a", prod), setEnv("user.b", "b", prod)), permission.Ask, "engine.modify_conflict"},
		"the user, beside a third":    {setEnv("org.safe", "a", prod), rules(setEnv("user.a", "a", prod), setEnv("user.b", "b", prod)), permission.Deny, "engine.modify_conflict"},
		"nobody: both want the same":  {setEnv("org.safe", "staging", prod), setEnv("zz.mine", "staging", prod), permission.Modify, "org.safe"},
		"nobody: it is another place": {setEnv("org.safe", "staging", prod), env("zz.mine", "modify", `, "ops": [{"op": "set", "path": "/envy", "value": 1}]`, prod), permission.Modify, "org.safe"},
	} {
		t.Run(name, func(t *testing.T) {
			o := Options{Profile: "none", Paths: []string{userPolicy(t, rules(allow, row.user))}}
			if row.org != "" {
				o.Org = []string{userPolicy(t, row.org)}
			}
			d := whole(t, load(t, o), request(workspace(t), "mcp__a__b", `{"env":"prod"}`))
			if d.Effect != row.want || d.Rule != row.rule {
				t.Errorf("%s by %s (%s), want %s by %s", d.Effect, d.Rule, d.Reason, row.want, row.rule)
			}
		})
	}
}
