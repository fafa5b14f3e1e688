package script

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// Every failure of the API is a message of the CLI's own, then a "success" that is
// an error, and nothing of the script after it.
func TestAPIErrors(t *testing.T) {
	for _, tt := range []struct {
		step                            APIError
		status, typ, said, ended, isAPI any
		text                            string
	}{
		{APIError{Kind: "rate_limit"}, 429.0, nil, "rate_limit", "completed", nil, "API Error: Request rejected (429)"},
		{APIError{Kind: "rate_limit", Shape: "new"}, 429.0, "rate_limit_error", "rate_limit", "api_error", true, "API Error: Request rejected (429)"},
		{APIError{Kind: "rate_limit", Shape: "old"}, nil, nil, nil, nil, nil, `API Error: 429 {"type":"error"`},
		{APIError{Kind: "session_limit"}, 429.0, nil, "rate_limit", "completed", nil, "You've hit your session limit"},
		{APIError{Kind: "overloaded"}, 529.0, nil, "server_error", "completed", nil, "API Error: 529 Overloaded."},
		{APIError{Kind: "server_error", Shape: "new"}, 500.0, "api_error", "server_error", "api_error", true, "API Error: 500 Internal server error."},
		{APIError{Kind: "authentication"}, 401.0, nil, "authentication_failed", "completed", nil, "Invalid API key"},
		{APIError{Kind: "invalid_request"}, 400.0, nil, "unknown", "completed", nil, "API Error: 400 messages.0"},
		{APIError{Kind: "prompt_too_long"}, 400.0, nil, "invalid_request", "prompt_too_long", nil, "Prompt is too long · "},
		{APIError{Kind: "prompt_too_long", Shape: "new"}, 400.0, "invalid_request_error", "invalid_request", "prompt_too_long", true, "Prompt is too long · "},
		{APIError{Kind: "prompt_too_long", Shape: "old"}, nil, nil, nil, nil, nil, "Prompt is too long"},
		{APIError{Kind: "forbidden"}, 403.0, nil, "authentication_failed", "completed", nil, "Failed to authenticate. API Error: 403"},
		{APIError{Kind: "billing"}, 400.0, nil, "billing_error", "completed", nil, "Credit balance is too low"},
		{APIError{Kind: "request_too_large"}, 413.0, nil, "invalid_request", "image_error", nil, "Request too large (max 32MB)"},
		{APIError{Kind: "connection"}, nil, nil, "server_error", "completed", nil, "API Error: Unable to connect to API (ECONNRESET)"},
		{APIError{Kind: "refusal"}, nil, nil, "invalid_request", "completed", nil, "API Error: Claude Code is unable to respond"},
		{APIError{Kind: "max_output_tokens"}, nil, nil, "max_output_tokens", "completed", nil, "API Error: Claude's response exceeded"},
		{APIError{Kind: "connection", Text: "lost ${PROMPT}"}, nil, nil, "server_error", "completed", nil, "lost go"},
	} {
		t.Run(tt.step.Kind+" "+tt.step.Shape, func(t *testing.T) {
			h := start(t, Scenario{Turns: [][]Step{{{APIError: &tt.step}, {Text: "never"}}}})
			h.say("go")
			m := h.until("assistant")
			if at(m, "message", "model") != "<synthetic>" || m["error"] != tt.said || m["is_api_error_message"] != tt.isAPI {
				t.Errorf("message: %v", m)
			}
			r := h.until("result/success")
			if r["is_error"] != true || r["api_error_status"] != tt.status || r["api_error_type"] != tt.typ || r["terminal_reason"] != tt.ended {
				t.Errorf("result: %v", r)
			}
			for _, text := range []any{at(m, "message", "content", "0", "text"), r["result"]} {
				if s, _ := text.(string); !strings.HasPrefix(s, tt.text) {
					t.Errorf("text %q, want %q…", s, tt.text)
				}
			}
			if _, told := r["api_error_status"]; told != (tt.step.Shape != shapeOld) || r["total_cost_usd"] != 0.0 {
				t.Errorf("result: %v", r)
			}
			if code := h.end(); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
		})
	}
}

// A retry that waits is silent for its delay, and an interrupt ends that.
func TestRetryWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		status := 429
		retry := Step{APIRetry: &APIRetry{Attempt: 1, MaxRetries: 10, DelayMS: 60000.5, Status: &status, Error: "rate_limit", Wait: true}}
		h := start(t, Scenario{Turns: [][]Step{{retry, {Text: "recovered"}}, {retry}}})
		h.say("go")
		if f := h.until("system/api_retry"); f["retry_delay_ms"] != 60000.5 || f["error_status"] != 429.0 {
			t.Errorf("retry: %v", f)
		}
		began := time.Now()
		time.Sleep(59 * time.Second) // the host gives a frame up sooner
		h.until("assistant")
		if waited := time.Since(began); waited < time.Minute {
			t.Errorf("waited %s", waited)
		}
		h.until("result")
		h.say("again")
		h.until("system/api_retry")
		h.control("interrupt")
		if r := h.until("result"); r["terminal_reason"] != "aborted_streaming" {
			t.Errorf("result: %v", r)
		}
		h.end()
	})
}

// A rate limit of a subscription tells when it ends.
func TestRateLimitEvent(t *testing.T) {
	h := start(t, Scenario{Turns: [][]Step{{{RateLimit: &RateLimit{ResetsInS: 90}}, {RateLimit: &RateLimit{Status: "allowed", Type: "seven_day"}}}}})
	h.say("go")
	info := at(h.until("rate_limit_event"), "rate_limit_info")
	at90, _ := at(info, "resetsAt").(float64)
	if left := time.Until(time.Unix(int64(at90), 0)); at(info, "status") != "rejected" || left < 0 || left > 91*time.Second {
		t.Errorf("%v", info)
	}
	info = at(h.until("rate_limit_event"), "rate_limit_info")
	if fmt.Sprint(info) != "map[isUsingOverage:false rateLimitType:seven_day status:allowed]" {
		t.Errorf("%v", info)
	}
	h.end()
}

// A silent turn takes an interrupt and goes on saying nothing.
func TestSilentTurn(t *testing.T) {
	p, h := startProcess(t, Scenario{Turns: [][]Step{{{Silence: true}, {Text: "never"}}}})
	h.say("go")
	h.until("system/init")
	h.control("interrupt")
	h.until("control_response")
	h.close()
	const terminated = 143 // 128 + SIGTERM
	p.kill(terminated)
	if drained(h, "result") {
		t.Error("a result came")
	}
	if code := h.wait(); code != terminated {
		t.Errorf("exit code %d", code)
	}
}

func TestExitBeforeInit(t *testing.T) {
	h := start(t, Scenario{ExitBeforeInit: &Exit{Code: 7, Stderr: "out of memory"}})
	h.say("go")
	if f := h.next(); f != nil {
		t.Errorf("told %v", f)
	}
	if code := h.wait(); code != 7 || !strings.Contains(h.stderr.String(), "out of memory") {
		t.Errorf("exit code %d, stderr %s", code, h.stderr)
	}
}

func TestAPIErrorMisspelt(t *testing.T) {
	for _, tt := range []struct{ step, want string }{
		{`{"api_error": {"kind": "weather"}}`, `kind "weather" is unknown`},
		{`{"api_error": {"kind": "rate_limit", "shape": "odd"}}`, `shape "odd" is unknown`},
		{`{"agent": {"steps": [{"api_error": {"kind": "rate_limit"}}]}}`, "main thread only"},
	} {
		_, err := Decode([]byte(`{"turns": [[` + tt.step + `]]}`))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", tt.step, err)
		}
	}
}
