package plugins

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// oneGuest loads one guest under the name "g".
func oneGuest(t testing.TB, wasm []byte, change ...func(*Config)) *Host {
	t.Helper()
	c := guest(t, "g", wasm)
	for _, f := range change {
		f(&c)
	}
	h, _ := start(t, Options{Plugins: []Config{c}})
	return h
}

func try(t testing.TB, h *Host, hook Hook, doc string) (Outcome, error) {
	t.Helper()
	return h.Try(t.Context(), "g", hook, json.RawMessage(doc))
}

func TestVerdict(t *testing.T) {
	h := oneGuest(t, testwasm.DenyWith("pre_permission", "/tool_input/command"))
	for range 5 {
		o, err := try(t, h, PrePermission, `{"tool_input":{"command":"rm \u002drf"}}`)
		if err != nil || o.Verdict != permission.Deny || o.Reason != "rm -rf" {
			t.Fatalf("got %+v, %v", o, err)
		}
	}
	if o, err := try(t, h, SessionAdmit, `{}`); err == nil || !strings.Contains(err.Error(), "not called in session_admit") {
		t.Errorf("got %+v, %v", o, err)
	}
}
