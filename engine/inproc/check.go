package inproc

import (
	"encoding/json"
	"errors"
	"fmt"
)

// check reports what in arguments does not fit. Its text is bounded.
func (s *schema) check(arguments json.RawMessage) error {
	var value map[string]any
	if err := json.Unmarshal(arguments, &value); err != nil || value == nil {
		return errors.New("they are not a JSON object")
	}
	w := &walk{budget: checkBudget}
	if !w.into(s.root, value, 0) {
		return fmt.Errorf("%d bytes of them take too much work to check against the schema", len(arguments))
	}
	if err := s.resolved.Validate(value); err != nil {
		return errors.New(shorten(err.Error(), maxErrorText))
	}
	return nil
}

// walk finds out what checking a value costs at most, before it is done: applied to
// a nested value a small schema that refers to itself twice takes a time without
// end, and there is no stopping it.
//
// The unit is about a byte that is looked at or put into an error.
type walk struct{ budget int }

const (
	applyCost   = 64 // to apply a schema
	stepCost    = 4  // for a name, or a value of an enum, in it
	patternCost = 8  // instructions for a byte of text
)

func (w *walk) spend(n int) bool {
	w.budget -= n
	return w.budget >= 0
}

// into goes the way of a check, or further, and reports whether that is within the
// bounds.
func (w *walk) into(n *node, value any, depth int) bool {
	if depth > checkDepth || !w.spend(applyCost+n.steps*stepCost+size(value, w.budget)) {
		return false
	}
	if !w.all(n.same, value, depth) {
		return false
	}
	switch value := value.(type) {
	case string:
		return w.spend(len(value) * n.patternSteps / patternCost)
	case map[string]any:
		return w.members(n, value, depth)
	case []any:
		return w.items(n, value, depth)
	}
	return true
}

func (w *walk) all(nodes []*node, value any, depth int) bool {
	for _, n := range nodes {
		if !w.into(n, value, depth+1) {
			return false
		}
	}
	return true
}

func (w *walk) members(n *node, value map[string]any, depth int) bool {
	for name, member := range value {
		if !w.spend(len(name)*n.nameSteps/patternCost) || !w.all(n.any, member, depth) {
			return false
		}
		if named := n.members[name]; named != nil && !w.into(named, member, depth+1) {
			return false
		}
		if n.names != nil && !w.into(n.names, name, depth+1) {
			return false
		}
	}
	return true
}

func (w *walk) items(n *node, value []any, depth int) bool {
	for i, item := range value {
		if i < len(n.first) && !w.into(n.first[i], item, depth+1) {
			return false
		}
		if !w.all(n.items, item, depth) {
			return false
		}
	}
	return true
}

// size is about the bytes of a value, or a number over most.
func size(value any, most int) int {
	total := 8
	switch value := value.(type) {
	case string:
		total += len(value)
	case map[string]any:
		for name, member := range value {
			if total += len(name); total > most {
				break
			}
			total += size(member, most-total)
		}
	case []any:
		for _, item := range value {
			if total > most {
				break
			}
			total += size(item, most-total)
		}
	}
	return total
}
