package policy

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

var (
	ruleOfFile = regexp.MustCompile(`"effect": "deny", "rule": "([^"]+)"`)
	remedy     = regexp.MustCompile(`\[[a-z_]+\] [a-z_]+|profile = "|no grant admits it: .`)
)

// TestRefusalsSayWhatWouldDo holds one request for each deny rule of admission:
// the reason names the parameter, the rule, and the line of configuration that
// admits it or that none does and what to do instead.
func TestRefusalsSayWhatWouldDo(t *testing.T) {
	all := []string{"*"}
	of := func(parameters string, change func(*admission.Request)) admission.Request {
		r := start(parameters)
		if change != nil {
			change(&r)
		}
		return r
	}
	server := func(s admission.Server) admission.Request {
		return admission.Request{Action: admission.McpServer, Server: s, Trusted: true}
	}
	answer := func(a admission.Approval) admission.Request {
		return admission.Request{Action: admission.Answer, Approval: a}
	}
	outside := func(path string) func(*admission.Request) {
		return func(r *admission.Request) { r.AdditionalDirs = []admission.Dir{{Path: path}} }
	}
	rows := []struct {
		rule, profile string
		grants        []string
		in            admission.Request
		names         string
	}{
		{"admission.configure", "dev", all, admission.Request{Action: "reconfigure"}, "reconfigure"},
		{"admission.configure", "dev", []string{"bypassPermissions"}, admission.Request{Action: admission.Configure}, "configure"},
		{"admission.configure_bypass", "dev", all, configure("enable_bypass"), "enable_bypass"},
		{"admission.configure_bypass", "locked", []string{"bypassPermissions"}, configure("enable_bypass"), "profile locked"},
		{"admission.parameter", "dev", nil, start(`{"mcpServers":{}}`), "mcpServers"},
		{"admission.cwd", "dev", all, of(`{}`, func(r *admission.Request) { r.CwdInsideRoots = false }), "cwd"},
		{"admission.directories", "dev", nil, of(`{}`, outside("/elsewhere")), "/elsewhere"},
		{"admission.directories_never", "dev", all, of(`{}`, outside("/elsewhere/.ssh")), "/elsewhere/.ssh"},
		{"admission.mode", "dev", all, start(`{"permissionMode":"bypassPermissions"}`), "permissionMode"},
		{"admission.sensitive", "ci", nil, admission.Request{Action: admission.List, Sensitive: true}, "includeSensitive"},
		{"admission.budget", "ci", all, start(`{"prompt":"hi"}`), "maxBudgetUsd"},
		{"admission.limits", "dev", all, start(`{"maxTurns":-1}`), "maxTurns"},
		{"admission.executable", "dev", all, start(`{"pathToClaudeCodeExecutable":"/w/claude"}`), "pathToClaudeCodeExecutable"},
		{"admission.executable", "dev", all, start(`{"pathToClaudeCodeExecutable":"/opt/claude.CMD"}`), "pathToClaudeCodeExecutable"},
		{"admission.debug_file", "dev", all, start(`{"debugFile":"../x.log"}`), "debugFile"},
		{"admission.env_never", "dev", all, start(`{"env.node_options":"x"}`), "NODE_OPTIONS"},
		{"admission.env", "dev", nil, start(`{"env.STAGE":"x"}`), "env.STAGE"},
		{"admission.env_whole", "dev", all, start(`{"env":{}}`), "env"},
		{"admission.sources", "dev", nil, start(`{"settingSources":["project"]}`), "settingSources"},
		{"admission.sources", "dev", all, start(`{"settingSources":["other"]}`), "settingSources"},
		{"admission.agents", "dev", nil, start(`{"agents":{"a":{"hooks":{}}}}`), "agents"},
		{"admission.agents", "dev", all, start(`{"agents":{"a":1}}`), "agents"},
		{"admission.server", "locked", all, server(admission.Server{Name: "n", Source: "user", Command: "srv"}), "profile"},
		{"admission.server", "ci", nil, server(admission.Server{Name: "n", Source: "user", Command: "srv"}), "mcpServers"},
		{"admission.server", "dev", nil, server(admission.Server{Name: "n", Source: "elsewhere", Command: "srv"}), "servers"},
		{"admission.server_self", "dev", all, server(admission.Server{Name: "n", Source: "user", Command: "gatehouse"}), "MCP server"},
		{"admission.server_self", "dev", all, start(`{"mcpServers":{"n":{"command":"gatehouse","args":["serve"]}}}`), "mcpServers"},
		{"admission.server_env", "dev", all, server(admission.Server{Name: "n", Source: "project", Command: "srv", Env: []string{"PATH"}}), "PATH"},
		{"admission.approver", "dev", all, answer(admission.Approval{Effect: "allow", Approver: "caller", Required: "human"}), "person"},
		{"admission.effect", "dev", all, answer(admission.Approval{Effect: "maybe"}), "decision"},
		{"admission.updates", "dev", all, answer(admission.Approval{Effect: "allow", PermissionUpdates: json.RawMessage(`[{"type":"addRules","destination":"userSettings"}]`)}), "updatedPermissions"},
	}
	shown := map[string]bool{}
	for _, row := range rows {
		d, err := load(t, Options{Profile: row.profile, Grants: row.grants}).Admit(context.Background(), row.in)
		if err != nil || d.Effect != permission.Deny || d.Rule != row.rule {
			t.Errorf("%s: got %s by %s (%s)", row.rule, d.Effect, d.Rule, d.Reason)
			continue
		}
		shown[row.rule] = true
		for _, part := range []string{row.names, "rule " + row.rule} {
			if !strings.Contains(d.Reason, part) {
				t.Errorf("%s: reason %q does not name %q", row.rule, d.Reason, part)
			}
		}
		if !remedy.MatchString(d.Reason) {
			t.Errorf("%s: reason %q tells neither what grants it nor what to do instead", row.rule, d.Reason)
		}
	}
	for _, rule := range denyRules(t, "gatehouse.admission") {
		if !shown[rule] {
			t.Errorf("no request here meets rule %s", rule)
		}
	}
}

// denyRules lists the deny rules that the built-in files of one package hold.
func denyRules(t *testing.T, pkg string) []string {
	t.Helper()
	var all []string
	for _, profile := range profiles {
		sources, err := builtinSources(profile)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sources {
			if !strings.Contains(s.text, "\npackage "+pkg+"\n") && !strings.HasPrefix(s.text, "package "+pkg+"\n") {
				continue
			}
			for _, found := range ruleOfFile.FindAllStringSubmatch(s.text, -1) {
				all = append(all, found[1])
			}
		}
	}
	return all
}
