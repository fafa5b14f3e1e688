package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// begun starts a turn that nobody waits for yet.
func (h harness) begun() *engine.Turn {
	h.t.Helper()
	turn, err := h.Begin(h.t.Context(), engine.StartParams{Prompt: "go", SessionInitTimeout: 2 * time.Minute})
	if err != nil {
		h.t.Fatal(err)
	}
	return turn
}

// over waits for the end of a turn.
func (h harness) over(turn *engine.Turn) engine.Result {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	r, err := turn.Wait(ctx)
	if err != nil {
		h.t.Fatalf("the turn never ended: %v\n%s", err, dump(turn.Session()))
	}
	return r
}

// next continues a session by a prompt.
func (h harness) next(s *engine.Session) *engine.Turn {
	h.t.Helper()
	turn, err := h.Continue(h.t.Context(), s.ID(), engine.ReplyParams{Prompt: "go on"})
	if err != nil {
		h.t.Fatal(err)
	}
	return turn
}

// Each kind of failure has its type, in every shape of the CLI, and the session goes
// on after it.
func TestFailuresOfTheAPI(t *testing.T) {
	steps := []struct {
		name, step string
		want       engine.ErrorType
		after      int
		stop       string
	}{
		{"retries", `{"api_retry":{"attempt":1,"retry_delay_ms":29000.5,"error_status":429,"error":"rate_limit"}},{"api_error":{"kind":"rate_limit"}}`, engine.RateLimitError, 30, "stop_sequence"},
		{"the turn after it", `{"api_error":{"kind":"rate_limit"}}`, engine.RateLimitError, 60, "stop_sequence"},
		{"2.1.329", `{"api_error":{"kind":"rate_limit","shape":"new"}}`, engine.RateLimitError, 60, "stop_sequence"},
		{"2.1.38", `{"api_error":{"kind":"rate_limit","shape":"old"}}`, engine.RateLimitError, 60, "stop_sequence"},
		{"subscription", `{"rate_limit":{"resets_in_s":172800}},{"api_error":{"kind":"session_limit"}}`, engine.RateLimitError, 86400, "stop_sequence"},
		{"subscription of 2.1.38", `{"api_error":{"kind":"session_limit","shape":"old"}}`, engine.RateLimitError, 60, "stop_sequence"},
		{"overload", `{"api_retry":{"attempt":1,"retry_delay_ms":600,"error_status":529,"error":"overloaded"}},{"api_error":{"kind":"overloaded"}}`, engine.APIError, 0, "stop_sequence"},
		{"overload of 2.1.38", `{"api_error":{"kind":"overloaded","shape":"old"}}`, engine.APIError, 0, "stop_sequence"},
		{"500", `{"api_error":{"kind":"server_error","shape":"new"}}`, engine.APIError, 0, "stop_sequence"},
		{"401", `{"api_error":{"kind":"authentication"}}`, engine.APIError, 0, "stop_sequence"},
		{"401 of 2.1.38", `{"api_error":{"kind":"authentication","shape":"old"}}`, engine.APIError, 0, "stop_sequence"},
		{"400", `{"api_error":{"kind":"invalid_request"}}`, engine.APIError, 0, "stop_sequence"},
		{"403 of 2.1.38", `{"api_error":{"kind":"forbidden","shape":"old"}}`, engine.APIError, 0, "stop_sequence"},
		{"no credit of 2.1.38", `{"api_error":{"kind":"billing","shape":"old"}}`, engine.APIError, 0, "stop_sequence"},
		{"413", `{"api_error":{"kind":"request_too_large"}}`, engine.APIError, 0, "stop_sequence"},
		{"connection", `{"api_error":{"kind":"connection"}}`, engine.APIError, 0, "stop_sequence"},
		{"connection of 2.1.38", `{"api_error":{"kind":"connection","shape":"old"}}`, engine.APIError, 0, "stop_sequence"},
		{"refusal", `{"api_error":{"kind":"refusal"}}`, engine.APIError, 0, "refusal"},
		{"output limit", `{"text":"cut off"},{"api_error":{"kind":"max_output_tokens"}}`, engine.APIError, 0, "stop_sequence"},
		{"too long", `{"api_error":{"kind":"prompt_too_long"}}`, engine.ContextWindowError, 0, "stop_sequence"},
		{"too long of 2.1.329", `{"api_error":{"kind":"prompt_too_long","shape":"new"}}`, engine.ContextWindowError, 0, "stop_sequence"},
		{"too long of 2.1.38", `{"api_error":{"kind":"prompt_too_long","shape":"old"}}`, engine.ContextWindowError, 0, "stop_sequence"},
	}
	turns := make([]string, len(steps))
	for i, s := range steps {
		turns[i] = "[" + s.step + "]"
	}
	h := newHarness(t, `{"turns":[`+strings.Join(turns, ",")+`,[{"text":"API Error: 429 is what a model may say"}]]}`, nil)
	turn := h.begun()
	s := turn.Session()
	for i, tt := range steps {
		r := h.over(turn)
		if !r.IsError || r.ErrorType != tt.want || r.RetryAfter != tt.after || r.ErrorSubtype != "" || r.Code != "" || r.StopReason == nil || *r.StopReason != tt.stop {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if i := s.Info(); i.State != engine.Failed || i.LastOutput != map[bool]string{true: "cut off"}[tt.name == "output limit"] {
			t.Errorf("%s: %s, last output %q", tt.name, i.State, i.LastOutput)
		}
		if n := s.Info().Prompts; n != i+1 {
			t.Errorf("%s: %d turns have ended, want %d", tt.name, n, i+1)
		}
		turn = h.next(s)
	}
	if r := h.over(turn); r.IsError || r.ErrorType != "" || r.RetryAfter != 0 {
		t.Errorf("a turn that ended well: %+v", r)
	}
}

// Turns that the CLI ends by its limits, or that end with it.
func TestOtherFailures(t *testing.T) {
	for _, tt := range []struct {
		name, scenario, subtype string
		code                    engine.Code
	}{
		{"max turns", `{"turns":[[{"result":{"subtype":"error_max_turns","terminal_reason":"max_turns","errors":["Reached maximum number of turns (2)"]}}]]}`, "error_max_turns", ""},
		{"words of a model in a turn that failed", `{"turns":[[{"text":"API Error: 429"},{"result":{"subtype":"error_during_execution","errors":["[ede_diagnostic] API Error: 429"]}}]]}`, "error_during_execution", ""},
		{"a process that ends in the turn", `{"turns":[[{"text":"x"},{"exit":{"code":3,"stderr":"API Error: 429"}}]]}`, "", engine.Internal},
		{"a process that ends before it tells of the session", `{"exit_before_init":{"code":7,"stderr":"API Error: 429"}}`, "", engine.Internal},
		{"a process that ends at once", `{"exit_at_start":{"code":7,"stderr":"Prompt is too long"}}`, "", engine.Internal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, tt.scenario, nil)
			turn := h.begun()
			r := h.over(turn)
			if !r.IsError || r.ErrorType != engine.SessionError || r.RetryAfter != 0 || r.ErrorSubtype != tt.subtype || r.Code != tt.code {
				t.Errorf("%+v", r)
			}
			if string(r.PermissionDenials) != "[]" || r.Result == "" {
				t.Errorf("denials %s, result %q", r.PermissionDenials, r.Result)
			}
		})
	}
}

// A CLI that waits for its rate limit to pass is silent for a minute and more: whose
// call ran out of time meanwhile is told of the limit.
func TestTimeoutWhileTheCLIWaits(t *testing.T) {
	const retry = `{"api_retry":{"attempt":1,"max_retries":10,"retry_delay_ms":61000.25,"error_status":%d,"error":"x","wait":true}}`
	for _, tt := range []struct {
		name, steps string
		why         engine.Code
		want        engine.ErrorType
		after       int
	}{
		{"for a rate limit", fmt.Sprintf(retry, 429), engine.Timeout, engine.RateLimitError, 62},
		{"for an overload", fmt.Sprintf(retry, 529), engine.Timeout, engine.SessionError, 0},
		{"for a rate limit, and is cancelled", fmt.Sprintf(retry, 429), engine.CancelledCode, engine.SessionError, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t, `{"turns":[[`+tt.steps+`]]}`, nil)
			turn := h.begun()
			h.until(turn.Session(), "retry", func() bool { return find(turn.Session(), event.Progress, `"type":"retry"`) })
			turn.Abort(engine.Errorf(tt.why, "enough"))
			r := h.over(turn)
			if r.Code != tt.why || r.ErrorType != tt.want || r.RetryAfter != tt.after || !strings.Contains(r.Result, "enough") {
				t.Errorf("%+v", r)
			}
			if !find(turn.Session(), event.Error, `"errorType":"`+string(tt.want)+`"`) {
				t.Errorf("events:\n%s", dump(turn.Session()))
			}
		})
	}
}

// plants covers one word, and knows no others.
type plants string

func (p plants) Redact(_ context.Context, e event.Payload) (json.RawMessage, []event.Redaction, error) {
	return json.RawMessage(strings.ReplaceAll(string(e.Data), string(p), "[REDACTED:planted]")), nil, nil
}

// What the model said last is told redacted, without words of sub-agents and of the
// CLI, and outlives neither the next turn nor a restart.
func TestLastOutput(t *testing.T) {
	m := newMemoryStore()
	const scenario = `{"turns":[
		[{"text":"one hush"},{"agent":{"steps":[{"text":"of a sub-agent"}]}},{"tool":{"name":"Read","input":{"file_path":"x"},"output":"of a tool"}},{"text":"two"}],
		[{"text":"so far"},{"api_error":{"kind":"overloaded","text":"API Error: 529 hush"}}]]}`
	redact := func(o *engine.Options) {
		o.Redactors = []event.Redactor{plants("hush")}
		o.Deciders = []permission.Decider{rules{"Read": permission.Allow, "Agent": permission.Allow}}
	}
	h := newHarness(t, scenario, storing(m, redact))
	turn := h.begun()
	s := turn.Session()
	if h.over(turn); s.Info().LastOutput != "one [REDACTED:planted]\ntwo" {
		t.Errorf("last output %q", s.Info().LastOutput)
	}
	if !find(s, event.ToolResult, "of a sub-agent") {
		t.Errorf("no sub-agent ran:\n%s", dump(s))
	}
	if h.over(h.next(s)); s.Info().LastOutput != "so far" {
		t.Errorf("last output %q", s.Info().LastOutput)
	}
	h.recorded(s, m)
	m.crash()
	h.mustClose()
	kept := nextServer(t, h, m, scenario, redact).mustFind(s.ID()).Info()
	if kept.LastOutput != "so far" || kept.Prompts != 2 || kept.Result.ErrorType != engine.APIError {
		t.Errorf("kept: %d turns, last output %q, result %+v", kept.Prompts, kept.LastOutput, kept.Result)
	}
}
