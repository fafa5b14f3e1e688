package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Bounds of the edits of one layer.
const (
	maxPlanEdits = 1000
	maxEditTexts = 100 // of one list
)

// planEdit is one edit as a rule gave it.
type planEdit struct {
	redact.Edit
	sinks []string // where it holds; nil: everywhere
}

// in reports whether an edit holds in a sink.
func (e *planEdit) in(sink string) bool { return e.sinks == nil || slices.Contains(e.sinks, sink) }

// decodeEdits reads the set plan of a layer. Anything it does not know is an
// error: a misspelt field would otherwise leave something uncovered. Edits come
// by rule, so that a plan does not depend on how a set is kept.
func decodeEdits(layer string, value any) ([]planEdit, error) {
	list, ok := value.([]any)
	if !ok || len(list) > maxPlanEdits {
		return nil, fmt.Errorf("plan of the %s policies: want a set of at most %d objects", layer, maxPlanEdits)
	}
	all := make([]planEdit, 0, len(list))
	for _, item := range list {
		e, err := decodeEdit(item)
		if err != nil {
			return nil, fmt.Errorf("plan of the %s policies: %w", layer, err)
		}
		all = append(all, e)
	}
	slices.SortStableFunc(all, func(a, b planEdit) int { return cmp.Compare(a.Rule, b.Rule) })
	return all, nil
}

func decodeEdit(item any) (planEdit, error) {
	object, ok := item.(map[string]any)
	if !ok {
		return planEdit{}, fmt.Errorf("%.80q is no object", fmt.Sprint(item))
	}
	r := &reader{object: object, at: "edit."}
	r.knownNear(editFields)
	e := planEdit{Edit: redact.Edit{
		Action: redact.Action(r.text("action")), Detectors: r.list("detectors"), Keys: r.list("keys"),
		With: r.text("with"), Rule: r.text("rule"), Reason: r.text("reason"),
	}, sinks: r.list("sink")}
	if _, given := object["max_bytes"]; given {
		e.MaxBytes = r.number("max_bytes", 1<<30)
	}
	if value, given := object["select"]; given {
		inner := &reader{at: "edit.select."}
		if inner.object, ok = value.(map[string]any); !ok {
			r.fail("edit.select must be an object")
		}
		inner.knownNear(selectFields)
		e.Select = redact.Select{Blocks: inner.list("blocks"), Tools: inner.list("tools"), Pointer: inner.text("pointer")}
		_, pointed := inner.object["pointer"]
		if e.Select.Blocks != nil && len(e.Select.Blocks) == 0 || e.Select.Tools != nil && len(e.Select.Tools) == 0 || pointed && e.Select.Pointer == "" {
			inner.fail("edit.select: a list or pointer that is empty selects nothing; leave it out to select everything")
		}
		r.take(inner)
	}
	for _, sink := range e.sinks {
		if !slices.Contains(editSinks, sink) {
			r.fail("%s", unknownWord("edit.sink", sink, editSinks))
		}
	}
	if e.sinks != nil && len(e.sinks) == 0 {
		r.fail("edit.sink is empty, so the edit would hold nowhere; leave it out for every sink")
	}
	if r.err == nil && !slices.Contains(editActions, string(e.Action)) {
		r.fail("%s", unknownWord("edit.action", string(e.Action), editActions))
	}
	if r.err != nil {
		return e, fmt.Errorf("rule %.80q: %w", fmt.Sprint(object["rule"]), r.err)
	}
	return e, nil
}

// knownNear refuses fields that are not listed and names the nearest one.
func (r *reader) knownNear(fields []string) {
	for _, name := range sortedKeys(r.object) {
		if !slices.Contains(fields, name) {
			r.fail("unknown field %.80q, the nearest is %q", r.at+name, r.at+nearest(name, fields))
		}
	}
}

// list reads a list of strings; nil when the field is absent, else never nil.
func (r *reader) list(name string) []string {
	value, present := r.object[name]
	if !present {
		return nil
	}
	items, ok := value.([]any)
	if !ok || len(items) > maxEditTexts {
		r.fail("%s%s must be a list of at most %d strings", r.at, name, maxEditTexts)
		return nil
	}
	all := make([]string, 0, len(items))
	for _, item := range items {
		s, ok := item.(string)
		if !ok || s == "" {
			r.fail("%s%s must be a list of strings, none of them empty", r.at, name)
		}
		all = append(all, s)
	}
	return all
}

// encoded names a list of edits.
func encoded(edits []redact.Edit) (string, error) {
	b, err := json.Marshal(edits)
	return string(b), err
}
