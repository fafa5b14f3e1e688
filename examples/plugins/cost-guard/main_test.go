package main

import (
	"testing"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

const call = `{"hook": "pre_permission", "tool_name": "Read", "config": {"limit_usd": 0.5}}`

func ended(kind, cost string) string {
	return `{"hook": "session_event", "event": {"type": "` + kind + `", "data": {"totalCostUsd": ` + cost + `}}}`
}

func TestCostGuard(t *testing.T) {
	fake := pdk.Fake{KV: map[string]string{}}
	steps := []struct {
		name, document, verdict string
		hook                    func() int32
	}{
		{"nothing spent", call, "pass", prePermission},
		{"a turn", ended("result", "0.2"), "pass", sessionEvent},
		{"below the limit", call, "pass", prePermission},
		{"output", `{"event": {"type": "output", "data": {"totalCostUsd": 9}}}`, "pass", sessionEvent},
		{"a turn that failed", ended("error", "0.300001"), "pass", sessionEvent},
		{"over the limit", call, "deny", prePermission},
		{"a reply", `{"hook": "session_admit", "session": {"id": "s"}, "action": "reply", "config": {"limit_usd": 0.5}}`, "deny", sessionAdmit},
		{"another limit", `{"hook": "session_admit", "session": {"id": "s"}, "action": "reply", "config": {"limit_usd": 2}}`, "pass", sessionAdmit},
		{"resumed, and over it", `{"hook": "session_admit", "session": {"id": "s", "cost_usd": 2.5}, "action": "resume", "config": {"limit_usd": 2}}`, "deny", sessionAdmit},
		{"a new session", `{"hook": "session_admit", "action": "start", "config": {"limit_usd": 0.5}}`, "pass", sessionAdmit},
	}
	for _, s := range steps {
		got := fake.Call(s.document, s.hook)
		if got.Err != nil || got.Verdict != s.verdict {
			t.Errorf("%s: %s %q %v, want %s", s.name, got.Verdict, got.Reason, got.Err, s.verdict)
		}
	}
	if fake.KV[spent] != "500001" {
		t.Errorf("spent %q", fake.KV[spent])
	}
}

// Whatever keeps it from knowing fails the call, so that on_error holds.
func TestFails(t *testing.T) {
	kept := map[string]string{}
	tests := []struct {
		name, document string
		kv             map[string]string
		hook           func() int32
	}{
		{"without kv", call, nil, prePermission},
		{"without a limit", `{"config": {}}`, kept, prePermission},
		{"a limit of none", `{"config": {"limit_usd": "0"}}`, kept, prePermission},
		{"a turn without its cost", `{"event": {"type": "result", "data": {"type": "withheld"}}}`, kept, sessionEvent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake := pdk.Fake{KV: tt.kv}
			if got := fake.Call(tt.document, tt.hook); got.Err == nil {
				t.Errorf("it counts: %s %q", got.Verdict, got.Reason)
			}
		})
	}
}
