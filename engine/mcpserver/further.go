package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool of another family, served beside the own ones: its arguments are
// decoded as strictly, and its panics are caught.
type Tool struct {
	Name, Title, Description string
	Input                    json.RawMessage // schema; its properties are the known arguments
	Annotations              mcp.ToolAnnotations
	Guide                    string // for the server's instructions; tools of one family share it, or one has it

	Run func(ctx context.Context, c Call) (*mcp.CallToolResult, error)
	// Fail renders an error of Run, of the arguments, or a panic.
	Fail func(c Call, err error) *mcp.CallToolResult
}

// Call is one request to a [Tool].
//
// Its getters read arguments, each of which is absent or not null. They return the
// zero value, or the default, for an absent name. The first one that meets a wrong
// type or value keeps its complaint: check Err once, after the last getter.
type Call struct {
	Engine   *engine.Engine
	Progress func(ctx context.Context, message string) // tells a client that asked for it that the call goes on; never nil

	arguments *arguments
	session   *mcp.ServerSession // nil in Fail
}

// Answer is an answer of one text block. A long one is passed to the client without
// the copies that each layer of the SDK would make; text is not to be changed after.
func (c Call) Answer(text []byte) *mcp.CallToolResult {
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	content := &mcp.TextContent{}
	if mark, ok := leaveMark(c.session, text); ok {
		content.Text = mark
	} else {
		content.Text = string(text)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{content}}
}

// Err is what is wrong with the arguments, an *engine.Error with code
// INVALID_ARGUMENT, or nil.
func (c Call) Err() error { return c.arguments.err }

// Refuse complains of an argument in a way that no getter does.
func (c Call) Refuse(format string, args ...any) { c.arguments.fail(format, args...) }

// Has reports whether the caller set name.
func (c Call) Has(name string) bool { return c.arguments.has(name) }

// Required is a string that has to be there and is not blank.
func (c Call) Required(name string) string { return c.arguments.required(name) }

// Text is a string that, when given, is not blank.
func (c Call) Text(name string) string { return c.arguments.text(name) }

// Free is a string that may be blank.
func (c Call) Free(name string) string { return c.arguments.free(name) }

// Choice is one of words; def when absent.
func (c Call) Choice(name, def string, words ...string) string {
	return c.arguments.choice(name, def, words...)
}

// Boolean is true or false; def when absent.
func (c Call) Boolean(name string, def bool) bool { return c.arguments.boolean(name, def) }

// Number is a finite number; def when absent.
func (c Call) Number(name string, def float64) float64 { return c.arguments.number(name, def) }

// Shown is a string as it was sent, also by a call that is refused; "" for
// anything else. It complains of nothing.
func (c Call) Shown(name string) string {
	var s string
	if raw := c.arguments.values[name]; kindOf(raw) != "a string" || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// describe is the tool as clients list it.
func (t *Tool) describe() *mcp.Tool {
	annotations := t.Annotations
	return &mcp.Tool{
		Name: t.Name, Title: t.Title, Description: t.Description,
		InputSchema: t.Input, Annotations: &annotations,
	}
}

// handleFurther is the way into a tool of another family, as handle is into an own one.
func (s *server) handleFurther(t Tool) mcp.ToolHandler {
	return s.guard(guarded{
		name: t.Name, known: properties(t.Input),
		run: func(ctx context.Context, req *mcp.CallToolRequest, a *arguments) (*mcp.CallToolResult, error) {
			return t.Run(ctx, Call{Engine: s.engine, Progress: progressOf(req), arguments: a, session: req.Session})
		},
		fail: func(a *arguments, err error) *mcp.CallToolResult {
			res := t.Fail(Call{Engine: s.engine, Progress: progressOf(nil), arguments: a}, coded(err))
			res.IsError = true
			return res
		},
	})
}

// guides are the instructions of the families that are served.
func (o *Options) guides() []string {
	var list []string
	switch {
	case o.Without:
	case o.Sync:
		list = append(list, instructionsSync)
	default:
		list = append(list, instructions)
	}
	for _, t := range o.Further {
		if t.Guide != "" && !slices.Contains(list, t.Guide) {
			list = append(list, t.Guide)
		}
	}
	return list
}
