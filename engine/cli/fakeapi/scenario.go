// Package fakeapi is a scripted Messages API on loopback, so that a real CLI
// can be driven without a network, a key or a model: by tests, and by the
// command that checks the gate on a user's machine.
//
// Write a [Scenario], hand it to [New] and point the CLI's base URL at
// [Server.URL]. Every model reply comes from the script, in order; what the
// CLI sent is kept in [Server.Requests], which is the proof of what a model
// would have read.
package fakeapi

import (
	"net/http"
	"time"
)

// Scenario scripts the model. The zero value answers every request with one
// closing text.
type Scenario struct {
	Turns []Turn // replies of the main conversation, in order
	Lanes []Lane // other conversations, such as those of sub-agents

	// Side answers requests that offer no tools (titles, summaries); nil says "ok".
	Side *Turn
	// SideInLanes lets requests without tools take part in the conversations.
	SideInLanes bool
	// End answers once a conversation's turns are used up; nil says "(script exhausted)".
	End *Turn
}

// Lane scripts the conversations whose system text or first user message
// contains Match. The first lane that matches is taken.
type Lane struct {
	Match string
	Turns []Turn
}

// Turn is one reply. Status and Drop exclude content; with neither set the
// reply is Content, or Tools, or Text, whichever is set first in that order.
type Turn struct {
	Text    string
	Tools   []ToolUse // several are parallel calls of one reply
	Content []Block

	StopReason string // empty: "tool_use" when the reply calls a tool, else "end_turn"
	Usage      Usage

	Status int       // > 0: an error reply with this HTTP status
	Error  *APIError // nil with Status set: an api_error
	Drop   bool      // close the connection without a reply

	Headers    http.Header
	Delay      time.Duration // before the first byte
	ChunkDelay time.Duration // before each delta of the stream
	Chunk      int           // bytes of a delta; 0 = 40
	Repeat     int           // serve this turn so often; 0 = 1
}

// ToolUse is one call of a tool.
type ToolUse struct {
	Name  string
	Input any    // encoded as JSON; nil = {}
	ID    string // empty: filled in, unique in the server
}

// Block is one content block of a reply. Type is "text", "thinking" or "tool_use".
type Block struct {
	Type string
	Text string  // text and thinking
	Tool ToolUse // tool_use
}

// Usage is the token count reported; zero fields get small defaults.
type Usage struct {
	InputTokens, OutputTokens int
}

// APIError is the error object of a refused request.
type APIError struct {
	Type    string `json:"type"`
	Message string `json:"message"`
}

// Say is a reply of one text block.
func Say(text string) Turn { return Turn{Text: text} }

// Use is a reply that calls one tool.
func Use(name string, input any) Turn { return Turn{Tools: []ToolUse{{Name: name, Input: input}}} }

// Fail is an error reply.
func Fail(status int, kind, message string) Turn {
	return Turn{Status: status, Error: &APIError{Type: kind, Message: message}}
}

// turnAt returns the p-th reply of turns, repeats counted.
func turnAt(turns []Turn, p int) (Turn, bool) {
	for _, t := range turns {
		n := max(t.Repeat, 1)
		if p < n {
			return t, true
		}
		p -= n
	}
	return Turn{}, false
}
