package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// coverDecisions has the redaction plans of the policies cover what is written
// down, too.
func (s *settings) coverDecisions(r event.Redactor) {
	if s.decisions == nil {
		return
	}
	s.decisions.CoverWith(func(ctx context.Context, parts json.RawMessage) (json.RawMessage, []redact.Finding, error) {
		return coverDecision(ctx, r, parts)
	})
}

// coverDecision covers the parts of a decision as a payload of its session: first
// what repeats the call, as the input of its tool, then all of it.
func coverDecision(ctx context.Context, r event.Redactor, parts json.RawMessage) (json.RawMessage, []redact.Finding, error) {
	d, err := readDecision(parts)
	if err != nil {
		return nil, nil, err
	}
	p := event.Payload{Sink: event.SinkAudit, Kind: event.Notice, Origin: d.origin()}
	var found []event.Redaction
	call, err := d.call()
	if err != nil {
		return nil, nil, err
	}
	if call != nil {
		p.Tool, p.Data = d.tool(), call
		out, more, err := r.Redact(ctx, p)
		if err != nil {
			return nil, nil, err
		}
		if found = more; len(more) > 0 {
			if parts, err = d.with(out); err != nil {
				return nil, nil, err
			}
		}
	}
	p.Tool, p.Data = "", parts
	out, more, err := r.Redact(ctx, p)
	if err != nil {
		return nil, nil, err
	}
	return out, asFindings(append(found, more...)), nil
}

func asFindings(found []event.Redaction) (findings []redact.Finding) {
	for _, f := range found {
		findings = append(findings, redact.Finding{Pointer: f.Pointer, Detector: f.Detector, Count: f.Count})
	}
	return findings
}

// writtenDecision is what the parts of a decision tell of the call it is about.
type writtenDecision struct {
	tree map[string]any
	told struct {
		Input *struct {
			Caller struct {
				Client, Transport, Subject string
				Groups                     []string
			}
			Session struct {
				ID, Cwd, Mode, Model string
				Trusted              bool
			}
			History  struct{ Taint []string }
			Tool     struct{ Name string }
			Approval struct{ Tool string }
		}
	}
}

func readDecision(parts json.RawMessage) (d writtenDecision, err error) {
	tree := json.NewDecoder(bytes.NewReader(parts))
	tree.UseNumber()
	if err = tree.Decode(&d.tree); err == nil {
		err = json.Unmarshal(parts, &d.told)
	}
	if err != nil {
		return d, fmt.Errorf("parts of a decision: %w", err)
	}
	return d, nil
}

// origin is the session as the policies see it for events; nil where nothing was
// judged.
func (d *writtenDecision) origin() *event.Origin {
	in := d.told.Input
	if in == nil {
		return nil
	}
	return &event.Origin{
		SessionID: in.Session.ID, Cwd: in.Session.Cwd, Mode: in.Session.Mode, Model: in.Session.Model, Trusted: in.Session.Trusted,
		Taint: in.History.Taint, Client: in.Caller.Client, Transport: in.Caller.Transport, Subject: in.Caller.Subject, Groups: in.Caller.Groups,
	}
}

// tool is the one called, or of the call that is answered; empty for none.
func (d *writtenDecision) tool() string {
	if d.told.Input == nil {
		return ""
	}
	return cmp.Or(d.told.Input.Tool.Name, d.told.Input.Approval.Tool)
}

// callPlaces are the places of a decision that repeat the call's arguments.
var callPlaces = [][]string{
	{"input", "tool", "input"}, {"input", "title"}, {"input", "bash"}, {"input", "paths"}, {"input", "url"}, {"input", "diff"},
	{"input", "suggestions"}, {"input", "approval", "updated_input"}, {"result", "updated_input"},
}

// call is what of the parts repeats the call's arguments, in its place; nil when
// no tool is called.
func (d *writtenDecision) call() (json.RawMessage, error) {
	if d.tool() == "" {
		return nil, nil
	}
	picked := map[string]any{}
	move(picked, d.tree)
	return encodeTree(picked)
}

// with is the parts with the call's arguments as they were covered.
func (d *writtenDecision) with(call json.RawMessage) (json.RawMessage, error) {
	covered := json.NewDecoder(bytes.NewReader(call))
	covered.UseNumber()
	var tree map[string]any
	if err := covered.Decode(&tree); err != nil {
		return nil, fmt.Errorf("covered call: %w", err)
	}
	move(d.tree, tree)
	return encodeTree(d.tree)
}

// placesIn are those places, and those where plugins may have repeated what they saw.
func placesIn(tree map[string]any) [][]string {
	all := slices.Clip(callPlaces)
	input, _ := tree["input"].(map[string]any)
	said, _ := input["plugins"].(map[string]any)
	for name := range said {
		all = append(all, []string{"input", "plugins", name, "annotations"}, []string{"input", "plugins", name, "reason"})
	}
	return all
}

// move puts what one tree has at the places of the call into another.
func move(to, from map[string]any) {
	for _, place := range placesIn(from) {
		target, source := to, from
		for _, step := range place[:len(place)-1] {
			if source, _ = source[step].(map[string]any); source == nil {
				break
			}
			inner, _ := target[step].(map[string]any)
			if inner == nil {
				inner = map[string]any{}
				target[step] = inner
			}
			target = inner
		}
		if value, there := source[place[len(place)-1]]; there {
			target[place[len(place)-1]] = value
		}
	}
}

// encodeTree writes shell text readable, as the log does: without HTML escapes.
func encodeTree(tree map[string]any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(tree); err != nil {
		return nil, fmt.Errorf("parts of a decision: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
