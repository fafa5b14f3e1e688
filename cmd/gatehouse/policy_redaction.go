package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// payloadFlags name a sort of payload that a redaction plan is about.
type payloadFlags struct {
	sink, kind string
	failed     bool
}

// sinkNames are the values of --sink.
var sinkNames = []string{
	string(event.SinkEvent), string(event.SinkModel), string(event.SinkAudit),
	string(event.SinkLog), string(event.SinkStderr), string(event.SinkPlugin),
}

// eventNames are the values of --event.
var eventNames = []string{
	string(event.ToolResult), string(event.Output), string(event.Partial), string(event.Progress), string(event.PermissionAsked),
	string(event.PermissionResult), string(event.Result), string(event.Error), string(event.Notice),
}

func (p *payloadFlags) declare(f *flag.FlagSet) {
	f.StringVar(&p.sink, "sink", "", "of a redaction: `where` the payload goes: "+strings.Join(sinkNames, ", ")+"; default event")
	f.StringVar(&p.kind, "event", "", "of a redaction: the `kind` of event, for example output or permission_request; default tool_result")
	f.BoolVar(&p.failed, "failed", false, "of a redaction: the tool failed")
}

func (p payloadFlags) given() bool { return p != payloadFlags{} }

// check fills in what was not said; tool is the one named, if any.
func (p *payloadFlags) check(tool string) error {
	if p.sink == "" {
		p.sink = string(event.SinkEvent)
	}
	if p.kind == "" {
		p.kind = string(event.ToolResult)
	}
	if !slices.Contains(sinkNames, p.sink) {
		return fmt.Errorf("--sink %q: unknown, want %s", p.sink, strings.Join(sinkNames, ", "))
	}
	if !slices.Contains(eventNames, p.kind) {
		return fmt.Errorf("--event %q: unknown, want %s", p.kind, strings.Join(eventNames, ", "))
	}
	if tool != "" && blockOf(event.Kind(p.kind)) == "" {
		return fmt.Errorf("--tool: an event %s is about no tool; want --event tool_result, permission_request or permission_result", p.kind)
	}
	return nil
}

// redactionDocument describes a payload of a session in the working folder.
func (k *policyCall) redactionDocument() (json.RawMessage, error) {
	session, p := k.session(), k.payload
	type object = map[string]any
	doc := object{
		"schema": "redaction/v1",
		"caller": object{"client": "terminal", "transport": "terminal"},
		"session": object{
			"cwd": session.Cwd, "mode": session.Mode, "trusted": session.Trusted,
		},
		"event": object{"type": p.kind, "stream": "whole"},
		"sink":  object{"kind": p.sink},
	}
	if block := blockOf(event.Kind(p.kind)); block != "" {
		doc["event"].(object)["blocks"] = []object{{"type": block, "tool": k.tool, "is_error": p.failed}}
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	return policy.Complete(policy.EntryRedaction, raw)
}

// blockOf is the block that an event of a kind holds, as far as the kind tells.
func blockOf(kind event.Kind) string {
	switch kind {
	case event.ToolResult:
		return "tool_result"
	case event.PermissionAsked, event.PermissionResult:
		return "tool_use"
	}
	return ""
}

// planResult is the object of --json of eval about a redaction.
type planResult struct {
	OK       bool            `json:"ok"` // false: a layer failed, and the payload would be withheld
	ExitCode int             `json:"exitCode"`
	Sink     string          `json:"sink"`
	Edits    []planEdit      `json:"edits"` // of all layers, in the order they are applied
	Layers   []planLayer     `json:"layers"`
	Document json.RawMessage `json:"document,omitempty"` // with -v
	Next     nextStep        `json:"next"`
}

type planLayer struct {
	Name     string `json:"name"`
	Revision string `json:"revision"`
	TookUS   int64  `json:"tookMicroseconds"`
	Failure  string `json:"failure,omitempty"`
}

// planEdit is one edit, whose it is and where it is written.
type planEdit struct {
	redact.Edit
	Layer   string   `json:"layer"`
	File    string   `json:"file,omitempty"`
	Line    int      `json:"line,omitempty"`
	Sinks   []string `json:"sink,omitempty"`
	Ignored string   `json:"ignored,omitempty"` // why it does not count here
}

// evalPlan says what would be covered in payloads of one sort.
func (k *policyCall) evalPlan(ctx context.Context, document json.RawMessage) int {
	out, err := k.planOf(ctx, document)
	if err != nil {
		return k.failPolicy(k.o, err)
	}
	if k.o.json {
		if k.o.verbose {
			out.Document = document
		}
		if err := k.printJSON(out); err != nil {
			return k.fail(policyWrong, err)
		}
		return out.ExitCode
	}
	k.planText(out, document)
	return out.ExitCode
}

func (k *policyCall) planOf(ctx context.Context, document json.RawMessage) (planResult, error) {
	e, err := k.set.EvaluatePlan(ctx, document)
	if err != nil {
		return planResult{}, err
	}
	var doc struct {
		Sink struct{ Kind string }
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return planResult{}, err
	}
	out := planResult{OK: true, Sink: doc.Sink.Kind, Edits: []planEdit{}, Layers: []planLayer{}}
	for _, l := range e.Layers {
		out.Layers = append(out.Layers, planLayer{Name: l.Name, Revision: l.Revision, TookUS: l.Took.Microseconds(), Failure: l.Failure})
		if l.Failure != "" {
			out.OK, out.ExitCode = false, policyNo
		}
		for _, one := range l.Edits {
			out.Edits = append(out.Edits, planEdit{
				Edit: one.Edit, Layer: l.Name, File: shortPath(one.File), Line: one.Line, Sinks: one.Sinks, Ignored: one.Ignored,
			})
		}
	}
	out.Next = nextStep{"gatehouse redact " + k.payloadWords(out.Sink) + " --as json FILE", "covers a payload of yours by this plan"}
	if !out.OK {
		out.Next = nextStep{"", "correct the rule: until then every payload of this sort is withheld"}
	}
	return out, nil
}

// errPlanExpect is told where a decision is expected of a plan.
var errPlanExpect = errors.New("--expect is about decisions; a redaction plan has none, test it with gatehouse policy test")

// payloadWords are the flags that name this sort of payload again.
func (k *policyCall) payloadWords(sink string) string {
	words := []string{"--sink", sink}
	for _, f := range []struct{ name, value, unless string }{
		{"--event", k.payload.kind, string(event.ToolResult)}, {"--tool", k.tool, ""}, {"--config", k.o.config, ""},
	} {
		if f.value != f.unless && f.value != "" {
			words = append(words, f.name, shellWord(f.value))
		}
	}
	if k.payload.failed {
		words = append(words, "--failed")
	}
	return strings.Join(words, " ")
}
