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
		{"a line that goes on", "Bash", "git push \\\n  --force origin main", "deny"},
		{"a name in two parts", "Bash", `git pu''sh --fo"rce"`, "deny"},
		{"quoted for C", "Bash", `git push $'-f'`, "deny"},
		{"redirected", "Bash", "git push>log -f", "deny"},
		{"other spaces", "Bash", "git${IFS}push${IFS}-f", "deny"},
		{"short for mirror", "Bash", "git push --mir backup", "deny"},
		{"its own program", "Bash", "/usr/lib/git-core/git-push -f", "deny"},
		{"a variable", "Bash", "git push $HOW", "ask"},
		{"a variable, then force", "Bash", "git push $WHERE -f", "deny"},
		{"braces", "Bash", "git push {--force,origin}", "ask"},
		{"a lease with a variable", "Bash", "git push $WHERE --force-with-lease", "ask"},
		{"a separator that is quoted", "Bash", `git push -o "a;b" --force`, "deny"},
		{"one behind a backslash", "Bash", `git push -o a\;b --force`, "deny"},
		{"for another shell", "Bash", `sh -c 'cd x; git push -f'`, "deny"},
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
