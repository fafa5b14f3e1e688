package event

import (
	"context"
	"encoding/json"
	"fmt"
)

// Sink is where a payload goes; policies can cover more in one than in another.
type Sink string

// The sinks.
const (
	SinkEvent  Sink = "event"  // the history: one copy, which polls, the journal and every other reader share
	SinkModel  Sink = "model"  // what the model reads
	SinkAudit  Sink = "audit"  // excerpts in the audit and decision logs
	SinkLog    Sink = "log"    // the server's own log
	SinkStderr Sink = "stderr" // what the CLI writes to stderr, as it is kept
	SinkPlugin Sink = "plugin" // documents handed to plugins
)

// Origin is the session a payload belongs to, as far as policies see it when
// they say what to cover. It is immutable: a change makes another one.
type Origin struct {
	SessionID string
	Cwd       string
	Mode      string // of permissions
	Model     string
	Trusted   bool
	Taint     []string // labels of calls that were let through
	Client    string   // of the caller that started the session
	Transport string
	Subject   string
	Groups    []string
}

// Payload is what a [Redactor] is given. Except for Data it is the same for all
// payloads of its sort, so that what follows from it can be remembered.
type Payload struct {
	Origin  *Origin // nil: of no session
	Sink    Sink
	Kind    Kind   // of an event; ToolResult for the output of a tool
	Tool    string // whose input, output or question this is; empty: none, or several
	IsError bool   // the tool failed
	Data    json.RawMessage
}

// Redactor covers secrets in a payload before it is stored. It returns the
// payload to keep, which is p.Data itself when nothing was covered, and what was
// covered; it never changes p.Data. On an error, or when it returns what is no
// JSON, the payload is replaced by a stub that says so. It must be safe for
// concurrent use.
//
// What was covered includes, for payloads of kind [ToolResult] in the sink
// [SinkEvent], the placeholders that stood in p.Data already: the output of a tool
// is covered before the model reads it, and the event tells of it all the same.
type Redactor interface {
	Redact(ctx context.Context, p Payload) (json.RawMessage, []Redaction, error)
}

// RedactorFunc is a function as a [Redactor].
type RedactorFunc func(ctx context.Context, p Payload) (json.RawMessage, []Redaction, error)

var _ Redactor = RedactorFunc(nil)

// Redact implements [Redactor].
func (f RedactorFunc) Redact(ctx context.Context, p Payload) (json.RawMessage, []Redaction, error) {
	return f(ctx, p)
}

// Streamer is a [Redactor] that also covers text which arrives in pieces.
type Streamer interface {
	// Stream begins a text of the sort p describes. p.Data is empty, or for kind
	// [Partial] the beginning of a block without its text, as the model's API sends
	// it: {"event": {"content_block": {"type", "name"?}}}.
	Stream(ctx context.Context, p Payload) (Stream, error)
}

// Stream covers secrets in one text that arrives in pieces: what may be the
// beginning of one is held back until that is settled. It is for one goroutine.
// Pointers of what it found are not looked at: only its caller knows them.
type Stream interface {
	// Write takes the next piece and returns what is safe to pass on now.
	Write(piece string) (safe string, found []Redaction)
	// Close returns what was held back.
	Close() (rest string, found []Redaction)
}

// Redact runs redactors one after the other over a payload, each seeing what the
// one before left. On failure the payload is a stub that says so, with ok false.
func Redact(ctx context.Context, redactors []Redactor, p Payload) (data json.RawMessage, found []Redaction, ok bool) {
	given := p.Data
	for _, r := range redactors {
		out, more, err := redactOne(ctx, r, p)
		if err != nil {
			return stub(p.Kind, len(p.Data)), nil, false
		}
		p.Data, found = out, append(found, more...)
	}
	// Readers rely on it: they pass payloads on without decoding them.
	if !same(given, p.Data) && !json.Valid(p.Data) {
		return stub(p.Kind, len(p.Data)), nil, false
	}
	return p.Data, found, true
}

func redactOne(ctx context.Context, r Redactor, p Payload) (out json.RawMessage, found []Redaction, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("redact %s: panic: %v", p.Kind, v)
		}
	}()
	return r.Redact(ctx, p)
}

// same reports whether two slices are the same bytes in memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// stub stands for a payload that could not be redacted; it says so and nothing more.
func stub(kind Kind, size int) json.RawMessage {
	b, _ := json.Marshal(map[string]any{
		"type": "withheld", "kind": kind, "bytes": size,
		"message": "event withheld: redaction of its payload ended with an error",
	})
	return b
}
