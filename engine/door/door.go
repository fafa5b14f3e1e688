// Package door lets the owner of a server see and answer its questions over a
// Unix socket in a private folder, one socket a server.
//
// A server calls [Listen] and [Door.Serve] with a [Handler]; a command finds
// the servers with [Sockets] and talks to each with [Ask] and [Send]. Requests
// and replies are lines of JSON of at most [MaxLine] bytes.
//
// Only the owner gets in: the folder is 0700, the socket 0600, and on Linux the
// kernel tells the peer's user and process, so that what a session started is
// turned away. Elsewhere the modes alone guard the socket (on Windows the
// folder's inherited access list).
package door

import (
	"context"
	"encoding/json"
	"time"
)

// Bounds of the protocol.
const (
	MaxLine      = 64 << 10         // bytes of one line
	maxPeers     = 16               // connections at once
	lineTimeout  = 10 * time.Second // for one request or reply
	maxRequests  = 64               // in one connection
	maxQuestions = 1000             // told in one reply
)

// Question is one open question as its owner sees it: not redacted.
type Question struct {
	ID         string    `json:"request_id"`
	Session    string    `json:"session"`
	Cwd        string    `json:"cwd"`
	Type       string    `json:"type"` // "permission", "question", "plan" or "form"
	Tool       string    `json:"tool"`
	Agent      string    `json:"agent,omitempty"` // empty on the main thread
	Fields     []Field   `json:"fields,omitempty"`
	Input      string    `json:"input"`         // the exact input, invisible characters escaped, a line each member
	Cut        bool      `json:"cut,omitempty"` // the middle of a long input was left out of Input
	Bytes      int       `json:"bytes"`         // of the exact input
	SHA256     string    `json:"sha256"`        // of the exact input, hexadecimal
	Rule       string    `json:"rule"`
	Reason     string    `json:"reason"`
	Approvers  []string  `json:"approvers"`             // who may answer; empty = anybody
	Quorum     int       `json:"quorum,omitempty"`      // approvals it takes; 0 = 1
	ApprovedBy []string  `json:"approved_by,omitempty"` // so far
	Scope      string    `json:"scope,omitempty"`       // what an approval covers besides; empty = nothing
	ScopeTTL   int       `json:"scope_s,omitempty"`     // seconds; 0 = the session's life
	Created    time.Time `json:"created"`
	Deadline   time.Time `json:"deadline"`
}

// Field is one value of the input that the asking rule wants to be seen first.
type Field struct {
	Pointer string `json:"pointer"`
	Value   string `json:"value"`
}

// Answer is the owner's word on a question.
type Answer struct {
	ID        string `json:"request_id"`
	Allow     bool   `json:"allow"`
	Reason    string `json:"reason,omitempty"`
	Interrupt bool   `json:"interrupt,omitempty"` // deny only: end the turn too
	Digest    string `json:"digest"`              // of the input that was shown; another one is refused
}

// Peer is the process at the other end.
type Peer struct {
	UID, PID int // -1 where the system does not tell
}

// Handler is what a door opens to. Its methods are called from several goroutines.
type Handler interface {
	// Pending lists the open questions, oldest first.
	Pending() []Question
	// Answer gives an answer; the error's code and text go to the peer.
	Answer(ctx context.Context, p Peer, a Answer) error
	// Refused tells that a peer was turned away. session is the session it
	// belongs to, "" when that is not known.
	Refused(p Peer, session, reason string)
}

// Coded is an error with a word that programs can branch on.
type Coded interface {
	error
	Code() string
}

// request is one line of a peer.
type request struct {
	Op string `json:"op"` // "pending" or "answer"
	Answer
}

// reply is one line of the server. A list of questions is a line each, and then
// one with Done.
type reply struct {
	Question *Question `json:"question,omitempty"`
	Done     bool      `json:"done,omitempty"`
	Omitted  int       `json:"omitted,omitempty"` // questions beyond the bound
	Error    string    `json:"error,omitempty"`
	Code     string    `json:"code,omitempty"`
}

// Error is what a server answered.
type Error struct{ Word, Text string }

func (e *Error) Error() string { return e.Text }

// Code returns the word, such as PERMISSION_REQUEST_NOT_FOUND.
func (e *Error) Code() string { return e.Word }

// fit encodes a question within one line: the input shown gives way first.
func fit(q Question) ([]byte, error) {
	for {
		b, err := encode(reply{Question: &q})
		if err != nil || len(b) <= MaxLine {
			return b, err
		}
		switch {
		case len(q.Input) > 1024:
			q.Input, q.Cut = middle(q.Input, len(q.Input)/2), true
		case len(q.Fields) > 0:
			q.Fields = q.Fields[:len(q.Fields)-1]
		default:
			q.Input, q.Cut, q.Reason, q.Cwd = "", true, head(q.Reason, 1024), head(q.Cwd, 1024)
			if q.Approvers = nil; len(q.Rule)+len(q.Tool) > 4096 {
				q.Rule, q.Tool = head(q.Rule, 1024), head(q.Tool, 1024)
			}
			return encode(reply{Question: &q})
		}
	}
}

func encode(v any) ([]byte, error) {
	var b lineBuffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b, err
}

type lineBuffer []byte

func (b *lineBuffer) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}
