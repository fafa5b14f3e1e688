package author

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// documents is a set that makes documents for tests.
func documents(t testing.TB) *policy.Set {
	t.Helper()
	set, err := policy.Load(context.Background(), policy.Options{Home: TestHome()})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// written makes sources of pairs: name, text.
func written(pairs ...string) (all []policy.Source) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, policy.Source{Name: pairs[i], Text: pairs[i+1]})
	}
	return all
}

const pushPolicy = `package gatehouse.permission

decisions contains {
	"effect": "deny", "rule": "team.push", "reason": "no pushes", "agent_message": "ask a person",
} if {
	input.tool.name == "Bash"
	some c in input.bash.commands
	c.git.subcommand == "push"
}

decisions contains {"effect": "ask", "rule": "team.tag", "reason": "a release"} if {
	some c in input.bash.commands
	c.git.subcommand == "tag"
}
`

const pushTest = `package gatehouse.team_test

import data.gatehouse.permission
import data.gatehouse.testing

said(command) := all if all := testing.said(permission.decisions) with input as testing.bash(command)

test_push if "deny:team.push" in said("git push")

test_wrong if {
	print("looking at", count(said("git status")))
	"deny:team.push" in said("git status")
}

todo_test_later if false

test_cases[command] if {
	some command, want in {"git push": true, "git status": true}
	want == ("deny:team.push" in said(command))
}
`

func TestSuite(t *testing.T) {
	s := Suite{Sources: written("push.rego", pushPolicy, "push_test.rego", pushTest), Documents: documents(t), Coverage: true}
	r, err := s.Test(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if r.OK || r.Passed != 1 || r.Failed != 2 || r.Skipped != 1 {
		t.Errorf("ok %t, passed %d, failed %d, skipped %d; want false, 1, 2, 1", r.OK, r.Passed, r.Failed, r.Skipped)
	}
	i := slices.IndexFunc(r.Tests, func(t Test) bool { return strings.HasSuffix(t.Name, "test_wrong") })
	wrong := r.Tests[i]
	if wrong.Status != Failed || wrong.File != "push_test.rego" || wrong.Line != 10 {
		t.Errorf("test_wrong: %+v", wrong)
	}
	if wrong.Failure == nil || wrong.Failure.Line != 12 || wrong.Failure.Expression != `"deny:team.push" in said("git status")` {
		t.Errorf("test_wrong failed at %+v, want line 12", wrong.Failure)
	}
	if !strings.Contains(wrong.Output, "looking at 0") {
		t.Errorf("print gave %q", wrong.Output)
	}
	cases := r.Tests[len(r.Tests)-1]
	if !slices.Equal(cases.Cases, []string{"git status"}) {
		t.Errorf("failed cases %q, want git status", cases.Cases)
	}
	if c := r.Coverage.Files; len(c) != 1 || c[0].File != "push.rego" || c[0].Missed() != "11" || r.Coverage.Percent < 70 {
		t.Errorf("coverage %+v, want push.rego with line 11 missed", r.Coverage)
	}
}
