package policy

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// TestInprocInDocs: the example of docs/policy.md does what the page says.
func TestInprocInDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	const begins = "package gatehouse.inproc\n"
	_, block, found := strings.Cut(string(text), "```rego\n"+begins)
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/policy.md has no example of rules for tools in the server")
	}
	s, root := load(t, Options{Paths: []string{userPolicy(t, begins+block)}}), workspace(t)
	allowed, answered := permission.Decision{Effect: permission.Allow}, permission.Decision{Effect: permission.Ask}
	for _, row := range []struct {
		tool, phase string
		passed      permission.Decision
		approver    string
		bytes       int
		want        permission.Effect
		rule        string
	}{
		{"list", permission.PhaseCall, allowed, "", 0, permission.Allow, "inproc.permitted"},
		{"list", permission.PhaseResult, allowed, "", 65536, permission.Allow, "inproc.permitted"},
		{"list", permission.PhaseResult, allowed, "", 65537, permission.Deny, "tickets.size"},
		{"list", permission.PhaseCall, permission.Decision{}, "", 0, permission.Deny, "engine.default"},
		{"close", permission.PhaseCall, allowed, "", 0, permission.Deny, "tickets.close"},
		{"close", permission.PhaseCall, answered, "human", 0, permission.Allow, "inproc.permitted"},
		{"close", permission.PhaseResult, answered, "human", 10, permission.Allow, "inproc.permitted"},
	} {
		r := permission.InprocRequest{
			Call: request(root, "mcp__tickets__"+row.tool, `{}`), Server: "tickets", Phase: row.phase, Passed: row.passed, Approver: row.approver,
			Result: permission.InprocResult{Bytes: row.bytes},
		}
		if d := s.Inproc(context.Background(), r); d.Effect != row.want || d.Rule != row.rule {
			t.Errorf("%s, %s, %d bytes: got %s by %s (%s), want %s by %s", row.tool, row.phase, row.bytes, d.Effect, d.Rule, d.Reason, row.want, row.rule)
		}
	}
}
