package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

func compiledReads(t *testing.T, body string) inputReads {
	t.Helper()
	c := ast.NewCompiler().WithDefaultRegoVersion(ast.RegoV2)
	m, err := ast.ParseModuleWithOpts("x.rego", "package x\n"+body, ast.ParserOptions{RegoVersion: ast.RegoV2})
	if err != nil {
		t.Fatal(err)
	}
	if c.Compile(map[string]*ast.Module{"x.rego": m}); c.Failed() {
		t.Fatal(c.Errors)
	}
	return readsOf(c)
}

// TestMemoKey: what any rule looks at tells calls apart, and nothing else does.
func TestMemoKey(t *testing.T) {
	base := permission.Request{Tool: "Bash", Input: []byte(`{"command":"id"}`), SessionID: "s", Session: permission.Session{Cwd: "/w", Turn: 1}}
	change := func(f func(*permission.Request)) permission.Request { r := base; f(&r); return r }
	turn := change(func(r *permission.Request) { r.Session.Turn = 2 })
	for _, c := range []struct {
		name, rules string
		other       permission.Request
		hit         bool
	}{
		{"same call", `a if input.tool.name == "x"`, base, true},
		{"other input", ``, change(func(r *permission.Request) { r.Input = []byte(`{}`) }), false},
		{"other session", ``, change(func(r *permission.Request) { r.SessionID = "t" }), false},
		{"other mode", ``, change(func(r *permission.Request) { r.Session.Mode = "plan" }), false},
		{"no hooks", ``, change(func(r *permission.Request) { r.Session.NoHooks = true }), false},
		{"no tickets", ``, change(func(r *permission.Request) { r.Session.NoTickets = true }), false},
		{"other use of the tool", ``, change(func(r *permission.Request) { r.ToolUseID = "u" }), true},
		{"a turn nobody looks at", `a if input.session.cwd == "/w"`, turn, true},
		{"a turn", `a if input.session.turn > 1`, turn, false},
		{"a turn through the session", `a if { s := input.session; s.turn > 1 }`, turn, false},
		{"a turn through the input", `a if { f(input) } f(x) if x.session.turn > 1`, base, false},
		{"money", `a if input.budget.usd > 1`, change(func(r *permission.Request) { r.Session.CostUSD = 2 }), false},
		{"denials", `a if input.history.denies > 1`, change(func(r *permission.Request) { r.Session.Denies = 2 }), false},
		{"the agent", `a if input.agent.id != ""`, change(func(r *permission.Request) { r.AgentID = "a" }), false},
		{"the clock", `a if input.now_ns > 1`, base, false},
		{"the last calls", `a if count(input.history.last) > 1`, base, false},
		{"a signal", `a if input.signals.load.ok`, base, false},
		{"a plugin", `a if input.plugins.scan.ok`, base, false},
		{"plugins", `a if count(input.plugins) > 0`, base, false},
		{"a server more", ``, change(func(r *permission.Request) { r.Session.McpServers = []string{"x"} }), false},
		{"no servers known", ``, change(func(r *permission.Request) { r.Session.McpServers = []string{} }), false},
		{"a field chosen at run time", `a if input[input.door]`, base, false},
		{"a field behind a choice", `a if input.tool.input[input.now_ns]`, base, false},
	} {
		m := newDecisionMemo([]inputReads{compiledReads(t, c.rules)})
		m.put(&base, permission.Decision{Effect: permission.Allow, Rule: "r"}, time.Hour, "")
		if e := m.get(&c.other); e.holds != c.hit || c.hit && e.decision.Rule != "r" {
			t.Errorf("%s: hit %v, want %v", c.name, e.holds, c.hit)
		}
	}
}

func TestMemoForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newDecisionMemo(nil)
		r := permission.Request{Tool: "Bash"}
		m.put(&r, permission.Decision{}, time.Second, "")
		time.Sleep(999 * time.Millisecond)
		if !m.get(&r).holds {
			t.Error("forgotten too early")
		}
		time.Sleep(2 * time.Millisecond)
		if m.get(&r).holds {
			t.Error("remembered for too long")
		}
		for i := range 3 * memoBound {
			m.put(&permission.Request{Tool: fmt.Sprint(i)}, permission.Decision{}, time.Hour, "")
		}
		if len(m.entries) > memoBound {
			t.Errorf("%d entries, bound %d", len(m.entries), memoBound)
		}
	})
}

// TestMemoLooksAtFilesAgain: a remembered allow does not outlive what it rested on.
func TestMemoLooksAtFilesAgain(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Profile: "none", DefaultEffect: "deny", Paths: []string{userPolicy(t, `package gatehouse.permission

decisions contains {"effect": "allow", "rule": "t.cat", "cache": {"ttl_s": 300}} if {
	every p in input.paths {
		p.inside
	}
}`)}})
	name := filepath.Join(root, "new.txt")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r := request(root, "Bash", `{"command":"cat new.txt"}`)
	first, second := decide(t, s, r), decide(t, s, r)
	if first.Effect != permission.Allow || second.Effect != permission.Allow || !s.recall(&r).holds {
		t.Fatalf("%s, %s, remembered %v", first.Rule, second.Rule, s.recall(&r).holds)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "..", "outside", "notes.txt"), name); err != nil {
		t.Fatal(err)
	}
	if d := decide(t, s, r); d.Effect != permission.Deny {
		t.Errorf("%s by %s, although the file leads elsewhere now", d.Effect, d.Rule)
	}
}
