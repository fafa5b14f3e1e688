package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// op changes one place of a tool's input.
type op struct {
	Kind  string // "set" or "remove"
	Path  string // JSON pointer, never the whole document
	Value any    // set only
}

// maxOps bounds the changes of one rule.
const maxOps = 100

// ops reads the list of changes of a decision.
func (r *reader) ops(name string) []op {
	value, present := r.object[name]
	list, ok := value.([]any)
	if present && !ok || len(list) > maxOps {
		r.fail("%s must be a list of at most %d changes", name, maxOps)
		return nil
	}
	var all []op
	for _, item := range list {
		object, ok := item.(map[string]any)
		if !ok {
			r.fail("%s must be a list of objects", name)
			continue
		}
		all = append(all, r.op(object))
	}
	return all
}

func (r *reader) op(object map[string]any) op {
	inner := reader{object: object}
	o := op{Kind: inner.text("op"), Path: inner.text("path"), Value: object["value"]}
	_, valued := object["value"]
	for name := range object {
		if name != "op" && name != "path" && name != "value" {
			inner.fail("ops: unknown field %q, want op, path, value", name)
		}
	}
	switch {
	case o.Kind != "set" && o.Kind != "remove":
		inner.fail("ops: op %q: want \"set\" or \"remove\"", o.Kind)
	case valued != (o.Kind == "set"):
		inner.fail("ops: op set needs a value, op remove takes none")
	case !strings.HasPrefix(o.Path, "/") || o.Path == "/":
		inner.fail("ops: path %q: want a JSON pointer such as \"/command\"", o.Path)
	}
	if inner.err != nil {
		r.fail("%w", inner.err)
	}
	return o
}

// conflict reports two changes that cannot both hold: of one place, or of a
// place and what lies in it.
func conflict(ops []op) (string, bool) {
	for i, a := range ops {
		for _, b := range ops[i+1:] {
			same := a.Path == b.Path
			if same && a.Kind == b.Kind && reflect.DeepEqual(a.Value, b.Value) {
				continue
			}
			if same || strings.HasPrefix(b.Path, a.Path+"/") || strings.HasPrefix(a.Path, b.Path+"/") {
				return a.Path, true
			}
		}
	}
	return "", false
}

// apply changes a copy of the input. changed is false when the input already
// is as the changes want it.
func apply(raw json.RawMessage, ops []op) (out json.RawMessage, changed bool, err error) {
	before, err := decodeInput(raw)
	if err != nil {
		return nil, false, err
	}
	after, err := decodeInput(raw)
	if err != nil {
		return nil, false, err
	}
	for _, o := range ops {
		if err := o.apply(after); err != nil {
			return nil, false, fmt.Errorf("%s %s: %w", o.Kind, o.Path, err)
		}
	}
	if reflect.DeepEqual(before, after) {
		return raw, false, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(after); err != nil {
		return nil, false, err
	}
	return bytes.TrimSpace(b.Bytes()), true, nil
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// apply changes one place. Lists may only be changed at an existing index.
func (o op) apply(root map[string]any) error {
	steps := strings.Split(o.Path[1:], "/")
	var at any = root
	for i, s := range steps {
		last := i == len(steps)-1
		switch node := at.(type) {
		case map[string]any:
			name := unescape.Replace(s)
			if last {
				return o.member(node, name)
			}
			at = node[name]
		case []any:
			n, err := strconv.Atoi(s)
			if err != nil || n < 0 || n >= len(node) || last && o.Kind == "remove" {
				return fmt.Errorf("no such element")
			}
			if last {
				node[n] = o.Value
				return nil
			}
			at = node[n]
		default:
			return fmt.Errorf("no such place in the input")
		}
	}
	return nil
}

func (o op) member(node map[string]any, name string) error {
	if o.Kind == "remove" {
		delete(node, name)
		return nil
	}
	node[name] = o.Value
	return nil
}
