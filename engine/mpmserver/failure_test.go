package mpmserver

import (
	"slices"
	"strings"
	"testing"
)

func TestErrorTypes(t *testing.T) {
	for _, tt := range []struct {
		step, kind, text string
		retry            any // nil: absent
	}{
		{`{"api_error":{"kind":"rate_limit"}}`, "RateLimitError", "429", 60.0},
		{`{"api_retry":{"attempt":1,"max_retries":1,"retry_delay_ms":7000.5,"error_status":429,"error":"rate_limit"}},{"api_error":{"kind":"rate_limit","shape":"new"}}`, "RateLimitError", "429", 8.0},
		{`{"api_error":{"kind":"overloaded"}}`, "APIError", "529", nil},
		{`{"api_error":{"kind":"prompt_too_long"}}`, "ContextWindowError", "too long", nil},
		{`{"api_error":{"kind":"connection","shape":"old"}}`, "APIError", "API Error", nil},
		{`{"exit":{"code":1}}`, "SessionError", "middle of a turn", nil},
	} {
		t.Run(tt.step, func(t *testing.T) {
			r := serve(t, setup{scenario: `{"turns":[[{"text":"half"},` + tt.step + `]]}`})
			a, isError := r.use("mpm_session_start", `{"prompt":"go"}`)
			text, _ := a["error"].(string)
			if !isError || a["success"] != false || a["error_type"] != tt.kind || !strings.Contains(text, tt.text) || a["retry_after"] != tt.retry {
				t.Errorf("answer %v", a)
			}
			if a["output"] != "half" {
				t.Errorf("output %q has what the CLI made up", a["output"])
			}
			if s := r.status(a["session_id"].(string)); s["status"] != "error" || s["message_count"] != 1.0 {
				t.Errorf("status %v", s)
			}
		})
	}
}

// A rate limit mostly shows as a timeout: the CLI sits silent before it tries again.
func TestTimeoutInARateLimit(t *testing.T) {
	for name, tt := range map[string]struct {
		step, kind string
		retry      any
	}{
		"rate limit": {`{"api_retry":{"attempt":1,"max_retries":10,"retry_delay_ms":60123.4,"error_status":429,"error":"rate_limit","wait":true}}`, "RateLimitError", 61.0},
		"overloaded": {`{"api_retry":{"attempt":1,"max_retries":10,"retry_delay_ms":60123.4,"error_status":529,"error":"overloaded","wait":true}}`, "SessionError", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := serve(t, setup{scenario: `{"turns":[[{"text":"ready"}],[` + tt.step + `]]}`})
			id := r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
			a, isError := r.use("mpm_session_continue", `{"session_id":"`+id+`","prompt":"go","timeout":5}`)
			if !isError || a["error"] != "Session timed out after 5s" || a["error_type"] != tt.kind || a["retry_after"] != tt.retry {
				t.Errorf("answer %v", a)
			}
			if !slices.Contains(kinds(a), "system/api_retry") {
				t.Errorf("messages %v", kinds(a))
			}
		})
	}
}
