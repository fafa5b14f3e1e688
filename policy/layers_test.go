package policy

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestLayersCompose(t *testing.T) {
	root := workspace(t)
	rule := func(effect, id string) string {
		return head + `decisions contains {"effect": "` + effect + `", "rule": "` + id + `", "reason": "because"}`
	}
	for _, row := range []struct {
		name, org, user, fallback string
		want                      permission.Effect
		rule, layer               string
	}{
		{"organisation allows", rule("allow", "org.all"), "", "", permission.Allow, "org.all", "org"},
		{"user allows", "", rule("allow", "user.all"), "", permission.Allow, "user.all", "user"},
		{"organisation denies, user allows", rule("deny", "org.no"), rule("allow", "user.all"), "", permission.Deny, "org.no", "org"},
		{"organisation asks, user allows", rule("ask", "org.who"), rule("allow", "user.all"), "", permission.Ask, "org.who", "org"},
		{"user denies, organisation allows", rule("allow", "org.all"), rule("deny", "user.no"), "", permission.Deny, "user.no", "user"},
		{"nobody allows", rule("context", "org.hint"), "", "deny", permission.Deny, "engine.default", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Options{DefaultEffect: row.fallback}
			if row.org != "" {
				o.OrgModules = map[string]string{"org.rego": strings.ReplaceAll(row.org, `"context", "rule": "org.hint", "reason": "because"`, `"context", "rule": "org.hint", "context": ["x"]`)}
			}
			if row.user != "" {
				o.Paths = []string{userPolicy(t, row.user)}
			}
			d := decide(t, load(t, o), request(root, "mcp__a__b", `{}`))
			if d.Effect != row.want || d.Rule != row.rule || d.Layer != row.layer {
				t.Errorf("got %s by %s of %q, want %s by %s of %q", d.Effect, d.Rule, d.Layer, row.want, row.rule, row.layer)
			}
		})
	}
}

// TestNobodyIsAskedAfterAnOrganisationsHalt: not even a broken layer changes it.
func TestNobodyIsAskedAfterAnOrganisationsHalt(t *testing.T) {
	s := load(t, Options{
		OrgModules: map[string]string{"halt.rego": head + `decisions contains {"effect": "halt", "rule": "org.stop", "reason": "stop"}`},
		Paths:      []string{userPolicy(t, head+`decisions contains {"effect": "allow", "rule": "user.bad"} if to_number(input.tool.name) > 1`)},
	})
	d := decide(t, s, request(workspace(t), "Read", `{"file_path":"main.go"}`))
	if d.Effect != permission.Halt || d.Rule != "org.stop" {
		t.Errorf("got %s by %s, want halt by org.stop", d.Effect, d.Rule)
	}
}

// TestLayersAreApart: no layer sees the rules or the data of another.
func TestLayersAreApart(t *testing.T) {
	user := head + `decisions contains {"effect": "allow", "rule": "user.data"} if data.cfg.who == "org"

decisions contains {"effect": "deny", "rule": "user.help", "reason": "r"} if data.gatehouse.lib.org.yes`
	_, err := Load(context.Background(), Options{OrgModules: map[string]string{"lib.rego": "package gatehouse.lib.org\n\nyes := true", "org.rego": head + say("ask", "org.x", "")}, Data: map[string]any{"who": "user"}, Paths: []string{userPolicy(t, user)}})
	if err == nil || !strings.Contains(err.Error(), "no such rule") {
		t.Errorf("a rule of another layer: %v", err)
	}
	user, _, _ = strings.Cut(user, "\n\ndecisions contains {\"effect\": \"deny\"")
	s := load(t, Options{
		OrgModules: map[string]string{
			"lib.rego": "package gatehouse.lib.org\n\nyes := true",
			"org.rego": head + `decisions contains {"effect": "ask", "rule": "org.data", "reason": "r"} if data.cfg.who == "org"`,
		},
		OrgData: map[string]any{"who": "org"}, Data: map[string]any{"who": "user"}, OrgRevision: "v7",
		Paths: []string{userPolicy(t, user)},
	})
	d := decide(t, s, request(workspace(t), "Read", `{"file_path":"main.go"}`))
	if d.Rule != "org.data" || slices.Contains(d.Rules, "allow:user.data") {
		t.Errorf("got %s %v", d.Rule, d.Rules)
	}
	if d.Revisions["org"] != "v7" || d.Revisions["builtin"] == "" || d.Revisions["user"] == "" || len(d.Revisions) != 3 || d.DecisionID == "" {
		t.Errorf("revisions %v, id %q", d.Revisions, d.DecisionID)
	}
}

func TestLayersAreDescribed(t *testing.T) {
	dir := userPolicy(t, head+"decisions contains {\"effect\": \"allow\", \"rule\": \"user.a\"}\n\ndecisions contains d if d := {\"effect\": lower(\"ALLOW\"), \"rule\": \"user.b\"}")
	if err := os.WriteFile(filepath.Join(dir, "user_test.rego"), []byte("package gatehouse.permission_test\n\ntest_x if true"), 0o600); err != nil {
		t.Fatal(err)
	}
	layers := load(t, Options{Paths: []string{dir}}).Layers()
	if len(layers) != 2 || layers[0].Name != "builtin" || len(layers[0].Rules) < 20 || len(layers[0].Files) < 5 {
		t.Fatalf("layers %+v", layers)
	}
	file := filepath.Join(dir, "user.rego")
	want := []RuleInfo{{"user.a", file, 3, "allow"}, {"user.b", file, 5, ""}}
	if user := layers[1]; user.Name != "user" || !slices.Equal(user.Files, []string{file}) || !slices.Equal(user.Rules, want) || user.Revision == "" {
		t.Errorf("user layer %+v", user)
	}
}

func TestEvaluate(t *testing.T) {
	root := workspace(t)
	dir := userPolicy(t, head+`decisions contains {"effect": "ask", "rule": "user.read", "reason": "who?", "severity": "low"} if input.tool.name == "Read"`)
	s := load(t, Options{Paths: []string{dir}})
	document, err := s.Document(request(root, "Read", `{"file_path":"main.go"}`))
	if err != nil {
		t.Fatal(err)
	}
	ev, err := s.Evaluate(context.Background(), EntryPermission, document)
	if err != nil {
		t.Fatal(err)
	}
	if ev.Decision.Effect != permission.Ask || len(ev.Layers) != 2 || ev.Layers[0].Verdicts[0].Rule != "reads.inside" {
		t.Fatalf("%+v", ev)
	}
	want := Verdict{Effect: "ask", Rule: "user.read", Reason: "who?", Severity: "low", Layer: "user", File: filepath.Join(dir, "user.rego"), Line: 3}
	if got := ev.Layers[1].Verdicts[0]; got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	var id struct {
		DecisionID string `json:"decision_id"`
	}
	if err := json.Unmarshal(document, &id); err != nil || id.DecisionID != ev.Decision.DecisionID || id.DecisionID == "" {
		t.Errorf("decision id %q, in the document %q (%v)", ev.Decision.DecisionID, id.DecisionID, err)
	}
}

func TestEvaluateReadsPartialDocuments(t *testing.T) {
	s := load(t, Options{})
	for _, row := range []struct{ name, entry, document, rule, fail string }{
		{"a tool's name", "permission", `{"tool":{"name":"TodoWrite"}}`, "tools.harmless", ""},
		{"an action", "admission", `{"action":"list"}`, "admission.known", ""},
		{"nothing", "inproc", `{}`, "engine.default", ""},
		{"a misspelt field", "permission", `{"tool":{"nam":"Read"}}`, "", `unknown field "tool.nam", the nearest is "name"`},
		{"a misspelt field in a list", "permission", `{"paths":[{},{"insid":true}]}`, "", `"paths[1].insid", the nearest is "inside"`},
		{"a wrong type", "permission", `{"tool":{"name":7}}`, "", "tool.name"},
		{"no object", "permission", `[]`, "", "JSON object"},
		{"no JSON", "permission", `{`, "", "no JSON"},
		{"a key twice", "permission", `{"tool":{},"tool":{}}`, "", "twice"},
		{"no entry point", "reduction", `{}`, "", "entry point"},
	} {
		t.Run(row.name, func(t *testing.T) {
			ev, err := s.Evaluate(context.Background(), Entrypoint(row.entry), json.RawMessage(row.document))
			switch {
			case row.fail == "" && (err != nil || ev.Decision.Rule != row.rule):
				t.Errorf("got %s, %v, want %s", ev.Decision.Rule, err, row.rule)
			case row.fail != "" && (err == nil || !strings.Contains(err.Error(), row.fail)):
				t.Errorf("got %v, want an error with %s", err, row.fail)
			}
		})
	}
}
