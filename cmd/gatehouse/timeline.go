package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// payload is what the timeline reads of an event; docs/events.md has the rest.
type payload struct {
	Type           string          `json:"type"`
	Message        json.RawMessage `json:"message"` // an object, or the text of a notice
	ToolName       string          `json:"toolName"`
	Input          json.RawMessage `json:"input"`
	Summary        string          `json:"summary"`
	Behavior       string          `json:"behavior"`
	Source         string          `json:"source"`
	Rule           string          `json:"rule"`
	Reason         string          `json:"reason"`
	DecisionReason string          `json:"decisionReason"`
	IsError        bool            `json:"is_error"`
	Result         string          `json:"result"`
	Content        json.RawMessage `json:"content"` // what a tool gave back
	Plugins        []struct {
		Name string `json:"name"`
	} `json:"plugins"` // that were heard
}

// decider is who decided: the plugin whose rule it was, or the source.
func (p *payload) decider() string {
	name, isPlugin := strings.CutPrefix(p.Rule, "plugin.")
	name = strings.TrimSuffix(name, ".error")
	for _, heard := range p.Plugins {
		if isPlugin && p.Source == "policy" && heard.Name == name {
			return "plugin " + name
		}
	}
	return p.Source
}

// text prints the line of an event, if it has one.
func (v *view) text(e event.Event) {
	var p payload
	if err := json.Unmarshal(e.Data, &p); err != nil {
		v.line(e.Timestamp, "!", fmt.Sprintf("event %d of type %s cannot be read", e.ID, e.Type))
		return
	}
	switch e.Type {
	case event.Output:
		for _, text := range texts(p.Message) {
			v.line(e.Timestamp, "›", text)
		}
	case event.PermissionResult:
		v.decision(e, p)
	case event.PermissionAsked:
		v.tally.asked = append(v.tally.asked, p.Summary)
		v.line(e.Timestamp, "?", fmt.Sprintf("%s  asked by rule %s: %s", p.Summary, p.Rule, p.DecisionReason))
	case event.ToolResult:
		v.toolResult(e, p)
	case event.Error:
		v.line(e.Timestamp, "!", p.Result)
	case event.Notice:
		var message string
		if json.Unmarshal(p.Message, &message) == nil {
			v.line(e.Timestamp, "!", p.Type+": "+message)
		}
	}
}

func (v *view) decision(e event.Event, p payload) {
	call := cmp.Or(v.about, describe(p.ToolName, p.Input))
	if p.Behavior == "allow" {
		if p.Source == "policy" {
			v.tally.allowed = append(v.tally.allowed, call)
		}
		v.line(e.Timestamp, "✓", fmt.Sprintf("%s  allowed by %s, rule %s", call, p.Source, p.Rule))
		return
	}
	v.tally.denied = append(v.tally.denied, call)
	reason, said := p.Reason, ""
	if p.Source != "policy" && json.Unmarshal(p.Message, &said) == nil && said != "" {
		reason = said // of whoever answered; the rule's was shown when it asked
	}
	v.line(e.Timestamp, "✗", fmt.Sprintf("%s  denied by %s, rule %s: %s", call, p.decider(), p.Rule, reason))
}

// toolResult marks secrets that were covered before the model read them: the
// result then arrives covered, so the event itself tells of no redaction.
func (v *view) toolResult(e event.Event, p payload) {
	if len(e.Redactions) > 0 {
		return
	}
	for _, detector := range placeholders(e.Data) {
		v.tally.redactions[detector]++
		v.line(e.Timestamp, "■", "redacted "+detector+" in the output of a tool, before the model read it")
	}
}

// placeholders lists the detectors named by the placeholders in data.
func placeholders(data []byte) []string {
	var found []string
	for {
		_, after, ok := bytes.Cut(data, []byte("[REDACTED:"))
		if !ok {
			return found
		}
		if name, rest, ok := bytes.Cut(after, []byte("]")); ok {
			found = append(found, string(name))
			data = rest
			continue
		}
		return found
	}
}

// texts returns the text blocks of an assistant message.
func texts(message json.RawMessage) []string {
	var m struct {
		Content []struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"content"`
	}
	if json.Unmarshal(message, &m) != nil {
		return nil
	}
	var out []string
	for _, block := range m.Content {
		if block.Type == "text" && strings.TrimSpace(block.Text) != "" {
			out = append(out, block.Text)
		}
	}
	return out
}

// telling are the members of inputs that say best what a call is about.
var telling = []string{"command", "file_path", "notebook_path", "url", "pattern", "query", "description", "message"}

// describe names a call by its tool and the most telling member of its input.
func describe(tool string, input json.RawMessage) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(input, &members) != nil {
		return tool
	}
	for _, name := range telling {
		var text string
		if json.Unmarshal(members[name], &text) == nil && text != "" {
			return tool + ": " + text
		}
	}
	return tool
}
