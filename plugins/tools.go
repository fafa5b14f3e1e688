package plugins

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

// Bounds of the output of tools_list.
const (
	MaxTools       = 64
	MaxDescription = 4 << 10  // bytes
	MaxSchema      = 64 << 10 // bytes of an input schema
)

// MaxArguments is how many bytes the arguments of a tool may have.
const MaxArguments = 1 << 20

// Tool is a tool that a plugin offers.
type Tool struct {
	Plugin      string
	Name        string          // [A-Za-z0-9_-]{1,64}
	Description string          // no character in it is invisible
	InputSchema json.RawMessage // a JSON schema of type object
	Annotations json.RawMessage // MCP tool annotations; nil: none
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// decodeTools reads {"tools": [{"name", "description", "inputSchema", "annotations"?}]}.
func decodeTools(plugin string, raw json.RawMessage) ([]Tool, error) {
	if len(raw) == 0 {
		return nil, errors.New(`no output, want {"tools": […]}`)
	}
	if err := checkJSON(raw); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	r := read(raw, "output", "tools")
	items := r.items("tools", MaxTools)
	if r.err != nil {
		return nil, r.err
	}
	tools, seen := make([]Tool, len(items)), make(map[string]bool)
	for i, item := range items {
		t, err := decodeTool(item, fmt.Sprintf("output: tools[%d]", i))
		if err != nil {
			return nil, err
		}
		if seen[t.Name] {
			return nil, fmt.Errorf("output: tools[%d]: two tools are called %s", i, t.Name)
		}
		t.Plugin, seen[t.Name] = plugin, true
		tools[i] = t
	}
	return tools, nil
}

func decodeTool(raw json.RawMessage, at string) (Tool, error) {
	r := read(raw, at, "name", "description", "inputSchema", "annotations")
	t := Tool{
		Name: r.text("name", shown), Description: r.text("description", MaxDescription),
		InputSchema: r.members["inputSchema"], Annotations: r.members["annotations"],
	}
	if !toolName.MatchString(t.Name) {
		r.fail("name %q does not match %s", clip(t.Name), toolName)
	}
	if i := strings.IndexFunc(t.Description, hiddenInText); i >= 0 {
		r.fail("description has an invisible character at byte %d", i)
	}
	if len(t.InputSchema) > MaxSchema {
		r.fail("inputSchema has %d bytes, at most %d may be", len(t.InputSchema), MaxSchema)
	}
	if r.err == nil && !r.has("inputSchema") {
		r.fail("inputSchema is missing")
	}
	if r.err == nil {
		r.err = checkSchema(t.InputSchema, at)
	}
	if r.err == nil && t.Annotations != nil {
		r.err = checkToolAnnotations(t.Annotations, at)
	}
	return t, r.err
}

// hiddenInText is for texts of several lines, which a model reads.
func hiddenInText(r rune) bool { return r != '\n' && r != '\t' && unseen.Rune(r) }

func checkSchema(raw json.RawMessage, at string) error {
	var kind string
	rawjson.Each(raw, func(literal, value []byte) {
		if name, err := rawjson.Name(literal); err == nil && name == "type" {
			kind = string(value)
		}
	})
	if kind != `"object"` {
		return fmt.Errorf(`%s: inputSchema is no object with "type": "object"`, at)
	}
	return nil
}

func checkToolAnnotations(raw json.RawMessage, at string) error {
	r := read(raw, at+": annotations", "title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
	title := r.optional("title", shown)
	if strings.ContainsFunc(title, unseen.Rune) {
		r.fail("title has an invisible character")
	}
	for name := range r.members {
		if name != "title" {
			r.flag(name)
		}
	}
	return r.err
}

// Tools are those of all plugins, by plugin and name.
func (h *Host) Tools() (tools []Tool) {
	for _, p := range h.at(ToolsCall) {
		tools = append(tools, p.tools...)
	}
	slices.SortFunc(tools, func(a, b Tool) int {
		return cmp.Or(strings.Compare(a.Plugin, b.Plugin), strings.Compare(a.Name, b.Name))
	})
	return tools
}

// CallTool calls a plugin's tool for a session, whose kv it sees; empty: for none.
// arguments is an object; nil: an empty one. The result is an MCP tool result:
// {"content": […], "isError"?: bool}. An error tells that there is none.
func (h *Host) CallTool(ctx context.Context, plugin, tool, sessionID string, arguments json.RawMessage) (result json.RawMessage, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = nil, fmt.Errorf("plugin %q: tool %s: panic: %v", plugin, clip(tool), v)
		}
	}()
	doc, err := toolDocument(tool, sessionID, arguments)
	if err != nil {
		return nil, fmt.Errorf("plugin %q: tool %s: %w", plugin, clip(tool), err)
	}
	plugins, release := h.hold(ToolsCall)
	defer release()
	for _, p := range plugins {
		if p.config.Name != plugin || !slices.ContainsFunc(p.tools, func(t Tool) bool { return t.Name == tool }) {
			continue
		}
		if err := h.upToDate(ctx, p, sessionID); err != nil {
			return nil, fmt.Errorf("plugin %q: tool %s: %w", plugin, tool, err)
		}
		o, err := p.callFor(ctx, ToolsCall, doc, sessionID, func(o Outcome) error { return checkToolResult(o.Output) })
		return o.Output, err
	}
	return nil, fmt.Errorf("plugin %q: has no tool %q, or is not loaded", clip(plugin), clip(tool))
}

func toolDocument(tool, sessionID string, arguments json.RawMessage) (*document, error) {
	if arguments == nil {
		arguments = json.RawMessage(`{}`)
	}
	if len(arguments) > MaxArguments {
		return nil, fmt.Errorf("the arguments have %d bytes, at most %d may be", len(arguments), MaxArguments)
	}
	if err := checkJSON(arguments); err != nil {
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	if kind := rawjson.Kind(arguments); kind != "an object" {
		return nil, fmt.Errorf("the arguments are %s, want an object", kind)
	}
	m := members{"arguments": arguments}
	m.put("tool", tool)
	if sessionID != "" {
		m.put("session", map[string]string{"id": sessionID})
	}
	return newDocument(ToolsCall, m), nil
}
