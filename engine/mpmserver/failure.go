package mpmserver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// defaultRetryAfter is told where the API named no time, in seconds.
const defaultRetryAfter = 60

// failureOf is what a failed turn is told as; r is its result.
func failureOf(t *engine.Turn, r engine.Result, l limit) (text string, kind engine.ErrorType, retryAfter int) {
	text, kind, retryAfter = strings.TrimPrefix(r.Result, fmt.Sprintf("Error [%s]: ", r.Code)), r.ErrorType, r.RetryAfter
	switch {
	case t.TimedOut():
		text = "Session timed out after " + l.given + "s"
	case r.Code == engine.CancelledCode && t.Session().Info().CancelledSource == stopTool:
		text = stopped
	case text == "":
		text = "the turn failed, and the CLI gave no reason"
	}
	if kind == "" {
		kind = engine.SessionError
	}
	if kind == engine.RateLimitError && retryAfter <= 0 {
		retryAfter = defaultRetryAfter
	}
	return text, kind, retryAfter
}

// turnRefused renders an error of a call that ran no turn: it was refused, or its
// end is not known. It has the members of any failed turn.
func turnRefused(c mcpserver.Call, err error) *mcp.CallToolResult {
	v := turnView{SessionID: c.Shown("session_id"), Error: messageOf(err), ErrorType: engine.SessionError}
	return v.result(c)
}

// errorView is an error of the other tools.
type errorView struct {
	Error     string           `json:"error"`
	ErrorType engine.ErrorType `json:"error_type"`
	SessionID string           `json:"session_id,omitempty"` // where the call named one
}

func refused(c mcpserver.Call, err error) *mcp.CallToolResult {
	res, encodeErr := text(errorView{messageOf(err), engine.SessionError, c.Shown("session_id")})
	if encodeErr != nil { // texts only: cannot happen, but must not be silent
		res = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: messageOf(err)}}}
	}
	return failed(res)
}

func failed(res *mcp.CallToolResult) *mcp.CallToolResult {
	if res != nil {
		res.IsError = true
	}
	return res
}

// messageOf is an error without its code: clients of this family branch on error_type.
func messageOf(err error) string {
	if e, ok := errors.AsType[*engine.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
