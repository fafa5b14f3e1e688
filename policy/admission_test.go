package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func start(parameters string) admission.Request {
	r := admission.Request{Action: admission.Start, Cwd: "/w", CwdInsideRoots: true, Roots: []string{"/w"}}
	if err := json.Unmarshal([]byte(parameters), &r.Parameters); err != nil {
		panic(err)
	}
	return r
}

func configure(action string) admission.Request {
	raw, _ := json.Marshal(action)
	return admission.Request{Action: admission.Configure, Parameters: map[string]json.RawMessage{"action": raw}}
}

// TestConfigureInProfiles: no grant enables the bypass where nobody is asked, and
// it can be ended everywhere.
func TestConfigureInProfiles(t *testing.T) {
	for profile, admitted := range map[string]bool{"dev": true, "none": true, "ci": false, "locked": false, "readonly": false} {
		s := load(t, Options{Profile: profile, Grants: []string{"*", "bypassPermissions"}})
		for action, want := range map[string]bool{"enable_bypass": admitted, "disable_bypass": true, "get_config": true} {
			d, err := s.Admit(t.Context(), configure(action))
			if err != nil || (d.Effect == permission.Allow) != want {
				t.Errorf("%s in %s: %s by %s (%s), %v", action, profile, d.Effect, d.Rule, d.Reason, err)
			}
		}
	}
}

// TestOrganisationConfigure: its deny holds whatever is granted, and policies see
// what is enabled.
func TestOrganisationConfigure(t *testing.T) {
	text := "package gatehouse.admission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"org.bypass\", \"reason\": \"never\"} if input.parameters.action == \"enable_bypass\"\n\n" +
		"decisions contains {\"effect\": \"deny\", \"rule\": \"org.soon\", \"reason\": \"it ends soon\"} if {\n\tinput.bypass.enabled\n\tinput.bypass.until_ns < input.now_ns + 60000000000\n}"
	s := load(t, Options{Grants: []string{"bypassPermissions"}, Paths: []string{userPolicy(t, text)}})
	soon := start(`{"permissionMode":"bypassPermissions"}`)
	soon.Bypass = admission.Bypass{Enabled: true, Until: time.Now().Add(30 * time.Second)}
	late := soon
	late.Bypass.Until = time.Now().Add(time.Hour)
	for rule, r := range map[string]admission.Request{"org.bypass": configure("enable_bypass"), "org.soon": soon, "admission.known": late} {
		if d, err := s.Admit(t.Context(), r); err != nil || d.Rule != rule {
			t.Errorf("%s by %s (%s), %v, want %s", d.Effect, d.Rule, d.Reason, err, rule)
		}
	}
}

func TestAdmit(t *testing.T) {
	enabled := start(`{"permissionMode":"bypassPermissions"}`)
	enabled.Bypass = admission.Bypass{Enabled: true, Until: time.Now().Add(time.Minute)}
	outside := start(`{"prompt":"hi"}`)
	outside.CwdInsideRoots = false
	human := admission.Request{Action: admission.Answer, Approval: admission.Approval{Effect: "allow", Approver: "caller", Required: "human"}}
	updates := admission.Request{Action: admission.Answer, Approval: admission.Approval{Effect: "allow", PermissionUpdates: json.RawMessage(`[{"type":"setMode","mode":"bypassPermissions","destination":"session"}]`)}}
	broken := admission.Request{Action: admission.Answer, Approval: admission.Approval{Effect: "allow", PermissionUpdates: json.RawMessage(`{}`)}}
	for _, row := range []struct {
		name   string
		grants []string
		in     admission.Request
		rule   string
		text   string // in the reason
	}{
		{"plain", nil, start(`{"prompt":"hi","model":"m","maxTurns":3,"tools":["Read"]}`), "", ""},
		{"servers", nil, start(`{"prompt":"hi","mcpServers":{"a":{"command":"x"}}}`), "admission.parameter", `[grants] parameters = ["mcpServers"]`},
		{"servers granted", []string{"mcpServers"}, start(`{"mcpServers":{"a":{"command":"x"}}}`), "", ""},
		{"env free", nil, start(`{"env.CI":"1"}`), "", ""},
		{"env", nil, start(`{"env.STAGE":"1"}`), "admission.env", `[grants] parameters = ["env.STAGE"]`},
		{"env never", []string{"*"}, start(`{"env.ld_preload":"x"}`), "admission.env_never", "LD_PRELOAD"},
		{"unknown", nil, start(`{"whatever":1}`), "admission.parameter", "whatever"},
		{"outside", []string{"*"}, outside, "admission.cwd", "/w"},
		{"human", []string{"*"}, human, "admission.approver", "person"},
		{"updates", []string{"*"}, updates, "admission.updates", "session"},
		{"broken updates", nil, broken, "engine.input", "list"},
		{"number", nil, start(`{"maxTurns":1e9999999}`), "engine.input_number", "1e9999999"},
		{"unknown action", nil, admission.Request{Action: "reconfigure"}, "admission.configure", "no grant"},
		{"configure of nothing", []string{"bypassPermissions"}, admission.Request{Action: admission.Configure}, "admission.configure", "enable_bypass"},
		{"look", nil, configure("get_config"), "", ""},
		{"disable", nil, configure("disable_bypass"), "", ""},
		{"enable", nil, configure("enable_bypass"), "admission.configure_bypass", `[grants] parameters = ["bypassPermissions"]`},
		{"enable with every grant", []string{"*"}, configure("enable_bypass"), "admission.configure_bypass", `"*" does not grant it`},
		{"enable with its grant", []string{"bypassPermissions"}, configure("enable_bypass"), "", ""},
		{"bypass not enabled", []string{"*", "bypassPermissions"}, start(`{"permissionMode":"bypassPermissions"}`), "admission.mode", "not enabled"},
		{"bypass enabled", nil, enabled, "", ""},
		{"user's server", nil, admission.Request{Action: admission.McpServer, Server: admission.Server{Name: "n", Source: "user", Command: "srv"}}, "", ""},
		{"project's server", []string{"*"}, admission.Request{Action: admission.McpServer, Server: admission.Server{Name: "n", Source: "project", Command: "srv"}}, "admission.server", "[workspace] trusted"},
		{"no server", nil, admission.Request{Action: admission.McpServer}, "admission.server", "[workspace] trusted"},
		{"resume outside", []string{"*"}, admission.Request{Action: admission.Resume, Cwd: "/x"}, "admission.cwd", "/x"},
		{"sensitive list", nil, admission.Request{Action: admission.List, Sensitive: true}, "", ""},
		{"reply", nil, admission.Request{Action: admission.Reply}, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			d, err := load(t, Options{Grants: row.grants}).Admit(context.Background(), row.in)
			if err != nil {
				t.Fatal(err)
			}
			if (row.rule == "") != (d.Effect == permission.Allow) || row.rule != "" && d.Rule != row.rule {
				t.Errorf("got %s by %s (%s), want %q", d.Effect, d.Rule, d.Reason, row.rule)
			}
			if !strings.Contains(d.Reason, row.text) {
				t.Errorf("reason %q does not name %q", d.Reason, row.text)
			}
		})
	}
}

func TestUserAdmission(t *testing.T) {
	text := "package gatehouse.admission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"user.model\", \"reason\": \"r\"} if input.parameters.model == \"big\"\n\ndecisions contains {\"effect\": \"allow\", \"rule\": \"user.all\"}\n\ndecisions contains {\"effect\": \"ask\", \"rule\": \"user.ask\", \"reason\": \"r\"} if input.parameters.model == \"odd\""
	s := load(t, Options{Paths: []string{userPolicy(t, text)}})
	for in, rule := range map[string]string{`{"model":"big"}`: "user.model", `{"mcpServers":{}}`: "admission.parameter", `{"model":"odd"}`: "engine.decode"} {
		d, err := s.Admit(context.Background(), start(in))
		if err != nil || d.Effect != permission.Deny || d.Rule != rule {
			t.Errorf("%s: got %s by %s, want deny by %s", in, d.Effect, d.Rule, rule)
		}
	}
}
