package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// factFields are what the server finds out about a call.
var factFields = []string{"bash", "paths", "url", "diff"}

// documentFields are the members of a document, as they are written.
func documentFields(raw json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		if !json.Valid(raw) {
			return nil, fmt.Errorf("document: want a JSON object: %w", err)
		}
		return nil, fmt.Errorf("document: want a JSON object, got %s", shorten(strings.TrimSpace(string(raw)), 20))
	}
	return fields, nil
}

// withFacts adds to a partial document of a call what the server would find out
// about it. A document that brings facts of its own keeps those and gets none
// beside them; the note says so.
func (k *policyCall) withFacts(raw json.RawMessage) (json.RawMessage, string, error) {
	fields, err := documentFields(raw)
	if err != nil {
		return nil, "", err
	}
	var brought, lacks []string
	for _, name := range factFields {
		if _, ok := fields[name]; ok {
			brought = append(brought, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	if len(brought) > 0 {
		if len(lacks) == 0 {
			return raw, "", nil
		}
		return raw, fmt.Sprintf("the document brings %s, so no facts were computed: %s are empty, and rules that read them say nothing",
			strings.Join(brought, " and "), strings.Join(lacks, ", ")), nil
	}
	if _, err := policy.Complete(policy.EntryPermission, raw); err != nil {
		return nil, "", err // in the words of the document
	}
	var doc struct {
		Cwd     string `json:"cwd"`
		Session struct {
			Cwd             string   `json:"cwd"`
			Roots           []string `json:"roots"`
			Mode            string   `json:"mode"`
			AllowedTools    []string `json:"allowed_tools"`
			DisallowedTools []string `json:"disallowed_tools"`
			Trusted         *bool    `json:"trusted"`
		} `json:"session"`
		Tool struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		} `json:"tool"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, "", err
	}
	if doc.Tool.Name == "" {
		return raw, "the document names no tool, so no facts were computed: bash, paths, url and diff are empty", nil
	}
	r := permission.Request{
		SessionID: "policy", Door: permission.DoorAsk, ToolUseID: "policy", Tool: doc.Tool.Name, Input: doc.Tool.Input,
		Caller: permission.Caller{Client: "terminal", Transport: "terminal", UID: -1}, Session: k.session(),
	}
	if len(r.Input) == 0 || string(r.Input) == "null" {
		r.Input = json.RawMessage("{}")
	}
	s, told := &r.Session, doc.Session
	s.Cwd = firstOf(doc.Cwd, told.Cwd, s.Cwd)
	s.Mode = firstOf(told.Mode, s.Mode)
	if told.Roots != nil {
		s.Roots = told.Roots
	}
	if told.Trusted != nil {
		s.Trusted = *told.Trusted
	}
	if told.AllowedTools != nil {
		s.AllowedTools = told.AllowedTools
	}
	if told.DisallowedTools != nil {
		s.DisallowedTools = told.DisallowedTools
	}
	whole, err := k.set.Document(r)
	if err != nil {
		return nil, "", err
	}
	merged, err := laidOver(whole, raw)
	return merged, "bash, paths, url and diff were computed from the tool's input", err
}

func firstOf(texts ...string) string {
	i := slices.IndexFunc(texts, func(s string) bool { return s != "" })
	if i < 0 {
		return ""
	}
	return texts[i]
}

// laidOver puts the members of one object over those of another, at every depth.
func laidOver(below, above json.RawMessage) (json.RawMessage, error) {
	var low, high map[string]json.RawMessage
	if json.Unmarshal(below, &low) != nil || json.Unmarshal(above, &high) != nil || low == nil || high == nil {
		return above, nil
	}
	for name, value := range high {
		inner, err := laidOver(low[name], value)
		if err != nil {
			return nil, err
		}
		if low[name] == nil {
			inner = value
		}
		low[name] = inner
	}
	return json.Marshal(low)
}
