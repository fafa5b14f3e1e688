package decisionlog

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Maskable are the parts of an event that masks may name.
var Maskable = []string{"input", "result", "labels", "rule_labels", "error", "custom", "requested_by"}

// MaskOp takes something out of an event, or puts something in its place. A
// path that leads nowhere changes nothing.
type MaskOp struct {
	Op    string `json:"op"`    // "remove" (default) or "upsert"
	Path  string `json:"path"`  // JSON pointer below one of [Maskable]
	Value any    `json:"value"` // of upsert
}

// apply runs one operation and notes it in erased or masked.
func (ev *Event) apply(op MaskOp) error {
	part, rest, err := ev.part(op.Path)
	if err != nil {
		return err
	}
	if op.Op != "" && op.Op != "remove" && op.Op != "upsert" {
		return fmt.Errorf("mask %q: op %q is unknown, want remove or upsert", op.Path, op.Op)
	}
	raw, err := part.read()
	if err != nil || len(raw) == 0 {
		return err
	}
	var tree any
	if err := decode(raw, &tree); err != nil {
		return err
	}
	changed, ok := edited(tree, rest, op)
	if !ok {
		return nil
	}
	if err := part.write(changed); err != nil {
		return fmt.Errorf("mask %q: %w", op.Path, err)
	}
	if op.Op == "upsert" {
		ev.note(&ev.Masked, op.Path)
	} else {
		ev.note(&ev.Erased, op.Path)
	}
	return nil
}

// part is one member of an event; its target is a pointer.
type part struct{ target any }

// read is the member as JSON, empty where there is none.
func (p part) read() (json.RawMessage, error) {
	if raw, ok := p.target.(*json.RawMessage); ok {
		return *raw, nil
	}
	raw, err := encode(p.target)
	if err != nil || slices.Contains([]string{"null", `""`, "{}"}, string(raw)) {
		return nil, err
	}
	return raw, nil
}

// write sets the member; nil takes it out. A value of another type than the
// member has is an error.
func (p part) write(value any) error {
	raw := []byte("null")
	if value != nil {
		var err error
		if raw, err = encode(value); err != nil {
			return err
		}
	}
	switch target := p.target.(type) {
	case *json.RawMessage:
		if *target = nil; value != nil {
			*target = raw
		}
		return nil
	case *map[string]any: // never nil: what is told of the event itself goes here
		*target = map[string]any{}
	case *map[string]string:
		*target = map[string]string{}
	case *[]map[string]string:
		*target = nil
	case **Failure:
		*target = nil
	case *string:
		*target = ""
	}
	if value == nil {
		return nil
	}
	return decode(raw, p.target)
}

// part finds the member that a path leads into, and the segments within it.
func (ev *Event) part(path string) (part, []string, error) {
	unknown := fmt.Errorf("mask %q: want a path that begins with /%s", path, strings.Join(Maskable, ", /"))
	if !strings.HasPrefix(path, "/") {
		return part{}, nil, unknown
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		segments[i] = unescapedStep(s)
	}
	target := map[string]any{
		"input": &ev.Input, "result": &ev.Result, "labels": &ev.Labels, "rule_labels": &ev.RuleLabels,
		"error": &ev.Error, "custom": &ev.Custom, "requested_by": &ev.RequestedBy,
	}[segments[0]]
	if target == nil {
		return part{}, nil, unknown
	}
	return part{target}, segments[1:], nil
}

func unescapedStep(s string) string { return strings.NewReplacer("~1", "/", "~0", "~").Replace(s) }
func escapedStep(s string) string   { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// inOrder puts replacements first, and removals so that none moves the element
// that a later one names: the last of a list first.
func inOrder(ops []MaskOp) []MaskOp {
	all := slices.Clone(ops)
	slices.SortStableFunc(all, func(a, b MaskOp) int {
		if x, y := a.Op == "upsert", b.Op == "upsert"; x || y {
			return cmp.Compare(boolInt(y), boolInt(x))
		}
		return slices.CompareFunc(strings.Split(b.Path, "/"), strings.Split(a.Path, "/"), compareSteps)
	})
	return all
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareSteps compares indexes as numbers.
func compareSteps(a, b string) int {
	i, errA := strconv.Atoi(a)
	j, errB := strconv.Atoi(b)
	if errA == nil && errB == nil {
		return cmp.Compare(i, j)
	}
	return cmp.Compare(a, b)
}

// errNowhere says that a path leads nowhere.
var errNowhere = errors.New("no such place")

// edited returns tree with op done at path; false where the path leads nowhere.
func edited(tree any, path []string, op MaskOp) (any, bool) {
	if len(path) == 0 {
		if op.Op == "upsert" {
			return op.Value, true
		}
		return nil, true
	}
	switch node := tree.(type) {
	case map[string]any:
		return editedObject(node, path, op)
	case []any:
		i, err := index(path[0], len(node))
		if err != nil {
			return tree, false
		}
		if len(path) == 1 && op.Op != "upsert" {
			return append(node[:i:i], node[i+1:]...), true
		}
		inner, ok := edited(node[i], path[1:], op)
		node[i] = inner
		return node, ok
	}
	return tree, false
}

func editedObject(node map[string]any, path []string, op MaskOp) (any, bool) {
	inner, there := node[path[0]]
	switch {
	case !there && (op.Op != "upsert" || len(path) > 1):
		return node, false
	case len(path) == 1 && op.Op != "upsert":
		delete(node, path[0])
		return node, true
	}
	changed, ok := edited(inner, path[1:], op)
	node[path[0]] = changed
	return node, ok
}

func index(segment string, length int) (int, error) {
	i, err := strconv.Atoi(segment)
	if err != nil || i < 0 || i >= length || strconv.Itoa(i) != segment {
		return 0, errNowhere
	}
	return i, nil
}
