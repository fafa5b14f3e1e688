package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// change is what all rules together do to an input.
type change struct {
	input     json.RawMessage
	different bool   // from what it was
	clash     string // which rules want one place differently
}

// change applies the ops of all verdicts that count. Where they do not fit the
// input the call is refused, and so where rules contradict each other and one of
// them is not the user's own.
func (s *Set) change(verdicts []verdict, tool toolInput) (c change, refusal *permission.Decision) {
	ops := opsOf(verdicts)
	if len(ops) == 0 {
		return c, nil
	}
	var binding bool
	if c.clash, binding = conflict(ops); binding {
		d := s.refuse("engine.modify_conflict", c.clash)
		return c, &d
	}
	if c.clash != "" {
		return c, nil
	}
	var err error
	if c.input, c.different, err = apply(tool, ops); err != nil {
		rule := "engine.modify"
		var unexpected *expectError
		if errors.As(err, &unexpected) {
			rule = "engine.modify_expect"
		}
		d := s.refuse(rule, "a rule's change does not fit the input: "+err.Error())
		return c, &d
	}
	return c, nil
}

// opsOf are the changes of the verdicts that count, in the order of their rules.
func opsOf(verdicts []verdict) []op {
	var ops []op
	for i := range verdicts {
		v := &verdicts[i]
		if v.ignored != "" {
			continue
		}
		for _, o := range v.ops {
			o.layer = v.Layer
			ops = append(ops, o)
		}
	}
	slices.SortStableFunc(ops, func(a, b op) int { return strings.Compare(a.rule, b.rule) })
	return ops
}

// place is what the changes of one place have in common.
type place struct {
	first   op
	another *op // the first that differs from first
	binding *op // the first of a layer that is not the user's
}

// names are rules to tell of, "rule (layer)".
func (p *place) names(all []string) []string {
	for _, o := range []*op{&p.first, p.another, p.binding} {
		if o == nil {
			continue
		}
		if name := o.rule + " (" + o.layer + ")"; !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func placesOf(ops []op) map[string]*place {
	at := make(map[string]*place, len(ops))
	for i := range ops {
		o := &ops[i]
		p := at[o.Path]
		if p == nil {
			p = &place{first: *o}
			at[o.Path] = p
		}
		if p.another == nil && (o.Kind != p.first.Kind || !equalJSON(o.Value, p.first.Value)) {
			p.another = o
		}
		if p.binding == nil && o.layer != "user" {
			p.binding = o
		}
	}
	return at
}

// conflict tells of changes that cannot all hold: of one place, or of a place
// and what lies in it; empty when there are none. binding: one of them is of the
// built-in or the organisation's policies, which no other rule may undo.
func conflict(ops []op) (text string, binding bool) {
	at := placesOf(ops)
	for _, path := range slices.Sorted(maps.Keys(at)) {
		here := at[path]
		rules, clash, strict := here.names(nil), here.another != nil, here.binding != nil
		for i := strings.LastIndexByte(path, '/'); i > 0; i = strings.LastIndexByte(path[:i], '/') {
			if around := at[path[:i]]; around != nil {
				rules, clash, strict = around.names(rules), true, strict || around.binding != nil
			}
		}
		if clash && (text == "" || strict) {
			text = fmt.Sprintf("rules want different values at %s: %s", path, strings.Join(rules, ", "))
		}
		if clash && strict {
			return text, true
		}
	}
	return text, false
}

// equalJSON compares as Rego does: 1 and 1.0 are one number.
func equalJSON(a, b any) bool { return anyValue(a).Compare(anyValue(b)) == 0 }

// expectError is the error of an old value that is not the one a rule expects.
type expectError struct{ op op }

func (e *expectError) Error() string {
	return fmt.Sprintf("rule %s expects another value at %s", e.op.rule, e.op.Path)
}
