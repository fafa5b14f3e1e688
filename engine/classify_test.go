package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestErrorTypes(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    evidence
		want ErrorType
	}{
		{"nothing known", evidence{}, SessionError},
		{"429", evidence{status: 429, said: "rate_limit", text: "API Error: Request rejected (429) · slow down"}, RateLimitError},
		{"429 by status alone", evidence{status: 429}, RateLimitError},
		{"by api_error_type", evidence{kind: "rate_limit_error"}, RateLimitError},
		{"by the message's error", evidence{said: "rate_limit", text: "You've hit your session limit · resets 12:57am (UTC)"}, RateLimitError},
		{"429 of old CLIs", evidence{text: `API Error: 429 {"type":"error","error":{"type":"rate_limit_error"}}`}, RateLimitError},
		{"429 of old CLIs, in words", evidence{text: "API Error: Rate limit reached"}, RateLimitError},
		{"limit of a subscription, old", evidence{text: "Claude AI usage limit reached|1795222669"}, RateLimitError},
		{"limit of five hours, old", evidence{text: "5-hour limit reached ∙ resets 3pm"}, RateLimitError},
		{"limit, old", evidence{text: "You've hit your limit · resets 12:57am"}, RateLimitError},
		{"500 that names 429", evidence{status: 500, said: "server_error", text: "API Error: 429 elsewhere"}, APIError},
		{"529", evidence{status: 529, kind: "overloaded_error", said: "server_error", text: "API Error: 529 Overloaded."}, APIError},
		{"529 of old CLIs", evidence{text: `API Error: 529 {"type":"error"}`}, APIError},
		{"401", evidence{status: 401, said: "authentication_failed", text: "Invalid API key · Fix external API key"}, APIError},
		{"401 of old CLIs", evidence{text: "Invalid API key · Fix external API key"}, APIError},
		{"403 of old CLIs", evidence{text: "Failed to authenticate. API Error: 403 nope"}, APIError},
		{"400", evidence{status: 400, said: "unknown", text: "API Error: 400 messages.0: something is wrong"}, APIError},
		{"no credit", evidence{status: 400, said: "billing_error", text: "Credit balance is too low"}, APIError},
		{"413", evidence{status: 413, said: "invalid_request", ended: "image_error", text: "Request too large (max 32MB). Try with a smaller file."}, APIError},
		{"connection lost", evidence{said: "server_error", text: "API Error: Unable to connect to API (ECONNRESET)"}, APIError},
		{"connection lost, 2.1.329", evidence{kind: "connection_failed", ended: "api_error"}, APIError},
		{"by terminal_reason", evidence{ended: "api_error"}, APIError},
		{"prompt too long", evidence{status: 400, said: "invalid_request", ended: "prompt_too_long", text: "Prompt is too long · the request is ~250000 tokens"}, ContextWindowError},
		{"prompt too long by its reason", evidence{ended: "prompt_too_long"}, ContextWindowError},
		{"prompt too long of old CLIs", evidence{text: "Prompt is too long"}, ContextWindowError},
		{"context limit", evidence{status: 400, text: "API Error: 400 input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"}, ContextWindowError},
		{"context window", evidence{said: "unknown", text: "API Error: The model has reached its context window limit."}, ContextWindowError},
		{"500 that names the context window", evidence{status: 500, text: "API Error: 500 context window service is down"}, APIError},
		{"429 that names the prompt", evidence{status: 429, text: "API Error: 429 prompt is too long for this minute"}, RateLimitError},
		{"max turns", evidence{ended: "max_turns", text: "Reached maximum number of turns (2)"}, SessionError},
		{"interrupted", evidence{ended: "aborted_streaming", text: "[ede_diagnostic] result_type=user"}, SessionError},
		{"unknown resume id", evidence{text: "No conversation found with session ID: 44444444-4444-4444-8444-444444444444"}, SessionError},
		// What a model may write anywhere but at the beginning, or in other words.
		{"words of a model", evidence{text: "I got an API Error: 429, prompt is too long, context window, rate limit"}, SessionError},
		{"words of a tool", evidence{text: "Error: HTTP 429 rate limit"}, SessionError},
		{"far in the text", evidence{text: "API Error: 418 " + strings.Repeat("x", lookedAt) + " context window"}, APIError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.v.errorType(); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

func message(t *testing.T, format string, args ...any) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.Unmarshal(fmt.Appendf(nil, format, args...), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRetryAfter(t *testing.T) {
	now := time.Now()
	limited := frameResult{IsError: true, APIErrorStatus: 429}
	retry := func(ms string, status string) func(*Session) {
		return func(s *Session) {
			s.noteRetry(message(t, `{"retry_delay_ms":%s,"error_status":%s,"error":"x"}`, ms, status), now)
		}
	}
	event := func(status string, in time.Duration) func(*Session) {
		return func(s *Session) {
			s.noteLimit(message(t, `{"rate_limit_info":{"status":%q,"resetsAt":%d}}`, status, now.Add(in).Unix()))
		}
	}
	for _, tt := range []struct {
		name     string
		told     []func(*Session)
		from, to int
	}{
		{"nothing was told", nil, 60, 60},
		{"a retry", []func(*Session){retry("30000", "429")}, 30, 30},
		{"a retry, rounded up", []func(*Session){retry("1005.7157", "429")}, 2, 2},
		{"the last retry", []func(*Session){retry("30000", "429"), retry("9000", "429")}, 9, 9},
		{"at least a second", []func(*Session){retry("3.5", "429")}, 1, 1},
		{"no time", []func(*Session){retry("-8", "429")}, 1, 1},
		{"at most a day", []func(*Session){retry("1e300", "429")}, 86400, 86400},
		{"no number", []func(*Session){retry(`"soon"`, "429")}, 1, 1},
		{"a retry of another kind", []func(*Session){retry("30000", "529")}, 60, 60},
		{"named by its error", []func(*Session){func(s *Session) {
			s.noteRetry(message(t, `{"retry_delay_ms":7000,"error_status":null,"error":"rate_limit"}`), now)
		}}, 7, 7},
		{"a subscription's limit", []func(*Session){event("rejected", time.Hour)}, 3599, 3601},
		{"a warning only", []func(*Session){event("allowed_warning", time.Hour)}, 60, 60},
		{"a limit that has passed", []func(*Session){event("rejected", -time.Hour)}, 60, 60},
		{"a limit far off", []func(*Session){event("rejected", 700*time.Hour)}, 86400, 86400},
		{"no time at all", []func(*Session){func(s *Session) {
			s.noteLimit(message(t, `{"rate_limit_info":{"status":"rejected","resetsAt":1e300}}`))
			s.noteLimit(message(t, `{"rate_limit_info":"odd"}`))
			s.noteLimit(nil)
		}}, 60, 60},
		{"a retry before a limit", []func(*Session){event("rejected", time.Hour), retry("5000", "429")}, 5, 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Session{working: &Turn{}}
			for _, tell := range tt.told {
				tell(s)
			}
			kind, after := s.insideLocked(limited, now)
			if kind != RateLimitError || after < tt.from || after > tt.to {
				t.Errorf("%s after %d s, want %d to %d", kind, after, tt.from, tt.to)
			}
			if kind, after := s.insideLocked(frameResult{IsError: true, APIErrorStatus: 500}, now); kind != APIError || after != 0 {
				t.Errorf("%s after %d s, want an APIError with none", kind, after)
			}
			s.working = &Turn{} // another turn
			if _, after := s.insideLocked(limited, now); after != 60 {
				t.Errorf("the next turn has %d s of this one", after)
			}
		})
	}
}

// A turn that ran into its time limit while the CLI sat in a retry for a rate limit
// failed for that limit.
func TestTimeoutInARetry(t *testing.T) {
	now := time.Now()
	retry := func(status int) func(*Session) {
		return func(s *Session) {
			s.noteRetry(message(t, `{"retry_delay_ms":59000.5,"error_status":%d,"error":"x"}`, status), now)
		}
	}
	words := func(s *Session) { s.noteWords("", false) }
	for _, tt := range []struct {
		name  string
		told  []func(*Session)
		code  Code
		later time.Duration
		want  ErrorType
		after int
	}{
		{"in the retry", []func(*Session){retry(429)}, Timeout, time.Second, RateLimitError, 60},
		{"just after it", []func(*Session){retry(429)}, Timeout, time.Minute, RateLimitError, 60},
		{"long after it", []func(*Session){retry(429)}, Timeout, 3 * time.Minute, SessionError, 0},
		{"nothing was told", nil, Timeout, 0, SessionError, 0},
		{"retry of an overload", []func(*Session){retry(529)}, Timeout, time.Second, SessionError, 0},
		{"an overload after it", []func(*Session){retry(429), retry(529)}, Timeout, time.Second, SessionError, 0},
		{"it went on", []func(*Session){retry(429), words}, Timeout, time.Second, SessionError, 0},
		{"it went on and failed again", []func(*Session){retry(429), words, retry(429)}, Timeout, time.Second, RateLimitError, 60},
		{"stopped in it", []func(*Session){retry(429)}, CancelledCode, time.Second, SessionError, 0},
		{"its process ended in it", []func(*Session){retry(429)}, Internal, time.Second, SessionError, 0},
		{"words after the end", []func(*Session){retry(429), func(s *Session) {
			s.working.aborted = Errorf(Timeout, "x")
			words(s)
		}}, Timeout, time.Second, RateLimitError, 60},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &Session{working: &Turn{}}
			for _, tell := range tt.told {
				tell(s)
			}
			kind, after := s.outsideLocked(tt.code, now.Add(tt.later))
			if kind != tt.want || after != tt.after {
				t.Errorf("%s after %d s, want %s after %d s", kind, after, tt.want, tt.after)
			}
		})
	}
}

// What a message of the main thread said counts until the next one, and what a
// sub-agent said does not.
func TestSaidOfTheNewestMessage(t *testing.T) {
	s := &Session{working: &Turn{}}
	failed := frameResult{IsError: true}
	for i, tt := range []struct {
		said       string
		mainThread bool
		want       ErrorType
	}{
		{"rate_limit", true, RateLimitError},
		{"server_error", false, RateLimitError},
		{"server_error", true, APIError},
		{"", true, SessionError},
		{"rate_limit", false, SessionError},
	} {
		s.noteWords(tt.said, tt.mainThread)
		if kind, _ := s.insideLocked(failed, time.Now()); kind != tt.want {
			t.Errorf("message %d: %s, want %s", i+1, kind, tt.want)
		}
	}
}
