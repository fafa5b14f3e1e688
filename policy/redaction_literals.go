package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
	"github.com/open-policy-agent/opa/v1/ast"
)

// The words and fields of an edit of a redaction plan.
var (
	editFields   = []string{"select", "action", "detectors", "keys", "with", "max_bytes", "rule", "reason", "sink"}
	selectFields = []string{"blocks", "tools", "pointer"}
	editActions  = wordsOf(redact.Actions)
	editSinks    = wordsOf([]event.Sink{event.SinkEvent, event.SinkModel, event.SinkAudit, event.SinkLog, event.SinkStderr, event.SinkPlugin})
)

// editShape is the shape of an edit.
var editShape = &literalShape{
	fields: editFields, needs: []string{"action", "rule"},
	words: map[string][]string{"action": editActions, "sink": editSinks},
	below: map[string]*literalShape{"select": {fields: selectFields}},
}

func wordsOf[S ~string](list []S) []string {
	all := make([]string, len(list))
	for i, word := range list {
		all[i] = string(word)
	}
	return all
}

// checkEdit looks at an edit that a rule writes out: its fields and words, and,
// where nothing in it is computed, whether the plan would be refused.
func checkEdit(object ast.Object, loc *ast.Location) ast.Errors {
	errs := editShape.check(object, loc, "edit field")
	for _, name := range []string{"detectors", "keys", "sink"} {
		errs = append(errs, listOfTexts(object, name)...)
	}
	if s, ok := valueOf(object, "select").(ast.Object); ok {
		errs = append(errs, append(listOfTexts(s, "blocks"), listOfTexts(s, "tools")...)...)
	}
	if len(errs) > 0 || !writtenOut(ast.NewTerm(object)) {
		return errs
	}
	value, err := ast.JSON(object)
	if err != nil {
		return ast.Errors{flaw(loc, "edit: %s", err)}
	}
	e, err := decodeEdit(value)
	if err == nil {
		e.Edit.Detectors = knownEverywhere(e.Edit.Detectors)
		_, err = redact.NewPlan(redact.Spec{Edits: []redact.Edit{e.Edit}})
	}
	if err != nil {
		return ast.Errors{editFlaw(object, loc, e.Rule, err)}
	}
	return nil
}

// editFlaw tells what is wrong with the edit of a rule, where the field stands that
// the error names first.
func editFlaw(object ast.Object, loc *ast.Location, rule string, err error) *ast.Error {
	text := planFault(rule, err)
	name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, fmt.Sprintf("rule %.80q: ", rule)), "edit."), ":")
	name, _, _ = strings.Cut(name, " ")
	name, inner, _ := strings.Cut(name, ".")
	if t := object.Get(ast.StringTerm(name)); t != nil {
		loc = t.Location
		if s, ok := t.Value.(ast.Object); ok && s.Get(ast.StringTerm(inner)) != nil {
			loc = s.Get(ast.StringTerm(inner)).Location
		}
	}
	return flaw(loc, "%s", text)
}

// planFault is the error of a plan that has one edit without the edit's number.
func planFault(rule string, err error) string {
	text, of := strings.CutPrefix(err.Error(), fmt.Sprintf("edit 0 (rule %.80q): ", rule))
	if of {
		text = "edit." + text
	}
	return text
}

// knownEverywhere stands for names of detectors where those of the configuration
// are not at hand: which there are is checked when the set is complete.
func knownEverywhere(names []string) []string {
	if len(names) == 0 {
		return names
	}
	return []string{"vendor"}
}

func valueOf(object ast.Object, name string) ast.Value {
	if t := object.Get(ast.StringTerm(name)); t != nil {
		return t.Value
	}
	return nil
}

// listOfTexts refuses what is written out and no list of strings: a set or a
// single string would be an error when the rule speaks.
func listOfTexts(object ast.Object, name string) (errs ast.Errors) {
	t := object.Get(ast.StringTerm(name))
	if t == nil {
		return nil
	}
	switch t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String, ast.Object:
		return ast.Errors{flaw(t.Location, "edit field %q: want a list of strings", name)}
	}
	for _, item := range writtenIn(t) {
		if word, ok := item.Value.(ast.String); ok && name == "sink" && !slices.Contains(editSinks, string(word)) {
			errs = append(errs, flaw(item.Location, "%s", unknownWord("sink", string(word), editSinks)))
		}
	}
	return errs
}

func unknownWord(field, word string, known []string) string {
	return fmt.Sprintf("%s %.80q: unknown, the nearest is %q; want one of %s", field, word, nearest(word, known), strings.Join(known, ", "))
}
