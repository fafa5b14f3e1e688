package decisionlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaskOp takes something out of an event, or puts something in its place. A
// path that leads nowhere changes nothing.
type MaskOp struct {
	Op    string `json:"op"`    // "remove" (default) or "upsert"
	Path  string `json:"path"`  // JSON pointer below /input or /result
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
	if len(*part) == 0 {
		return nil
	}
	var tree any
	if err := decode(*part, &tree); err != nil {
		return err
	}
	changed, ok := edited(tree, rest, op)
	if !ok {
		return nil
	}
	*part = nil
	if changed != nil {
		if *part, err = encode(changed); err != nil {
			return err
		}
	}
	if op.Op == "upsert" {
		ev.note(&ev.Masked, op.Path)
	} else {
		ev.note(&ev.Erased, op.Path)
	}
	return nil
}

// part finds the document that a path leads into, and the segments within it.
func (ev *Event) part(path string) (*json.RawMessage, []string, error) {
	if !strings.HasPrefix(path, "/") {
		return nil, nil, fmt.Errorf("mask %q: want a path that begins with /input or /result", path)
	}
	segments := strings.Split(path[1:], "/")
	for i, s := range segments {
		segments[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(s)
	}
	switch segments[0] {
	case "input":
		return &ev.Input, segments[1:], nil
	case "result":
		return &ev.Result, segments[1:], nil
	}
	return nil, nil, fmt.Errorf("mask %q: want a path that begins with /input or /result", path)
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
