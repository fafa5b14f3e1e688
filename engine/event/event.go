// Package event keeps a session's ordered history, redacted on the way in.
//
// [Log.Append] is the only way in: the payload passes the [Redactor] before it
// gets a number, is stored or wakes a reader. [Log.After] reads a page. With
// [Log.Keep] a log writes to a [History], which a [Store] keeps beyond the process;
// memory then holds the newest events, and older ones are read from there.
package event

import (
	"encoding/json"
	"time"
)

// Kind is the wire name of an event's type; docs/events.md describes the payloads.
type Kind string

// The kinds.
const (
	Output           Kind = "output"      // an assistant message
	ToolResult       Kind = "tool_result" // what a tool gave back
	Partial          Kind = "partial"     // a stream delta, with includePartialMessages
	Progress         Kind = "progress"    // status, retries, tasks, rate limits
	PermissionAsked  Kind = "permission_request"
	PermissionResult Kind = "permission_result" // an answer, or a decision made without asking
	Result           Kind = "result"            // end of a turn, success
	Error            Kind = "error"             // end of a turn, failure
	Notice           Kind = "notice"            // from Gatehouse itself: gate, settings, limits
)

// Terminal reports whether the kind ends a turn.
func (k Kind) Terminal() bool { return k == Result || k == Error }

// Event is one entry. It is immutable once appended.
type Event struct {
	ID         int64           `json:"id"` // from 0; one is left out only where events were lost
	Type       Kind            `json:"type"`
	Data       json.RawMessage `json:"data"` // a JSON object
	Timestamp  time.Time       `json:"timestamp"`
	Redactions []Redaction     `json:"redactions,omitempty"`
}

// Redaction says that something was covered, never what.
type Redaction struct {
	Pointer  string `json:"pointer"` // RFC 6901, into Data
	Detector string `json:"detector"`
	Count    int    `json:"count"`
}

// Page is a window of the log.
type Page struct {
	Events    []Event
	Next      int64  // cursor for the next read
	ResetTo   *int64 // set when the id asked for is not kept, or lost: where the page begins instead
	Truncated bool   // more events are there than were asked for
}
