package script

import (
	"fmt"
	"strings"
	"time"
)

// APIError is a failure of the model's API that the CLI gave up on: a message of
// its own that repeats the text, then the result, which is a "success" that is an
// error. It ends the turn; steps after it are not played, and no Stop hook is
// called. The frames are those of CLI 2.1.197 unless Shape says otherwise. Retries
// before it are APIRetry steps.
type APIError struct {
	// Kind is rate_limit, session_limit (of a subscription), overloaded, server_error,
	// authentication, forbidden, billing, invalid_request, prompt_too_long,
	// request_too_large, connection (lost), refusal or max_output_tokens.
	Kind string `json:"kind"`
	Text string `json:"text,omitempty"` // empty: what the real CLI says
	// Shape is "old" for CLIs before 2.1.110, which tell nothing but the text, and
	// "new" for 2.1.329, which has api_error_type and terminal_reason api_error.
	Shape string `json:"shape,omitempty"`
}

// Shapes of an APIError besides that of 2.1.197.
const (
	shapeOld = "old"
	shapeNew = "new"
)

// RateLimit is a rate_limit_event, as CLIs send it that are logged in with a
// subscription.
type RateLimit struct {
	Status    string `json:"status,omitempty"`          // allowed, allowed_warning or rejected; empty: rejected
	ResetsInS int    `json:"resets_in_s,omitempty"`     // resetsAt is this many seconds from now
	Type      string `json:"rate_limit_type,omitempty"` // empty: five_hour
}

// failureKind is what the real CLI says of one kind of failure.
type failureKind struct {
	status int    // 0: api_error_status null
	typ    string // api_error_type
	said   string // "error" of the assistant message
	text   string
	old    string // text before 2.1.110
	ended  string // terminal_reason, "" where it is that of any failure
	stop   string // stop_reason, "" for stop_sequence
}

const serverSide = " This is a server-side issue, usually temporary — try again in a moment. If it persists, check your inference gateway (127.0.0.1)."

var failureKinds = map[string]failureKind{
	"rate_limit": {
		status: 429, typ: "rate_limit_error", said: "rate_limit", text: "API Error: Request rejected (429) · slow down",
		old: oldFailure(429, "rate_limit_error", "slow down"),
	},
	"session_limit": {
		status: 429, typ: "rate_limit_error", said: "rate_limit", text: "You've hit your session limit · resets 12:57am (UTC)",
		old: "You've hit your limit · resets 12:57am (UTC)",
	},
	"overloaded": {
		status: 529, typ: "overloaded_error", said: "server_error", text: "API Error: 529 Overloaded." + serverSide,
		old: oldFailure(529, "overloaded_error", "Overloaded"),
	},
	"server_error": {
		status: 500, typ: "api_error", said: "server_error", text: "API Error: 500 Internal server error." + serverSide,
		old: oldFailure(500, "api_error", "Internal server error"),
	},
	"authentication": {
		status: 401, typ: "authentication_error", said: "authentication_failed", text: "Invalid API key · Fix external API key",
		old: "Invalid API key · Fix external API key",
	},
	"forbidden": {
		status: 403, typ: "permission_error", said: "authentication_failed", text: "Failed to authenticate. API Error: 403 nope",
		old: "Failed to authenticate. API Error: 403 nope",
	},
	"billing": {
		status: 400, typ: "billing_error", said: "billing_error", text: "Credit balance is too low", old: "Credit balance is too low",
	},
	"request_too_large": {
		status: 413, typ: "request_too_large", said: "invalid_request", ended: "image_error",
		text: "Request too large (max 32MB). Try with a smaller file.", old: "Request too large (max 32MB). Try with a smaller file.",
	},
	"invalid_request": {
		status: 400, typ: "invalid_request_error", said: "unknown", text: "API Error: 400 messages.0: something is wrong",
		old: oldFailure(400, "invalid_request_error", "messages.0: something is wrong"),
	},
	"prompt_too_long": {
		status: 400, typ: "invalid_request_error", said: "invalid_request", ended: "prompt_too_long", old: "Prompt is too long",
		text: "Prompt is too long · the request is ~250000 tokens (limit 200000) but this conversation is only ~1682 tokens — the rest is system prompt, tool definitions, and attachment content.",
	},
	"connection": {
		typ: "connection_failed", said: "server_error", text: "API Error: Unable to connect to API (ECONNRESET)",
		old: "API Error: Unable to connect to API (ECONNRESET)",
	},
	"refusal": {
		said: "invalid_request", stop: "refusal", text: "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy.",
		old: "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy.",
	},
	"max_output_tokens": {
		said: "max_output_tokens", text: "API Error: Claude's response exceeded the 64000 output token maximum.",
		old: "API Error: Claude's response exceeded the 64000 output token maximum.",
	},
}

func oldFailure(status int, typ, message string) string {
	return fmt.Sprintf(`API Error: %d {"type":"error","error":{"type":%q,"message":%q}}`, status, typ, message)
}

func (e APIError) validate() error {
	if _, known := failureKinds[e.Kind]; !known {
		return fmt.Errorf("api_error: kind %q is unknown", e.Kind)
	}
	if e.Shape != "" && e.Shape != shapeOld && e.Shape != shapeNew {
		return fmt.Errorf("api_error: shape %q is unknown, want %q or %q", e.Shape, shapeOld, shapeNew)
	}
	return nil
}

// errAPI ends a turn with a failure of the API.
type errAPI struct {
	APIError
	failureKind
}

func (e errAPI) Error() string { return e.text }

// apiError says in the CLI's own name what failed, and ends the turn.
func (p *process) apiError(a *actor, s APIError) error {
	e := errAPI{s, failureKinds[s.Kind]}
	if s.Shape == shapeOld {
		e.text = e.old
	}
	if s.Text != "" {
		e.text = p.text(a.t, s.Text)
	}
	if e.stop == "" {
		e.stop = "stop_sequence"
	}
	m := a.fields(map[string]any{"type": "assistant", "message": map[string]any{
		"id": newUUID(), "type": "message", "role": "assistant", "model": "<synthetic>", "container": nil, "stop_details": nil,
		"content": []any{textBlock(e.text)}, "stop_reason": e.stop, "stop_sequence": "", "usage": usage(0), "context_management": nil,
	}})
	if s.Shape != shapeOld {
		m["error"] = e.said
	}
	if s.Shape != shapeOld && s.Kind != "connection" {
		m["request_id"] = "req_script"
	}
	if s.Shape == shapeNew {
		m["is_api_error_message"] = true
	}
	p.send(p.frame(m))
	return e
}

// fail makes a result the one of the failure.
func (e errAPI) fail(r map[string]any) {
	r["is_error"], r["result"], r["stop_reason"], r["duration_api_ms"] = true, e.text, e.stop, 0
	switch e.Shape {
	case shapeOld:
		delete(r, "api_error_status")
		delete(r, "terminal_reason")
		return
	case shapeNew:
		r["terminal_reason"] = "api_error"
		if e.typ != "" {
			r["api_error_type"] = e.typ
		}
	}
	if e.status != 0 {
		r["api_error_status"] = e.status
	}
	if e.ended != "" {
		r["terminal_reason"] = e.ended
	}
}

// rateLimit tells how much of a subscription is left.
func (p *process) rateLimit(l RateLimit) {
	info := map[string]any{"status": l.Status, "rateLimitType": l.Type, "isUsingOverage": false}
	if l.Status == "" {
		info["status"] = "rejected"
	}
	if l.Type == "" {
		info["rateLimitType"] = "five_hour"
	}
	if l.ResetsInS != 0 {
		info["resetsAt"] = time.Now().Unix() + int64(l.ResetsInS)
	}
	p.send(p.frame(map[string]any{"type": "rate_limit_event", "rate_limit_info": info}))
}

// retry tells of a try that failed; with Wait the CLI then is silent, as the real
// one is until the next try.
func (p *process) retry(a *actor, r APIRetry) error {
	p.system("api_retry", r.fields())
	if !r.Wait {
		return nil
	}
	return p.sleep(a.t.ctx, int(r.DelayMS))
}

// beforeInit ends a process that was told to end before it tells of its session.
func (p *process) beforeInit() bool {
	e := p.sc.ExitBeforeInit
	if e == nil {
		return false
	}
	p.fail(e.Code, strings.ReplaceAll(e.Stderr, "${CWD}", p.cwd))
	return true
}
