package main

import (
	"testing"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

func TestPrePermission(t *testing.T) {
	tests := []struct{ name, tool, command, verdict string }{
		{"plain push", "Bash", "git push origin main", "pass"},
		{"force", "Bash", "git push --force origin main", "deny"},
		{"short", "Bash", "git push -f", "deny"},
		{"short among others", "Bash", "git push -uf origin main", "deny"},
		{"refspec", "Bash", "git push origin +main:main", "deny"},
		{"mirror", "Bash", "git push --mirror backup", "deny"},
		{"with lease", "Bash", "git push --force-with-lease", "ask"},
		{"lease, then force", "Bash", "git push --force-with-lease; git push -f", "deny"},
		{"options before", "Bash", "git -C repo push --force", "deny"},
		{"quoted", "Bash", `git push "--force"`, "deny"},
		{"second command", "Bash", "make && /usr/bin/git push -f", "deny"},
		{"another command's flag", "Bash", "git push; rm -f x", "pass"},
		{"a file", "Bash", "cat push --force", "pass"},
		{"another tool", "Write", "git push --force", "pass"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			document := `{"hook": "pre_permission", "tool_name": ` + pdk.Quote(tt.tool) + `, "tool_input": {"command": ` + pdk.Quote(tt.command) + `}}`
			if call := pdk.Test(t, document, prePermission); call.Verdict != tt.verdict {
				t.Errorf("%s: %s %q, want %s", tt.command, call.Verdict, call.Reason, tt.verdict)
			}
		})
	}
}
