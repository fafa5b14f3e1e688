package inproc

import (
	"context"
	"encoding/json"
	"errors"
)

// Tool is a tool known as JSON only.
type Tool struct {
	Name         string // as the server calls it: [A-Za-z0-9_.-]{1,128}
	Title        string
	Description  string
	InputSchema  json.RawMessage // a JSON schema of type object; required
	OutputSchema json.RawMessage // nil: none
	Annotations  json.RawMessage // MCP tool annotations; nil: none
	Meta         json.RawMessage // _meta of the tool, an object; nil: none

	// Unchecked leaves the arguments to Call; else what does not fit InputSchema is
	// answered with an error before Call is asked.
	Unchecked bool

	// Call runs the tool for a session. arguments is an object. The result is an MCP
	// tool result, {"content": […], "structuredContent"?, "isError"?}; an error is
	// told to the model as text.
	Call func(ctx context.Context, session string, arguments json.RawMessage) (json.RawMessage, error)
}

// ToolSet is a [Server] whose tools are replaced as a whole.
type ToolSet struct {
	*Server
}

// NewToolSet makes a ToolSet without tools. instructions are told to the model;
// mostly "".
func NewToolSet(name, version, instructions string, o *Options) *ToolSet {
	return &ToolSet{Server: Serve(nil, o)}
}

// Replace puts tools in the place of all that were there. Sessions are told if
// anything changed; one that did not change is left alone, and so are its calls.
// With an error, which names the tool, nothing is changed.
func (s *ToolSet) Replace(tools []Tool) error { return errors.New("inproc: not there yet") }
