package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// op changes one place of a tool's input.
type op struct {
	Kind    string // of opKinds
	Path    string // JSON pointer, never the whole document
	Value   any    // set and append_arg only
	Expect  any    // what has to be there before; see Guarded
	Guarded bool   // Expect is given
	rule    string
	layer   string
}

// opKinds are the changes: set a place, remove it, or add to the list there a
// value it does not hold yet.
var (
	opKinds  = []string{"set", "remove", "append_arg"}
	opFields = []string{"op", "path", "value", "expect"}
)

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
	inner := &reader{object: object, at: "ops."}
	inner.known(opFields)
	o := op{Kind: inner.one("op", opKinds), Path: inner.text("path"), Value: object["value"], Expect: object["expect"], rule: fmt.Sprint(r.object["rule"])}
	_, valued := object["value"]
	_, o.Guarded = object["expect"]
	switch {
	case o.Kind == "":
		inner.fail("ops: a change without op, want one of %s", strings.Join(opKinds, ", "))
	case valued != (o.Kind != "remove"):
		inner.fail("ops: op set and op append_arg need a value, op remove takes none")
	case !strings.HasPrefix(o.Path, "/") || o.Path == "/":
		inner.fail("ops: path %.80q: want a JSON pointer such as \"/command\"", o.Path)
	case strings.Contains(escapes.Replace(o.Path), "~"):
		// Each place has one spelling, so that places can be compared as texts.
		inner.fail("ops: path %.80q: \"~\" is written ~0, and \"/\" in a name ~1", o.Path)
	}
	r.take(inner)
	return o
}

// apply changes a copy of the input. different is false when the input already
// is as the changes want it.
func apply(tool toolInput, ops []op) (out json.RawMessage, different bool, err error) {
	before := tool.Input
	if before == nil {
		before = map[string]any{}
	}
	after := copyJSON(before).(map[string]any)
	for _, o := range ops {
		if err := o.fits(tool.Name); err != nil {
			return nil, false, err
		}
		if err := o.apply(after); err != nil {
			return nil, false, err
		}
	}
	if reflect.DeepEqual(before, after) {
		return nil, false, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(after); err != nil {
		return nil, false, err
	}
	return bytes.TrimSpace(b.Bytes()), true, nil
}

// fits refuses to patch a piece of shell text: what comes out must be a text
// that somebody wrote as a whole.
func (o op) fits(tool string) error {
	if tool != "Bash" || o.Path != "/command" && !strings.HasPrefix(o.Path, "/command/") {
		return nil
	}
	if _, text := o.Value.(string); o.Path == "/command" && o.Kind == "set" && text {
		return nil
	}
	return fmt.Errorf("rule %s: %s %s: a shell command is only set as a whole, {\"op\": \"set\", \"path\": \"/command\", \"value\": \"…\"}", o.rule, o.Kind, o.Path)
}

func copyJSON(value any) any {
	switch v := value.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for name, inner := range v {
			c[name] = copyJSON(inner)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i := range v {
			c[i] = copyJSON(v[i])
		}
		return c
	}
	return value
}

var (
	escapes  = strings.NewReplacer("~1", "", "~0", "")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// element reads the index of a list as RFC 6901 writes it: other spellings of a
// number would be other names of the same place.
func element(step string, length int) (int, bool) {
	n, err := strconv.Atoi(step)
	return n, err == nil && step == strconv.Itoa(n) && n >= 0 && n < length
}

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
			n, there := element(s, len(node))
			if !there || last && o.Kind == "remove" {
				return fmt.Errorf("rule %s: %s %s: no such element", o.rule, o.Kind, o.Path)
			}
			if last {
				return o.replace(node[n], true, func(value any) { node[n] = value })
			}
			at = node[n]
		default:
			return fmt.Errorf("rule %s: %s %s: no such place in the input", o.rule, o.Kind, o.Path)
		}
	}
	return nil
}

func (o op) member(node map[string]any, name string) error {
	old, there := node[name]
	if o.Kind == "remove" {
		if there && o.Guarded && !equalJSON(old, o.Expect) {
			return &expectError{o}
		}
		delete(node, name)
		return nil
	}
	return o.replace(old, there, func(value any) { node[name] = value })
}

// replace sets or extends one place. A place that already is as wanted fits any
// expectation: the changed input is judged by the same rule again.
func (o op) replace(old any, there bool, put func(any)) error {
	list, isList := old.([]any)
	already := there && equalJSON(old, o.Value)
	if o.Kind == "append_arg" {
		if !isList {
			return fmt.Errorf("rule %s: append_arg %s: there is no list", o.rule, o.Path)
		}
		already = slices.ContainsFunc(list, func(item any) bool { return equalJSON(item, o.Value) })
	}
	switch {
	case already:
	case o.Guarded && (!there || !equalJSON(old, o.Expect)):
		return &expectError{o}
	case o.Kind == "append_arg":
		put(append(slices.Clone(list), o.Value))
	default:
		put(o.Value)
	}
	return nil
}
