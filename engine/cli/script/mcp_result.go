package script

import (
	"encoding/json"
	"fmt"
	"strings"
)

// toolAnswer turns a tool result of MCP into the tool_response, as the real CLI
// does: structured content takes the place of the blocks, as a string, and the
// blocks are told in the model's own kinds.
func (p *process) toolAnswer(c *call, server string, raw json.RawMessage) (any, error) {
	var r struct {
		Content    []map[string]any `json:"content"`
		Structured json.RawMessage  `json:"structuredContent"`
		Meta       map[string]any   `json:"_meta"`
		IsError    bool             `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || r.Content == nil {
		p.broken("answer to %s has no content: %.200s", c.tool.Name, raw)
		return nil, errExit
	}
	if r.IsError {
		c.keepExtras(nil, r.Meta)
		return failedText(r.Content), nil
	}
	c.keepExtras(r.Structured, r.Meta)
	if r.Structured != nil {
		return string(r.Structured), nil
	}
	blocks := []any{}
	for _, b := range r.Content {
		blocks = append(blocks, modelBlock(server, b))
	}
	return blocks, nil
}

// failedText is all that is told of a failed call.
func failedText(content []map[string]any) toolFailed {
	var texts []string
	for _, b := range content {
		if b["type"] == "text" {
			texts = append(texts, fmt.Sprint(b["text"]))
		}
	}
	return toolFailed(strings.Join(texts, "\n"))
}

// modelBlock is a content block of MCP as the model reads it.
func modelBlock(server string, b map[string]any) any {
	switch b["type"] {
	case "image":
		return map[string]any{"type": "image", "source": map[string]any{
			"type": "base64", "media_type": b["mimeType"], "data": b["data"]}}
	case "audio":
		return textBlock(fmt.Sprintf("[Audio from %s] Binary content (%v) saved to a file", server, b["mimeType"]))
	case "resource_link":
		return textBlock(fmt.Sprintf("[Resource link: %v] %v", b["name"], b["uri"]))
	case "resource":
		r, _ := b["resource"].(map[string]any)
		return textBlock(fmt.Sprintf("[Resource from %s at %v] %v", server, r["uri"], r["text"]))
	}
	return b
}

// keepExtras notes what goes beside the result into its user frame.
func (c *call) keepExtras(structured json.RawMessage, meta map[string]any) {
	c.extras = map[string]any{}
	if structured != nil {
		c.extras["structuredContent"] = structured
	}
	if meta != nil {
		c.extras["_meta"] = meta
	}
}

// shown is the tool_use_result of a user frame: extras stay as the server had
// them, also where a hook replaced the result.
func (c *call) shown(response any) any {
	if len(c.extras) == 0 {
		return response
	}
	all := map[string]any{"content": response}
	for k, v := range c.extras {
		all[k] = v
	}
	return all
}

// instructions of the servers, by name, as they reach the model.
func (p *process) instructions() map[string]string {
	all := map[string]string{}
	for _, s := range p.servers {
		all[s.name] = s.instructions
	}
	return all
}
