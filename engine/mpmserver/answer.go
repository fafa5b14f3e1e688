package mpmserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopped is the error of a call whose session was stopped meanwhile.
const stopped = "Session stopped"

// turnView is the answer of mpm_session_start and mpm_session_continue.
type turnView struct {
	Success    bool
	SessionID  string // "" only when no session was made
	Output     string
	Error      string           // "": null
	ErrorType  engine.ErrorType // of failures
	RetryAfter int              // seconds, with RateLimitError
	Messages   []json.RawMessage
	Dropped    int64 // messages left out
}

// atOnce bounds the answers that are made at one time: each takes several times its
// size, and a server may end with hundreds of turns.
const atOnce = 2

// turnAnswer answers for a turn that has ended. The end of ctx leaves the messages
// out: nobody waits for them.
func (f *family) turnAnswer(ctx context.Context, c mcpserver.Call, t *engine.Turn, l limit) *mcp.CallToolResult {
	select {
	case f.making <- struct{}{}:
		defer func() { <-f.making }()
	case <-ctx.Done():
	}
	r := t.Result()
	said := read(ctx, t)
	v := turnView{
		Success: !r.IsError, SessionID: t.Session().ID(), Output: said.output(),
		Messages: said.messages, Dropped: said.dropped,
	}
	if r.IsError {
		v.Error, v.ErrorType, v.RetryAfter = failureOf(t, r, l)
	}
	return v.result(c)
}

func (v turnView) result(c mcpserver.Call) *mcp.CallToolResult {
	res := c.Answer(v.text())
	res.IsError = !v.Success
	return res
}

// text is indented JSON, but for the messages, which are one a line: indented they
// would be many times their size, of which the model pays each byte, and of deeply
// nested ones nobody could bound it.
func (v turnView) text() []byte {
	var b bytes.Buffer
	size := len(v.Output) + len(v.Output)/8 + len(v.Error) + 1<<10
	for _, m := range v.Messages {
		size += len(m) + len("\n    ,")
	}
	b.Grow(size)
	b.WriteString("{")
	member := func(name string, value any) {
		raw, err := encode(value)
		if err != nil { // texts, numbers and booleans: cannot happen
			raw = []byte("null")
		}
		fmt.Fprintf(&b, "\n  %q: %s,", name, raw)
	}
	member("success", v.Success)
	member("session_id", v.SessionID)
	member("output", v.Output)
	if v.Success {
		member("error", nil)
	} else {
		member("error", v.Error)
		member("error_type", v.ErrorType)
	}
	if v.ErrorType == engine.RateLimitError {
		member("retry_after", v.RetryAfter)
	}
	if v.Dropped > 0 {
		member("messages_dropped", v.Dropped)
	}
	b.WriteString("\n  \"messages\": [")
	for i, m := range v.Messages {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("\n    ")
		b.Write(m)
	}
	if len(v.Messages) > 0 {
		b.WriteString("\n  ")
	}
	b.WriteString("]\n}")
	return b.Bytes()
}

// text answers with v as indented JSON.
func text(v any) (*mcp.CallToolResult, error) {
	raw, err := encode(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, raw, "", "  "); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: b.String()}}}, nil
}

// encode is compact JSON without HTML escapes.
func encode(v any) ([]byte, error) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimRight(b.String(), "\n")), nil
}
