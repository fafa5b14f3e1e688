package policy

import (
	"path/filepath"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestForms(t *testing.T) {
	root := workspace(t)
	const form = `{"mcp_server_name":"ext","message":"read ../../etc/passwd","mode":"form","requested_schema":{"type":"object","properties":{"file_path":{"type":"string"}}}}`
	const user = `package gatehouse.permission
decisions contains {"effect": "deny", "rule": "mine.no_forms", "reason": "no forms"} if {
	input.door == "elicitation"
	input.tool.input.mcp_server_name == "ext"
}`
	for _, row := range []struct {
		name, profile, input, user string
		allowed, disallowed        []string
		want                       permission.Effect
		rule                       string
	}{
		{"dev", "dev", form, "", nil, nil, permission.Ask, "engine.default"},
		{"readonly", "readonly", form, "", nil, nil, permission.Ask, "engine.default"},
		{"ci", "ci", form, "", nil, nil, permission.Deny, "engine.default"},
		{"locked", "locked", form, "", nil, nil, permission.Deny, "locked.tool"},
		{"allowed by the caller", "dev", form, "", []string{"Elicitation"}, nil, permission.Allow, "dev.allowed_tools"},
		{"disallowed by the caller", "dev", form, "", nil, []string{"Elicitation"}, permission.Deny, "caller.disallowed"},
		{"page", "dev", `{"mcp_server_name":"ext","message":"m","mode":"url","url":"https://example.com/"}`, "", nil, nil, permission.Ask, "engine.default"},
		{"page of the metadata service", "dev", `{"mcp_server_name":"ext","message":"m","mode":"url","url":"http://169.254.169.254/"}`, "", nil, nil, permission.Deny, "egress.metadata"},
		{"by a rule of the user's", "dev", form, user, nil, nil, permission.Deny, "mine.no_forms"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Options{Profile: row.profile, Home: filepath.Join(filepath.Dir(root), "home")}
			if row.user != "" {
				o.Paths = []string{userPolicy(t, row.user)}
			}
			r := request(root, "Elicitation", row.input)
			r.Door, r.Session.AllowedTools, r.Session.DisallowedTools = permission.DoorForm, row.allowed, row.disallowed
			if d := decide(t, load(t, o), r); d.Effect != row.want || d.Rule != row.rule {
				t.Errorf("decision = %s by %s, want %s by %s", d.Effect, d.Rule, row.want, row.rule)
			}
		})
	}
}
