package main

import (
	"testing"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

const world = `"hook": "session_admit", "config": {"projects": ["OPS"]}, "data": {"tickets": {"open": ["SHOP-7", "OPS-12"]}}`

func TestSessionAdmit(t *testing.T) {
	tests := []struct{ name, action, prompt, verdict, ticket string }{
		{"named", "start", "Fix OPS-12: rotate the logs", "pass", `"OPS-12"`},
		{"forked", "fork", "OPS-12", "pass", `"OPS-12"`},
		{"none", "start", "rotate the logs", "deny", ""},
		{"closed", "start", "Fix OPS-13", "deny", ""},
		{"part of another", "start", "Fix OPS-123 and XOPS-12", "deny", ""},
		{"another project", "start", "Fix SHOP-7", "deny", ""},
		{"goes on", "reply", "and now?", "pass", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := pdk.Test(t, `{`+world+`, "action": `+pdk.Quote(tt.action)+`, "parameters": {"prompt": `+pdk.Quote(tt.prompt)+`}}`, sessionAdmit)
			if call.Verdict != tt.verdict || call.Annotations["ticket"] != tt.ticket {
				t.Errorf("%s %q, ticket %s; want %s, %s", call.Verdict, call.Reason, call.Annotations["ticket"], tt.verdict, tt.ticket)
			}
		})
	}
}

func TestWithoutConfig(t *testing.T) {
	var fake pdk.Fake
	if call := fake.Call(`{"action": "start", "parameters": {"prompt": "OPS-12"}}`, sessionAdmit); call.Err == nil {
		t.Error("a session begins without projects in config")
	}
}
