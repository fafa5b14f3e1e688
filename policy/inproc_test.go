package policy

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestInproc(t *testing.T) {
	root := workspace(t)
	call := request(root, "mcp__own__search", `{"query":"x"}`)
	base := permission.InprocRequest{Call: call, Server: "own", Phase: permission.PhaseCall, Passed: permission.Decision{Effect: permission.Allow, Rule: "x.y"}}
	change := func(f func(*permission.InprocRequest)) permission.InprocRequest { r := base; f(&r); return r }
	result := change(func(r *permission.InprocRequest) {
		r.Phase, r.Duration = permission.PhaseResult, 1500*time.Millisecond
		r.Result = permission.InprocResult{Bytes: 9000, Blocks: []string{"text"}, JSONShape: "object"}
	})
	for _, row := range []struct {
		name, rules string
		r           permission.InprocRequest
		want        permission.Effect
		rule        string
	}{
		{"nobody allows", "", change(func(r *permission.InprocRequest) { r.Passed = permission.Decision{} }), permission.Deny, "engine.default"},
		{"allowed", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Passed = permission.Decision{} }), permission.Allow, "own.all"},
		{"by its server", `decisions contains {"effect": "deny", "rule": "own.no", "reason": "r"} if { input.tool.server == "own"; input.tool.kind == "sdk" }`, base, permission.Deny, "own.no"},
		{"large result", `decisions contains {"effect": "deny", "rule": "own.large", "reason": "r"} if { input.phase == "result"; input.result.bytes > 8000; input.duration_ms == 1500; "text" in input.result.blocks }`, result, permission.Deny, "own.large"},
		{"ask", say("ask", "own.who", ""), base, permission.Deny, "engine.decode"},
		{"modify", say("modify", "own.set", `, "ops": [{"op": "set", "path": "/query", "value": "y"}]`), base, permission.Deny, "engine.decode"},
		{"no phase", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Phase = "before" }), permission.Deny, "engine.input"},
		{"no input", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Call.Input = nil }), permission.Deny, "engine.input"},
		{"a tool of another server", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Server = "owner" }), permission.Deny, "engine.input"},
		{"a tool of a server that begins alike", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Server = "ow" }), permission.Deny, "engine.input"},
		{"no server", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Server = "" }), permission.Deny, "engine.input"},
		{"no MCP tool", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Call.Tool = "Bash" }), permission.Deny, "engine.input"},
		{"seen as of its kind", `decisions contains {"effect": "deny", "rule": "own.listed", "reason": "r"} if { "own" in input.session.inproc_servers }`, change(func(r *permission.InprocRequest) { r.Call.Session.InprocServers = []string{"own"} }), permission.Deny, "own.listed"},
		{"look-alike name", say("allow", "own.all", ""), change(func(r *permission.InprocRequest) { r.Call.Tool = "mcp__own__s\u0435arch" }), permission.Deny, "engine.tool_name"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Options{}
			if row.rules != "" {
				o.Paths = []string{userPolicy(t, "package gatehouse.inproc\n\n"+row.rules)}
			}
			if d := load(t, o).Inproc(context.Background(), row.r); d.Effect != row.want || d.Rule != row.rule {
				t.Errorf("got %s by %s (%s), want %s by %s", d.Effect, d.Rule, d.Reason, row.want, row.rule)
			}
		})
	}
}

// TestKindOfTool: a tool is of kind sdk only where no server but one in this process
// can be meant by its name.
func TestKindOfTool(t *testing.T) {
	for _, row := range []struct {
		tool, kind, server string
		inproc, others     []string
	}{
		{"Read", "builtin", "", []string{"own"}, nil},
		{"mcp__own__search", "mcp", "own", nil, nil},
		{"mcp__own__search", "sdk", "own", []string{"own"}, nil},
		{"mcp__own__search", "sdk", "own", []string{"a", "own"}, []string{"crm"}},
		{"mcp__own__search", "sdk", "own", []string{"own"}, []string{"own"}},
		{"mcp__own___search", "sdk", "own", []string{"own"}, nil},
		{"mcp__own__a__b", "sdk", "own", []string{"own"}, nil},
		{"mcp__own__a__b", "mcp", "own", []string{"own"}, []string{"own__a"}}, // of either: not ours
		{"mcp__owner__search", "mcp", "owner", []string{"own"}, nil},
		{"mcp__own", "sdk", "own", []string{"own"}, nil},
	} {
		r := permission.Request{Tool: row.tool, Session: permission.Session{InprocServers: row.inproc, McpServers: row.others}}
		if got := describeTool(r, nil); got.Kind != row.kind || got.Server != row.server {
			t.Errorf("%s of %v beside %v: got %s of %q, want %s of %q", row.tool, row.inproc, row.others, got.Kind, got.Server, row.kind, row.server)
		}
	}
}

// TestToolsOfThisProcess: they are asked as other MCP tools are, and are never
// undeclared, whatever else the session was given.
func TestToolsOfThisProcess(t *testing.T) {
	root := workspace(t)
	for profile, want := range map[string]string{"dev": "engine.default", "readonly": "engine.default", "ci": "engine.default", "locked": "locked.tool"} {
		s := load(t, Options{Profile: profile})
		r := request(root, "mcp__own__search", `{"query":"x"}`)
		r.Session.McpServers, r.Session.InprocServers, r.Session.MaxBudgetUSD = []string{"crm"}, []string{"own"}, 1
		if d := decide(t, s, r); d.Effect < permission.Ask || d.Rule != want {
			t.Errorf("%s: got %s by %s, want %s", profile, d.Effect, d.Rule, want)
		}
		r.Session.InprocServers = nil
		if d := decide(t, s, r); !slices.Contains(d.Rules, "deny:mcp.undeclared") {
			t.Errorf("%s, not given: got %s by %s", profile, d.Effect, d.Rule)
		}
	}
	s := load(t, Options{})
	r := request(root, "mcp__own__search", `{}`)
	r.Session.InprocServers, r.Session.AllowedTools = []string{"own"}, []string{"mcp__own__search"}
	if d := decide(t, s, r); d.Effect != permission.Allow || d.Rule != "dev.allowed_tools" {
		t.Errorf("allowed by the caller: got %s by %s", d.Effect, d.Rule)
	}
}

func TestMask(t *testing.T) {
	event := map[string]any{
		"labels": map[string]string{"profile": "dev"}, "decision_id": "d", "path": "gatehouse/permission/decisions",
		"input":  map[string]any{"tool": map[string]any{"name": "Bash", "input": map[string]any{"command": "x"}}},
		"result": map[string]any{"effect": "allow"}, "timestamp": time.Unix(0, 0),
	}
	all, err := json.Marshal(maskAll)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(all)
	for _, part := range []string{"/input", "/result", "/rule_labels", "/error", "/custom", "/requested_by"} {
		if !strings.Contains(whole, `"`+part+`"`) {
			t.Errorf("a mask that fails leaves %s", part)
		}
	}
	for _, row := range []struct{ name, rules, want, fail string }{
		{"pointer", `mask contains "/input/tool/input/command" if input.input.tool.name == "Bash"`, `[{"op":"remove","path":"/input/tool/input/command","value":null}]`, ""},
		{"other event", `mask contains "/input/tool" if input.labels.profile == "ci"`, `null`, ""},
		{"upsert", `mask contains {"op": "upsert", "path": "/result/reason", "value": input.path}`, `[{"op":"upsert","path":"/result/reason","value":"gatehouse/permission/decisions"}]`, ""},
		{"a label", `mask contains "/labels/profile"`, `[{"op":"remove","path":"/labels/profile","value":null}]`, ""},
		{"the caller", `mask contains "/requested_by"`, `[{"op":"remove","path":"/requested_by","value":null}]`, ""},
		{"what has to stay", `mask contains "/timestamp"`, whole, "want a path that begins with /input"},
		{"upsert without a value", `mask contains object.union({"op": "upsert"}, {"path": "/input/x"})`, whole, "needs a value"},
		{"unknown op", `mask contains {"op": lower("DROP"), "path": "/input/x"}`, whole, "drop"},
		{"no pointer", `mask contains 7`, whole, "no JSON pointer"},
		{"error", `mask contains "/input/x" if to_number(input.path) > 1`, whole, "to_number"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{OrgModules: map[string]string{"mask.rego": "package gatehouse.log\n\n" + row.rules}})
			ops, err := s.Mask(context.Background(), event)
			got, _ := json.Marshal(ops)
			if string(got) != row.want || (err == nil) != (row.fail == "") || err != nil && !strings.Contains(err.Error(), row.fail) {
				t.Errorf("got %s, %v, want %s, error with %q", got, err, row.want, row.fail)
			}
		})
	}
}

func TestMaskIsOfTheOrganisationAndTheUser(t *testing.T) {
	if ops, err := load(t, Options{}).Mask(context.Background(), map[string]any{}); ops != nil || err != nil {
		t.Errorf("without masks: %v, %v", ops, err)
	}
	mask := func(path string) string { return "package gatehouse.log\n\nmask contains \"" + path + "\"" }
	s := load(t, Options{OrgModules: map[string]string{"o.rego": mask("/input/a")}, Paths: []string{userPolicy(t, mask("/input/b"))}})
	if ops, err := s.Mask(context.Background(), map[string]any{}); err != nil || len(ops) != 2 {
		t.Errorf("both: %v, %v", ops, err)
	}
	for name, text := range map[string]string{
		"unknown field of the event": "package gatehouse.log\n\nmask contains \"/input\" if input.lables",
		"unknown field of a mask":    "package gatehouse.log\n\nmask contains {\"op\": \"remove\", \"pth\": \"/input\"}",
		"unknown op of a mask":       "package gatehouse.log\n\nmask contains {\"op\": \"drop\", \"path\": \"/input\"}",
		"no set":                     "package gatehouse.log\n\nmask := \"/input\"",
	} {
		if _, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, text)}}); err == nil {
			t.Errorf("%s loads", name)
		}
	}
}
