package engine

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
)

// How a failed turn is told to clients: its ErrorType, and when to try again.

// Bounds of Result.RetryAfter, and what it is where nobody said.
const (
	minRetryAfter     = time.Second
	maxRetryAfter     = 24 * time.Hour
	defaultRetryAfter = time.Minute
)

// retryGrace is how long after the delay of a retry the CLI is still taken to be at
// it: the API may take its time to refuse again.
const retryGrace = time.Minute

// signs are what the CLI told of its API in a turn, guarded by Session.mu.
type signs struct {
	turn     *Turn
	said     string        // "error" of the newest message of the main thread
	delay    time.Duration // before the newest retry for a rate limit; 0 = none
	until    time.Time     // the CLI sits in that retry, or did until it said more
	resetsAt time.Time     // of a subscription's limit that was hit
}

// signsLocked are those of the newest turn.
func (s *Session) signsLocked() *signs {
	if s.signs.turn != s.working {
		s.signs = signs{turn: s.working}
	}
	return &s.signs
}

// frameRetry is a system/api_retry message.
type frameRetry struct {
	DelayMS float64 `json:"retry_delay_ms"`
	Status  int     `json:"error_status"` // 0: no answer of the API
	Error   string  `json:"error"`
}

// noteRetry takes note of a try that failed and is repeated.
func (s *Session) noteRetry(fields map[string]json.RawMessage, now time.Time) {
	f := decodeFrame[frameRetry](fields)
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.signsLocked()
	if f.Status != 429 && f.Error != "rate_limit" {
		g.until = time.Time{}
		return
	}
	ms := min(max(f.DelayMS, float64(minRetryAfter.Milliseconds())), float64(maxRetryAfter.Milliseconds()))
	g.delay = time.Duration(ms * float64(time.Millisecond))
	g.until = now.Add(g.delay + retryGrace)
}

// noteLimit takes note of a subscription's limits.
func (s *Session) noteLimit(fields map[string]json.RawMessage) {
	var info struct {
		Status   string  `json:"status"`
		ResetsAt float64 `json:"resetsAt"` // seconds since 1970
	}
	_ = json.Unmarshal(fields["rate_limit_info"], &info) // odd fields stay zero
	if info.Status != "rejected" || !(info.ResetsAt > 0 && info.ResetsAt < math.MaxInt32*4) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signsLocked().resetsAt = time.Unix(int64(math.Ceil(info.ResetsAt)), 0)
}

// noteWords takes note that the turn goes on: what an aborted one still tells is no
// news. said is the CLI's word for a failure the message tells of, "" for none.
func (s *Session) noteWords(said string, mainThread bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working != nil && s.working.aborted != nil {
		return
	}
	g := s.signsLocked()
	g.until = time.Time{}
	if mainThread {
		g.said = said
	}
}

// outsideLocked classifies a turn that ended outside the CLI.
func (s *Session) outsideLocked(code Code, now time.Time) (ErrorType, int) {
	g := s.signsLocked()
	if code == Timeout && now.Before(g.until) {
		return RateLimitError, seconds(g.delay)
	}
	return SessionError, 0
}

// insideLocked classifies a turn that the CLI says has failed.
func (s *Session) insideLocked(f frameResult, now time.Time) (ErrorType, int) {
	g := s.signsLocked()
	v := evidence{f.APIErrorStatus, f.APIErrorType, f.TerminalReason, g.said, resultText(f)}
	kind := v.errorType()
	if kind != RateLimitError {
		return kind, 0
	}
	return kind, g.retryAfter(now)
}

// retryAfter is when to try again, in seconds.
func (g *signs) retryAfter(now time.Time) int {
	switch {
	case g.delay > 0:
		return seconds(g.delay)
	case g.resetsAt.After(now):
		return seconds(g.resetsAt.Sub(now))
	}
	return seconds(defaultRetryAfter)
}

// seconds rounds up, within the bounds.
func seconds(d time.Duration) int {
	d = min(max(d, minRetryAfter), maxRetryAfter)
	return int((d + time.Second - 1) / time.Second)
}

// evidence is what the CLI tells of a failed turn.
type evidence struct {
	status            int // of the API; 0 = none told
	kind, ended, said string
	text              string
}

func (v evidence) errorType() ErrorType {
	switch {
	case v.ended == "prompt_too_long" || v.tooLong():
		return ContextWindowError
	case v.limited():
		return RateLimitError
	case v.structured() || v.ended == "api_error" || begins(v.text, apiTexts):
		return APIError
	}
	return SessionError
}

// structured says whether the CLI told more than a text. CLIs before 2.1.110 do not.
func (v evidence) structured() bool { return v.status != 0 || v.kind != "" || v.said != "" }

// Texts of the CLI. They are compared from their beginning on: further on there may be
// words of the model, or of a tool.
var (
	apiTexts = []string{
		"API Error", "Failed to authenticate. API Error", "Invalid API key", "Credit balance is too low", "OAuth token", "Request too large (max ",
	}
	apiText     = "API Error"
	tooLongText = "Prompt is too long"
	tooLongForm = regexp.MustCompile(`(?i)prompt is too long|context.{0,20}(window|limit|length)`)
	limitForm   = regexp.MustCompile(`^(API Error: (Request rejected \()?429\b|API Error\b.{0,80}\b(?i:rate.?limit)|You've (hit|reached) your .{0,40}\blimit|Claude (AI )?usage limit reached|\d+-hour limit reached)`)
)

// lookedAt bounds what of a text the forms are compared with, in bytes.
const lookedAt = 1 << 10

func (v evidence) beginning() string { return v.text[:min(len(v.text), lookedAt)] }

// tooLong says whether the conversation is, by what the API refuses as a request.
func (v evidence) tooLong() bool {
	if v.status != 0 && v.status != 400 && v.status != 413 {
		return false
	}
	return strings.HasPrefix(v.text, tooLongText) || strings.HasPrefix(v.text, apiText) && tooLongForm.MatchString(v.beginning())
}

func (v evidence) limited() bool {
	if v.structured() {
		return v.status == 429 || v.kind == "rate_limit_error" || v.said == "rate_limit"
	}
	return limitForm.MatchString(v.beginning())
}

func begins(text string, with []string) bool {
	return slices.ContainsFunc(with, func(w string) bool { return strings.HasPrefix(text, w) })
}
