package script

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Values of Tool.OutputShape.
const (
	shapeBash = "bash" // {stdout,stderr,interrupted,isImage,noOutputExpected}
	shapeRead = "read" // {type,file:{filePath,content,numLines,startLine,totalLines}}
	shapeMCP  = "mcp"  // content blocks
	shapeText = "text" // a string
	shapeRaw  = "raw"  // Output as it is
)

// response builds the tool_response of a call that ran.
func (p *process) response(t *turn, c *call) any {
	switch c.tool.Name {
	case "AskUserQuestion":
		return map[string]any{"questions": c.input["questions"], "answers": c.input["answers"]}
	case "ExitPlanMode":
		return map[string]any{"plan": c.input["plan"], "isAgent": false}
	case "StructuredOutput":
		return "Structured output provided successfully"
	}
	var out any = ""
	if c.tool.Output != nil {
		_ = json.Unmarshal(c.tool.Output, &out) // valid: it came out of a decoder
	}
	out = p.expand(t, out)
	text, isText := out.(string)
	if !isText {
		return out
	}
	switch c.shape() {
	case shapeBash:
		return map[string]any{"stdout": text, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": text == ""}
	case shapeRead:
		n := strings.Count(text, "\n") + 1
		return map[string]any{"type": "text", "file": map[string]any{
			"filePath": c.input["file_path"], "content": text, "numLines": n, "startLine": 1, "totalLines": n}}
	case shapeMCP:
		return []any{textBlock(text)}
	}
	return text
}

func (c *call) shape() string {
	switch {
	case c.tool.OutputShape != "":
		return c.tool.OutputShape
	case c.tool.Name == "Bash":
		return shapeBash
	case c.tool.Name == "Read":
		return shapeRead
	case strings.HasPrefix(c.tool.Name, "mcp__"):
		return shapeMCP
	}
	return shapeText
}

// render makes the content of the tool_result block from a tool_response.
func (c *call) render(response any) any {
	if blocks, ok := response.([]any); ok && len(blocks) == 0 {
		return "(" + c.tool.Name + " completed with no output)"
	}
	m, ok := response.(map[string]any)
	if !ok {
		return response
	}
	if stdout, ok := m["stdout"].(string); ok {
		stderr, _ := m["stderr"].(string)
		if text := strings.Trim(stdout+"\n"+stderr, "\n"); text != "" {
			return text
		}
		return "(Bash completed with no output)"
	}
	if file, ok := m["file"].(map[string]any); ok {
		content, _ := file["content"].(string)
		var b strings.Builder
		for i, line := range strings.Split(content, "\n") {
			fmt.Fprintf(&b, "%d\t%s\n", i+1, line)
		}
		return strings.TrimSuffix(b.String(), "\n")
	}
	if blocks, ok := m["content"].([]any); ok {
		return blocks
	}
	if c.tool.Name == "AskUserQuestion" {
		return answersText(m["answers"])
	}
	line, err := marshal(m)
	if err != nil {
		return fmt.Sprint(m)
	}
	return strings.TrimSuffix(string(line), "\n")
}

func answersText(v any) string {
	answers, _ := v.(map[string]any)
	if len(answers) == 0 {
		return "The user did not answer."
	}
	line, err := marshal(answers)
	if err != nil {
		return fmt.Sprint(answers)
	}
	return "The user answered: " + strings.TrimSuffix(string(line), "\n")
}

// redacted applies PostToolUse answers: only a value of the tool's own shape
// replaces the output, anything else passes the original through silently.
func (c *call) redacted(response any, outs []hookOutput) any {
	for _, o := range outs {
		if o.refused || o.Specific == nil {
			continue
		}
		raw := o.Specific.Output
		if strings.HasPrefix(c.tool.Name, "mcp__") {
			raw = o.Specific.MCPOutput
		}
		var v any
		if raw != nil && json.Unmarshal(raw, &v) == nil && sameShape(response, v) {
			response = v
		}
	}
	return response
}

// sameShape compares kinds, and for objects the keys, recursively.
func sameShape(a, b any) bool {
	ma, okA := a.(map[string]any)
	mb, okB := b.(map[string]any)
	if !okA || !okB {
		return okA == okB && kind(a) == kind(b)
	}
	if len(ma) != len(mb) {
		return false
	}
	for k := range ma {
		if _, ok := mb[k]; !ok || !sameShape(ma[k], mb[k]) {
			return false
		}
	}
	return true
}

func kind(v any) reflect.Kind {
	k := reflect.ValueOf(v).Kind()
	if k == reflect.Int {
		return reflect.Float64 // built here, compared with a decoded number
	}
	return k
}
