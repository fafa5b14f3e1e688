package inproc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// MaxTools bounds the tools of a [ToolSet]; all fit one page of tools/list.
const MaxTools = 1000

// Tool is a tool known as JSON only.
type Tool struct {
	Name         string // as the server calls it: [A-Za-z0-9_.-]{1,128}
	Title        string
	Description  string
	InputSchema  json.RawMessage // a JSON schema of type object, up to 256 KiB; required
	OutputSchema json.RawMessage // told to the model, not checked; nil: none
	Annotations  json.RawMessage // MCP tool annotations; nil: none
	Meta         json.RawMessage // _meta of the tool, an object; nil: none

	// Unchecked leaves the arguments to Call; else what does not fit InputSchema is
	// answered with an error before Call is asked. A schema that is checked is of
	// draft-07 or 2020-12, refers to places within itself only, and is refused when
	// checking could take work without bound.
	Unchecked bool

	// Call runs the tool for a session. arguments is an object, as the CLI sent it
	// and without defaults. The result is an MCP tool result, {"content": […],
	// "structuredContent"?, "isError"?}, and is passed on as it is, but for content
	// where there is none; an error is told
	// to the model as text, unless it is a *jsonrpc.Error. It is called concurrently.
	Call func(ctx context.Context, session string, arguments json.RawMessage) (json.RawMessage, error)
}

// ToolSet is a [Server] whose tools are replaced as a whole.
type ToolSet struct {
	*Server

	mu    sync.Mutex
	tools map[string]*offer
}

// offer is a tool that sessions are told of.
type offer struct {
	text      []byte // the tool as JSON, to tell whether it changed
	tool      *mcp.Tool
	arguments *schema // nil: unchecked
	call      atomic.Pointer[callFunc]
}

type callFunc = func(ctx context.Context, session string, arguments json.RawMessage) (json.RawMessage, error)

// NewToolSet makes a ToolSet without tools. instructions are told to the model;
// mostly "".
func NewToolSet(name, version, instructions string, o *Options) *ToolSet {
	server := mcp.NewServer(&mcp.Implementation{Name: name, Version: version}, &mcp.ServerOptions{
		Instructions: instructions,
		PageSize:     MaxTools,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})
	s := &ToolSet{Server: Serve(server, o), tools: make(map[string]*offer)}
	s.name.Store(&name)
	return s
}

// Replace puts tools in the place of all that were there. Sessions are told if
// anything changed; one that did not change is left alone, but for its Call, and so
// are its calls. Calls of a tool that is gone go on. With an error, which names the
// tool, nothing is changed. Names that differ in a "." and a "_" alone are refused:
// the CLI spells both with a "_".
func (s *ToolSet) Replace(tools []Tool) error {
	if len(tools) > MaxTools {
		return fmt.Errorf("replace tools: %d tools are over the limit of %d", len(tools), MaxTools)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next, spelt := make(map[string]*offer, len(tools)), make(map[string]string, len(tools))
	for _, t := range tools {
		if next[t.Name] != nil {
			return fmt.Errorf("replace tools: tool %q is there twice", t.Name)
		}
		if other, taken := spelt[spelling(t.Name)]; taken {
			return fmt.Errorf("replace tools: tool %.140q is spelt as tool %.140q is by the CLI, which would call one for the other; rename one of them", t.Name, other)
		}
		spelt[spelling(t.Name)] = t.Name
		o, err := s.offer(t)
		if err != nil {
			return fmt.Errorf("replace tools: tool %.140q: %w", t.Name, err)
		}
		next[t.Name] = o
	}
	s.swap(tools, next)
	return nil
}

// offer makes a new offer, or finds the one that is the same.
func (s *ToolSet) offer(t Tool) (*offer, error) {
	if t.Call == nil {
		return nil, fmt.Errorf("it has no Call")
	}
	tool, err := t.tool()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(struct {
		Tool      *mcp.Tool
		Unchecked bool
	}{tool, t.Unchecked})
	if err != nil {
		return nil, err
	}
	if old := s.tools[t.Name]; old != nil && bytes.Equal(old.text, text) {
		return old, nil
	}
	o := &offer{text: text, tool: tool}
	if !t.Unchecked {
		if o.arguments, err = compile(t.InputSchema); err != nil {
			return nil, fmt.Errorf("input %w", err)
		}
	}
	return o, addable(tool)
}

// swap makes next the tools; nothing can fail any more.
func (s *ToolSet) swap(tools []Tool, next map[string]*offer) {
	var gone []string
	for name := range s.tools {
		if next[name] == nil {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, t := range tools {
		o, call := next[t.Name], t.Call
		o.call.Store(&call)
		if s.tools[t.Name] != o {
			s.server.AddTool(o.tool, o.handle)
		}
	}
	if len(gone) > 0 {
		s.server.RemoveTools(gone...)
	}
	s.tools = next
}

// spelling is a tool's name as it stands in its full name.
func spelling(name string) string { return strings.ReplaceAll(name, ".", "_") }

var toolNames = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// tool is the tool as the go-sdk has it.
func (t *Tool) tool() (*mcp.Tool, error) {
	if !toolNames.MatchString(t.Name) {
		return nil, fmt.Errorf("name is not of [A-Za-z0-9_.-]{1,128}")
	}
	if err := plausible(t.InputSchema); err != nil {
		return nil, fmt.Errorf("input %w", err)
	}
	// The author may use the bytes again.
	tool := &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: json.RawMessage(bytes.Clone(t.InputSchema))}
	if t.OutputSchema != nil {
		if len(t.OutputSchema) > maxSchemaBytes || !json.Valid(t.OutputSchema) {
			return nil, fmt.Errorf("output schema is not JSON of up to %d bytes", maxSchemaBytes)
		}
		tool.OutputSchema = json.RawMessage(bytes.Clone(t.OutputSchema))
	}
	if t.Annotations != nil {
		if err := json.Unmarshal(t.Annotations, &tool.Annotations); err != nil {
			return nil, fmt.Errorf("annotations: %w", err)
		}
	}
	if t.Meta != nil {
		if err := json.Unmarshal(t.Meta, &tool.Meta); err != nil {
			return nil, fmt.Errorf("_meta: %w", err)
		}
	}
	return tool, nil
}

// addable tries a tool out on a server of its own: the go-sdk panics where it
// refuses one.
func addable(tool *mcp.Tool) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it is refused: %v", p)
		}
	}()
	mcp.NewServer(&mcp.Implementation{}, nil).AddTool(tool, nil)
	return nil
}

// handle is the handler of a tool.
func (o *offer) handle(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	arguments := req.Params.Arguments
	if len(arguments) == 0 || string(arguments) == "null" {
		arguments = json.RawMessage(`{}`)
	}
	if err := o.fits(arguments); err != nil {
		res := &mcp.CallToolResult{}
		res.SetError(fmt.Errorf("validating \"arguments\": %w", err))
		return res, nil
	}
	text, err := (*o.call.Load())(ctx, SessionID(req), arguments)
	if err != nil {
		return nil, err
	}
	if text, err = wellFormed(text); err != nil {
		return nil, fmt.Errorf("tool %q gave no tool result: %w", o.tool.Name, err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&verbatim{text: text}}}, nil
}
