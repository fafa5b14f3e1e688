package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// change is what all rules together do to an input.
type change struct {
	input     json.RawMessage
	different bool   // from what it was
	clash     string // a place that two rules want differently
}

// change applies the ops of all verdicts that count. Where they do not fit the
// input the call is refused.
func (s *Set) change(verdicts []verdict, tool toolInput) (c change, refusal *permission.Decision) {
	var ops []op
	for i := range verdicts {
		if verdicts[i].ignored == "" {
			ops = append(ops, verdicts[i].ops...)
		}
	}
	if len(ops) == 0 {
		return c, nil
	}
	slices.SortStableFunc(ops, func(a, b op) int { return strings.Compare(a.rule, b.rule) })
	if c.clash = conflict(ops); c.clash != "" {
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

// conflict names a place of two changes that cannot both hold: of one place, or
// of a place and what lies in it.
func conflict(ops []op) string {
	for i, a := range ops {
		for _, b := range ops[i+1:] {
			same := a.Path == b.Path
			if same && a.Kind == b.Kind && equalJSON(a.Value, b.Value) {
				continue
			}
			if same || strings.HasPrefix(b.Path, a.Path+"/") || strings.HasPrefix(a.Path, b.Path+"/") {
				return a.Path
			}
		}
	}
	return ""
}

// equalJSON compares as Rego does: 1 and 1.0 are one number.
func equalJSON(a, b any) bool { return anyValue(a).Compare(anyValue(b)) == 0 }

// expectError is the error of an old value that is not the one a rule expects.
type expectError struct{ op op }

func (e *expectError) Error() string {
	return fmt.Sprintf("rule %s expects another value at %s", e.op.rule, e.op.Path)
}
