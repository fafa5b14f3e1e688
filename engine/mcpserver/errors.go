package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// failureBody is the one error shape of all tools. docs/errors.md describes it.
type failureBody struct {
	SessionID string      `json:"sessionId"` // empty when none was named or made
	Status    string      `json:"status"`    // always "error"
	IsError   bool        `json:"isError"`   // always true
	Error     string      `json:"error"`     // "Error [CODE]: message"
	Code      engine.Code `json:"code"`

	// Only claude_code_session sets these two, and claude_code_configure the second:
	// their clients look for them.
	Sessions *[]sessionView `json:"sessions,omitempty"`
	Message  string         `json:"message,omitempty"`

	AllowBypass *bool `json:"allowBypass,omitempty"` // of claude_code_configure, with Message
}

// failure renders err for a client.
func failure(tool, sessionID string, err error) *mcp.CallToolResult {
	e := coded(err)
	body := failureBody{SessionID: sessionID, Status: "error", IsError: true, Error: e.Error(), Code: e.Code}
	if tool == sessionTool {
		body.Sessions, body.Message = &[]sessionView{}, body.Error
	}
	if tool == configureTool {
		body.asConfig(err)
	}
	res, err := success(body)
	if err != nil { // strings and booleans only: cannot happen, but must not be silent
		res = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: e.Error()}}}
	}
	res.IsError = true
	return res
}

// coded gives every error a code. A call the client gave up on is CANCELLED,
// not INTERNAL.
func coded(err error) *engine.Error {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return e
	}
	switch {
	case errors.Is(err, context.Canceled):
		return engine.Errorf(engine.CancelledCode, "call was cancelled by the client")
	case errors.Is(err, context.DeadlineExceeded):
		return engine.Errorf(engine.Timeout, "call ran out of time")
	}
	return engine.Errorf(engine.Internal, "%w", err)
}

// encode is compact JSON without HTML escapes: file contents are full of < and
// >, and six bytes for each would be paid twice.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}
