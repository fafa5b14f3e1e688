package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

// Bounds of a tool, in bytes.
const (
	maxDescription = 16 << 10
	maxTitle       = 256
	maxSchema      = 256 << 10
)

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// candidate is a tool of a server, which may be offered.
type candidate struct {
	tool    inproc.Tool // without Call
	leftOut string      // empty: it is offered
}

// sift looks at the tools of a server one by one.
func (s *Server) sift(raw []json.RawMessage) []candidate {
	seen, spelt := make(map[string]bool), make(map[string]bool)
	list := make([]candidate, 0, len(raw))
	for _, one := range raw {
		tool, problem := readTool(one)
		switch {
		case problem != "":
		case seen[tool.Name]:
			problem = "another tool of this server has its name"
		case !s.offers(tool.Name):
			problem = "the list of tools does not name it"
		case spelt[strings.ReplaceAll(tool.Name, ".", "_")]:
			problem = "another tool of this server has its name as the CLI spells it, with _ for each ."
		}
		seen[tool.Name] = true
		if problem == "" {
			spelt[strings.ReplaceAll(tool.Name, ".", "_")] = true
		}
		list = append(list, candidate{tool, problem})
	}
	return list
}

// readTool returns a tool, or what is wrong with it.
func readTool(raw json.RawMessage) (t inproc.Tool, problem string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || members == nil {
		return t, "it is no object"
	}
	t.Unchecked = true // the server looks at the arguments itself
	for name, text := range map[string]*string{"name": &t.Name, "title": &t.Title, "description": &t.Description} {
		if value := members[name]; value != nil && json.Unmarshal(value, text) != nil {
			return t, "its " + name + " is no string"
		}
	}
	t.Title, t.Description = plain(t.Title), plain(strings.ReplaceAll(t.Description, "\r\n", "\n"))
	t.InputSchema, t.OutputSchema = plainSchema(members["inputSchema"]), plainSchema(members["outputSchema"])
	if problem := textProblem(t); problem != "" {
		t.Name, t.Title, t.Description = readable(t.Name), "", ""
		return t, problem
	}
	if problem := schemaProblem("inputSchema", t.InputSchema); problem != "" {
		return t, problem
	}
	if string(t.OutputSchema) == "null" {
		t.OutputSchema = nil
	}
	if t.OutputSchema != nil {
		if problem := schemaProblem("outputSchema", t.OutputSchema); problem != "" {
			return t, problem
		}
	}
	if t.Annotations, problem = annotations(members["annotations"]); problem != "" {
		return t, problem
	}
	t.Meta = meta(members["_meta"])
	return t, ""
}

func textProblem(t inproc.Tool) string {
	switch {
	case !toolName.MatchString(t.Name):
		return fmt.Sprintf("its name does not match %s", toolName)
	case len(t.Title) > maxTitle:
		return fmt.Sprintf("its title has %d bytes; at most %d may be", len(t.Title), maxTitle)
	case len(t.Description) > maxDescription:
		return fmt.Sprintf("its description has %d bytes; at most %d may be", len(t.Description), maxDescription)
	case strings.ContainsFunc(t.Title, unseen.Rune):
		return "its title has an invisible character"
	case strings.ContainsFunc(t.Description, hidden):
		return "its description has an invisible character"
	}
	return ""
}

// hidden is for texts of several lines, which a model reads.
func hidden(r rune) bool { return r != '\n' && r != '\t' && unseen.Rune(r) }

// readable is a name that cannot be one, for messages.
func readable(name string) string {
	return clip(strings.Map(func(r rune) rune {
		if unseen.Rune(r) {
			return '�'
		}
		return r
	}, name), 128)
}

func schemaProblem(what string, raw json.RawMessage) string {
	if len(raw) > maxSchema {
		return fmt.Sprintf("its %s has %d bytes; at most %d may be", what, len(raw), maxSchema)
	}
	var schema map[string]any
	if json.Unmarshal(raw, &schema) != nil || schema["type"] != "object" {
		return fmt.Sprintf(`its %s is no schema with "type": "object"`, what)
	}
	if anyHidden(schema) {
		return "its " + what + " has an invisible character"
	}
	return ""
}

// anyHidden looks at all texts of a document, which the model reads as well.
func anyHidden(v any) bool {
	switch v := v.(type) {
	case string:
		return strings.ContainsFunc(strings.ReplaceAll(v, "\r\n", "\n"), hidden)
	case []any:
		for _, item := range v {
			if anyHidden(item) {
				return true
			}
		}
	case map[string]any:
		for name, member := range v {
			if strings.ContainsFunc(name, unseen.Rune) || anyHidden(member) {
				return true
			}
		}
	}
	return false
}

// annotations keeps those that MCP knows.
func annotations(raw json.RawMessage) (kept json.RawMessage, problem string) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ""
	}
	var known struct {
		Title       string `json:"title,omitempty"`
		ReadOnly    *bool  `json:"readOnlyHint,omitempty"`
		Destructive *bool  `json:"destructiveHint,omitempty"`
		Idempotent  *bool  `json:"idempotentHint,omitempty"`
		OpenWorld   *bool  `json:"openWorldHint,omitempty"`
	}
	if json.Unmarshal(raw, &known) != nil {
		return nil, "its annotations are not those of MCP"
	}
	known.Title = plain(known.Title)
	if len(known.Title) > maxTitle || strings.ContainsFunc(known.Title, unseen.Rune) {
		return nil, fmt.Sprintf("the title in its annotations has more than %d bytes or an invisible character", maxTitle)
	}
	kept, _ = json.Marshal(known) // of strings and booleans
	return kept, ""
}

// resultSize is the one thing in _meta that the CLI understands.
const resultSize = "anthropic/maxResultSizeChars"

func meta(raw json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil || rawjson.Kind(members[resultSize]) != "a number" {
		return nil
	}
	return json.RawMessage(`{"` + resultSize + `":` + string(members[resultSize]) + `}`)
}

// result passes on of a tool's result what the CLI understands, as it stands.
func result(raw json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return nil, errNoResult
	}
	if members["content"] == nil {
		members["content"] = json.RawMessage("[]")
	}
	out := []byte("{")
	for _, member := range []struct{ name, kind string }{{"content", "an array"}, {"structuredContent", ""}, {"isError", "a boolean"}} {
		value := members[member.name]
		switch kind := rawjson.Kind(value); {
		case value == nil:
			continue
		case member.kind != "" && kind != member.kind:
			return nil, errNoResult
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), member.name...), `":`...)
		out = append(out, value...)
	}
	return append(out, '}'), nil
}

var errNoResult = errors.New("it answered with what is no result of a tool")

// matches reports whether name is of a pattern, in which * is any run of characters.
func matches(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	parts := strings.Split(rest, "*")
	for _, part := range parts[:len(parts)-1] {
		at := strings.Index(name, part)
		if at < 0 {
			return false
		}
		name = name[at+len(part):]
	}
	return strings.HasSuffix(name, parts[len(parts)-1])
}
