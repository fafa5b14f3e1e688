package policy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

const head = "package gatehouse.permission\n\n"

// TestTrapsAtRun holds a policy for each way to fail underway; each denies.
func TestTrapsAtRun(t *testing.T) {
	root := workspace(t)
	for _, row := range []struct{ name, text, rule string }{
		{"negation of what is missing", `decisions contains {"effect": "deny", "rule": "user.negation", "reason": "r"} if not startswith(lower(input.tool.input.nothing), "/w")`, "user.negation"},
		{"built-in error", `decisions contains {"effect": "deny", "rule": "user.error", "reason": "r"} if to_number(input.tool.name) > 3`, "engine.error"},
		{"conflict", "f(_) := 1\n\nf(x) := 2 if x != \"\"\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"user.conflict\", \"reason\": \"r\"} if f(input.tool.name) == 1", "engine.error"},
		{"missing reason", `decisions contains {"effect": lower("DENY"), "rule": "user.mute"}`, "engine.decode"},
		{"missing rule", `decisions contains object.union({"effect": "deny"}, {"reason": "r"})`, "engine.decode"},
		{"null effect", `decisions contains {"effect": null, "rule": "user.null", "reason": "r"}`, "engine.decode"},
		{"one object instead of a set of them", `decisions contains [{"effect": "deny", "rule": "user.list", "reason": "r"}]`, "engine.decode"},
		{"two values of one rule", "kind := 1 if input.tool.name != \"\"\n\nkind := 2 if input.tool.name != \"x\"\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"user.conflict\", \"reason\": \"r\"} if kind == 3", "engine.error"},
		{"division by zero", `decisions contains {"effect": "deny", "rule": "user.zero", "reason": "r"} if 1 / count(input.paths[0].flags) > 0`, "engine.error"},
		{"number of a text", `decisions contains {"effect": "deny", "rule": "user.number", "reason": "r"} if to_number("abc") > 3`, "engine.error"},
		{"pattern that is none", `decisions contains {"effect": "deny", "rule": "user.pattern", "reason": "r"} if regex.match(concat("", ["(", input.tool.name]), "x")`, "engine.error"},
		{"text that is no JSON", `decisions contains {"effect": "deny", "rule": "user.json", "reason": "r"} if json.unmarshal(input.tool.name).x`, "engine.error"},
		{"huge set of decisions", `decisions contains {"effect": "allow", "rule": sprintf("user.n%d", [i])} if some i in numbers.range(1, 2000)`, "engine.decode"},
		{"long agent message", `decisions contains {"effect": "deny", "rule": "user.long", "reason": "r", "agent_message": concat("", ["xxxxxxxxxx" | some _ in numbers.range(1, 2000)])}`, "engine.decode"},
		{"unknown field of ask", `decisions contains {"effect": "ask", "rule": "user.ask", "reason": "r", "ask": object.union({}, {"timeout": 3})}`, "engine.decode"},
		{"time-out of an ask that allows", `decisions contains {"effect": "ask", "rule": "user.ask", "reason": "r", "ask": {"on_timeout": lower("ALLOW")}}`, "engine.decode"},
		{"no approver at all", `decisions contains {"effect": "ask", "rule": "user.ask", "reason": "r", "ask": {"approvers": []}}`, "engine.decode"},
		{"approvers that have nobody in common", "decisions contains {\"effect\": \"ask\", \"rule\": \"user.a\", \"reason\": \"r\", \"ask\": {\"approvers\": [\"a\"]}}\n\ndecisions contains {\"effect\": \"ask\", \"rule\": \"user.b\", \"reason\": \"r\", \"ask\": {\"approvers\": [\"b\"]}}", "engine.ask_terms"},
		{"quorum beyond bounds", `decisions contains {"effect": "ask", "rule": "user.ask", "reason": "r", "ask": {"quorum": 6}}`, "engine.decode"},
		{"unknown obligation", `decisions contains {"effect": "allow", "rule": "user.must", "obligations": [{"kind": lower("MAIL")}]}`, "engine.decode"},
		{"cache for ever", `decisions contains {"effect": "allow", "rule": "user.cache", "cache": {"ttl_s": 301}}`, "engine.decode"},
		{"computed effect", `decisions contains {"effect": lower("ALOW"), "rule": "user.typo", "reason": "r"}`, "engine.decode"},
		{"computed field", `decisions contains object.union({"effect": "deny", "rule": "user.field", "reason": "r"}, {"reasn": "x"})`, "engine.decode"},
		{"wrong type", `decisions contains {"effect": "deny", "rule": "user.type", "reason": 7}`, "engine.decode"},
		{"no object", `decisions contains "deny"`, "engine.decode"},
		{"rule name", `decisions contains {"effect": "deny", "rule": lower("No blanks"), "reason": "r"}`, "engine.decode"},
		{"allow with a trap beside", "decisions contains {\"effect\": \"allow\", \"rule\": \"user.allow\"}\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"user.bad\", \"reason\": concat(\"\", [\"x\" | some _ in numbers.range(1, 600)])}", "engine.decode"},
		{"missing severity word", `decisions contains {"effect": "deny", "rule": "user.sev", "reason": "r", "severity": lower("FATAL")}`, "engine.decode"},
		{"modify without ops", `decisions contains {"effect": "modify", "rule": "user.mod", "reason": "r"}`, "engine.decode"},
		{"change of no place", `decisions contains {"effect": "modify", "rule": "user.mod", "reason": "r", "ops": [{"op": "set", "path": "/a/b", "value": 1}]}`, "engine.modify"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Paths: []string{userPolicy(t, head+row.text)}})
			d := decide(t, s, request(root, "Read", `{"file_path":"main.go"}`))
			if d.Effect != permission.Deny || d.Rule != row.rule {
				t.Errorf("got %s by %s (%s), want deny by %s", d.Effect, d.Rule, d.Reason, row.rule)
			}
		})
	}
}

// TestWatchdog holds evaluations that ignore their deadline.
func TestWatchdog(t *testing.T) {
	s := load(t, Options{Deadline: time.Millisecond})
	release := make(chan struct{})
	stubborn := func(context.Context) permission.Decision {
		<-release
		return permission.Decision{Effect: permission.Allow}
	}
	for range maxStuck {
		if d := s.guarded(context.Background(), stubborn); d.Rule != "engine.timeout" {
			t.Fatalf("got %s, want engine.timeout", d.Rule)
		}
	}
	if d := decide(t, s, request("/", "Read", `{}`)); d.Rule != "engine.stuck" || d.Effect != permission.Deny {
		t.Errorf("got %s by %s, want deny by engine.stuck", d.Effect, d.Rule)
	}
	close(release)
	for wait := time.Now(); s.guard.stuck.Load() != 0; time.Sleep(time.Millisecond) {
		if time.Since(wait) > generous {
			t.Fatalf("%d still count as stuck", s.guard.stuck.Load())
		}
	}
}

func TestPanicDenies(t *testing.T) {
	s := load(t, Options{})
	d := s.guarded(context.Background(), func(context.Context) permission.Decision { panic("x") })
	if d.Effect != permission.Deny || d.Rule != "engine.panic" {
		t.Errorf("got %s by %s, want deny by engine.panic", d.Effect, d.Rule)
	}
}

func TestCancelledDenies(t *testing.T) {
	s := load(t, Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	d, err := s.Decide(ctx, request(workspace(t), "Read", `{"file_path":"main.go"}`))
	if err != nil || d.Effect != permission.Deny {
		t.Errorf("got %s by %s, %v, want a deny", d.Effect, d.Rule, err)
	}
}

func TestInputLimits(t *testing.T) {
	s := load(t, Options{})
	deep := strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600)
	for _, row := range []struct{ name, input, rule string }{
		{"large", `{"a":"` + strings.Repeat("x", maxInputBytes) + `"}`, "engine.input_too_large"},
		{"long text", `{"a":"` + strings.Repeat("x", maxStringBytes+1) + `"}`, "engine.input_too_large"},
		{"deep", deep, "engine.input_too_large"},
		{"huge number", `{"a":1e9999999}`, "engine.input_number"},
		{"tiny number", `{"a":1e-9999999}`, "engine.input_number"},
		{"overflowing exponent", `{"a":1E99999999999999999999}`, "engine.input_number"},
		{"many digits", `{"a":` + strings.Repeat("9", maxDigits+1) + `}`, "engine.input_number"},
		{"twice", `{"file_path":"main.go","file_path":".env"}`, "engine.input"},
		{"no object", `[]`, "engine.input"},
		{"nothing", ``, "engine.input"},
		{"more", `{} {}`, "engine.input"},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := decide(t, s, request("/w", "Read", row.input))
			if d.Effect != permission.Deny || d.Rule != row.rule {
				t.Errorf("got %s by %s (%s), want deny by %s", d.Effect, d.Rule, d.Reason, row.rule)
			}
		})
	}
}

func TestLayers(t *testing.T) {
	root := workspace(t)
	for _, row := range []struct {
		name, text, tool, input string
		want                    permission.Effect
		rule                    string
	}{
		{"user allow counts", `decisions contains {"effect": "allow", "rule": "user.allow"}`, "Write", `{"file_path":"a"}`, permission.Allow, "user.allow"},
		{"user allow cannot loosen a deny", `decisions contains {"effect": "allow", "rule": "user.allow"}`, "Read", `{"file_path":".env"}`, permission.Deny, "paths.protected"},
		{"user allow cannot answer a danger", `decisions contains {"effect": "allow", "rule": "user.allow"}`, "Bash", `{"command":"git push"}`, permission.Ask, "git.push"},
		{"user deny tightens", `decisions contains {"effect": "deny", "rule": "user.deny", "reason": "r"}`, "Read", `{"file_path":"main.go"}`, permission.Deny, "user.deny"},
		{"halt wins", `decisions contains {"effect": "halt", "rule": "user.halt", "reason": "r"}`, "Read", `{"file_path":".env"}`, permission.Halt, "user.halt"},
		{"helpers of the profile are not there", "paths_plain := true\n\ndecisions contains {\"effect\": \"context\", \"rule\": \"user.ctx\", \"context\": [\"hi\"]} if paths_plain", "Read", `{"file_path":"link/notes.txt"}`, permission.Ask, "paths.read_outside"},
		{"data", "decisions contains {\"effect\": \"deny\", \"rule\": \"user.data\", \"reason\": \"r\"} if {\n\tinput.tool.name in data.cfg.tools\n\tdata.cfg.tables[0].n == 7\n}", "Read", `{"file_path":"main.go"}`, permission.Deny, "user.data"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Paths: []string{userPolicy(t, head+row.text)}, Data: map[string]any{"tools": []any{"Read"}, "tables": []map[string]any{{"n": int64(7)}}}})
			d := decide(t, s, request(root, row.tool, row.input))
			if d.Effect != row.want || d.Rule != row.rule {
				t.Errorf("got %s by %s %v, want %s by %s", d.Effect, d.Rule, d.Rules, row.want, row.rule)
			}
		})
	}
}

func TestModify(t *testing.T) {
	root := workspace(t)
	set := `decisions contains {"effect": "modify", "rule": "user.set", "reason": "r", "ops": [{"op": "set", "path": "/file_path", "value": "%s"}]} if input.tool.name == "Read"`
	for _, row := range []struct {
		name, text, input string
		want              permission.Effect
		rule, updated     string
	}{
		{"changed", strings.ReplaceAll(set, "%s", "main.go"), `{"file_path":"src/a.go","limit":1e2}`, permission.Modify, "user.set", `{"file_path":"main.go","limit":1e2}`},
		{"already so", strings.ReplaceAll(set, "%s", "main.go"), `{"file_path":"main.go"}`, permission.Allow, "reads.inside", ""},
		{"already so but not allowed", `decisions contains {"effect": "modify", "rule": "user.set", "reason": "r", "ops": [{"op": "remove", "path": "/x"}]}`, `{"file_path":"link/notes.txt"}`, permission.Ask, "paths.read_outside", ""},
		{"conflict", strings.ReplaceAll(set, "%s", "a") + "\n\n" + strings.ReplaceAll(strings.ReplaceAll(set, "%s", "b"), "user.set", "user.other"), `{"file_path":"src/a.go"}`, permission.Ask, "engine.modify_conflict", ""},
		{"ask about a protected change", strings.ReplaceAll(set, "%s", ".env"), `{"file_path":"link/notes.txt"}`, permission.Deny, "paths.protected", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Paths: []string{userPolicy(t, head+row.text)}})
			d := decide(t, s, request(root, "Read", row.input))
			if d.Effect != row.want || d.Rule != row.rule || string(d.UpdatedInput) != row.updated {
				t.Errorf("got %s by %s %s, want %s by %s %s", d.Effect, d.Rule, d.UpdatedInput, row.want, row.rule, row.updated)
			}
		})
	}
}

func TestComposedDecision(t *testing.T) {
	text := head + `decisions contains {"effect": "ask", "rule": "user.a", "reason": "first", "severity": "critical", "labels": {"team": "a"}, "ask": {"timeout_s": 30}}

decisions contains {"effect": "ask", "rule": "user.b", "reason": "second", "ask": {"timeout_s": 60, "approver": "human"}}

decisions contains {"effect": "context", "rule": "user.c", "context": ["mind the gap"]}`
	s := load(t, Options{Paths: []string{userPolicy(t, text)}})
	d := decide(t, s, request(workspace(t), "Read", `{"file_path":"main.go"}`))
	got, _ := json.Marshal(map[string]any{"rule": d.Rule, "reason": d.Reason, "ask": d.Ask, "rules": d.Rules, "context": d.Context, "labels": d.Labels, "layer": d.Layer})
	want := `{"ask":{"timeout_s":30,"approver":"human"},"context":["mind the gap"],"labels":{"team":"a"},"layer":"user","reason":"first; second","rule":"user.a","rules":["ask:user.a","ask:user.b","allow:reads.inside","context:user.c"]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRevision(t *testing.T) {
	root := workspace(t)
	policy := userPolicy(t, head+`decisions contains {"effect": "allow", "rule": "user.allow"}`)
	seen := map[string]string{}
	for name, o := range map[string]Options{
		"dev": {}, "readonly": {Profile: "readonly"}, "user": {Paths: []string{policy}},
		"data": {Paths: []string{policy}, Data: map[string]any{"a": 1}}, "grants": {Grants: []string{"*"}},
		"protected": {Protected: []string{root}}, "default": {DefaultEffect: "deny"},
	} {
		r := load(t, o).Revision()
		if seen[r] != "" {
			t.Errorf("%s and %s have revision %s", name, seen[r], r)
		}
		seen[r] = name
	}
	if first, second := load(t, Options{}).Revision(), load(t, Options{}).Revision(); first != second {
		t.Error("two loads of the same policies differ")
	}
}

func TestProtectedPlaces(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Protected: []string{filepath.Join(root, "policies")}})
	r := request(root, "Write", `{"file_path":"policies/x.rego"}`)
	r.Session.Mode = "acceptEdits"
	if d := decide(t, s, r); d.Rule != "paths.protected" {
		t.Errorf("got %s by %s, want deny by paths.protected", d.Effect, d.Rule)
	}
	if _, err := Load(context.Background(), Options{Protected: []string{"relative"}}); err == nil {
		t.Error("a relative protected path is accepted")
	}
	if err := os.Mkdir(filepath.Join(root, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(context.Background(), Options{Paths: []string{filepath.Join(root, "empty")}}); err == nil {
		t.Error("a folder without policies loads")
	}
}
