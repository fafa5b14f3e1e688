package redact

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Bounds of a plan.
const (
	maxEdits      = 1000
	maxEntries    = 100     // of one list of an edit
	maxEntry      = 256     // bytes of one of them
	maxWith       = 4 << 10 // bytes
	maxPointer    = 1 << 10 // bytes
	maxReasonSize = 500     // bytes
	maxRule       = 64      // bytes
)

// ruleForm is what an edit's rule looks like; policies' rules are the same.
var ruleForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][\w.-]+$`) })

// takes lists the fields each action takes beside select, action, rule and reason.
var takes = map[Action][]string{
	Redact: {"detectors", "keys"}, Replace: {"detectors", "keys", "with"}, Drop: {"detectors", "keys"},
	Hash: {"detectors", "keys"}, Truncate: {"max_bytes"}, MaskJSONKey: {"keys"},
}

// needs lists those of them that an action cannot do without.
var needs = map[Action][]string{Replace: {"with"}, Truncate: {"max_bytes"}, MaskJSONKey: {"keys"}}

// NewPlan checks a spec; the error names the edit, its rule and the field.
//
// Every edit has a rule of 2 to 64 letters, digits, dots, dashes and low lines.
// Actions redact, replace, drop and hash take detectors or keys, not both;
// replace needs with, truncate needs max_bytes (1 or more) and mask_json_key
// needs keys. Detectors are known names. With may hold no secret itself.
func NewPlan(s Spec) (*Plan, error) {
	scanner, err := New(s.Options)
	if err != nil {
		return nil, err
	}
	if len(s.Edits) > maxEdits {
		return nil, fmt.Errorf("plan has %d edits, more than %d", len(s.Edits), maxEdits)
	}
	p := &Plan{scanner: scanner, wide: scanner, key: s.HashKey}
	if len(p.key) == 0 {
		p.key = processKey()
	}
	sets := detectorSets(s.Options)
	for i, given := range s.Edits {
		e, err := newEdit(given, sets, s.Options.Context)
		if err != nil {
			return nil, fmt.Errorf("edit %d (rule %.80q): %w", i, given.Rule, err)
		}
		p.edits = append(p.edits, e)
	}
	return p, p.settle(s.Options)
}

// settle makes the scanner of edits that ask for more, and leaves out those that
// say no more than a scanner does by itself.
func (p *Plan) settle(o Options) (err error) {
	if slices.ContainsFunc(p.edits, func(e edit) bool { return e.wide }) {
		o.Context = true
		if p.wide, err = New(o); err != nil {
			return err
		}
	}
	for i := range p.edits {
		if e := &p.edits[i]; e.Action == Replace {
			if _, hits := p.wide.String(e.With); len(hits) > 0 {
				return fmt.Errorf("edit %d (rule %.80q): with: a detector (%s) finds a secret in it", i, e.Rule, hits[0].Detector)
			}
		}
	}
	plain := func(e edit) bool { return e.Action == Redact && len(e.Detectors) > 0 }
	if slices.ContainsFunc(p.edits, func(e edit) bool { return len(e.Detectors) > 0 && !plain(e) }) {
		return p.place()
	}
	everywhere := func(e edit) bool {
		return plain(e) && e.wide && len(e.Select.Blocks)+len(e.Select.Tools)+len(e.pointer) == 0
	}
	if slices.ContainsFunc(p.edits, everywhere) {
		p.scanner = p.wide
		p.edits = slices.DeleteFunc(p.edits, plain)
	}
	p.edits = slices.DeleteFunc(p.edits, func(e edit) bool { return plain(e) && !e.wide })
	return p.place()
}

func (p *Plan) place() error {
	p.placed = slices.ContainsFunc(p.edits, func(e edit) bool { return e.pointer != nil })
	return nil
}

func newEdit(given Edit, sets map[string]string, context bool) (e edit, err error) {
	e.Edit = given
	if err := e.form(); err != nil {
		return e, err
	}
	if err := e.fields(); err != nil {
		return e, err
	}
	if e.pointer, err = steps(given.Select.Pointer); err != nil {
		return e, err
	}
	if err := e.detectors(sets, context); err != nil {
		return e, err
	}
	e.note = cutNote(&e.Edit)
	return e, nil
}

// form checks what holds for every action.
func (e *edit) form() error {
	if len(e.Rule) > maxRule || !ruleForm().MatchString(e.Rule) {
		return fmt.Errorf("rule: want 2 to %d letters, digits, dots, dashes or low lines that begin with a letter or digit", maxRule)
	}
	if takes[e.Action] == nil {
		return fmt.Errorf("action %.80q: unknown, the nearest is %q", e.Action, closest(string(e.Action), words(Actions)))
	}
	if len(e.Reason) > maxReasonSize || len(e.With) > maxWith {
		return fmt.Errorf("reason has at most %d bytes and with %d", maxReasonSize, maxWith)
	}
	for _, list := range []struct {
		name  string
		words []string
	}{{"detectors", e.Detectors}, {"keys", e.Keys}, {"select.blocks", e.Select.Blocks}, {"select.tools", e.Select.Tools}} {
		if len(list.words) > maxEntries {
			return fmt.Errorf("%s: more than %d", list.name, maxEntries)
		}
		for _, word := range list.words {
			if word == "" || len(word) > maxEntry {
				return fmt.Errorf("%s: want names of 1 to %d bytes", list.name, maxEntry)
			}
		}
	}
	for _, glob := range e.Select.Tools {
		if _, err := path.Match(glob, ""); err != nil {
			return fmt.Errorf("select.tools: %.80q is no glob: %w", glob, err)
		}
	}
	return nil
}

// fields checks which fields the action is given. A list that is there and empty
// counts as given: it would otherwise widen the edit to whole texts.
func (e *edit) fields() error {
	given := map[string]bool{
		"detectors": e.Detectors != nil, "keys": e.Keys != nil, "with": e.With != "", "max_bytes": e.MaxBytes != 0,
	}
	for _, name := range []string{"detectors", "keys", "with", "max_bytes"} {
		switch {
		case given[name] && !slices.Contains(takes[e.Action], name):
			return fmt.Errorf("%s: action %s takes none", name, e.Action)
		case !given[name] && slices.Contains(needs[e.Action], name):
			return fmt.Errorf("%s: action %s needs it", name, e.Action)
		}
	}
	switch {
	case e.Detectors != nil && len(e.Detectors) == 0:
		return fmt.Errorf("detectors: empty, so nothing is meant; leave it out for whole texts")
	case e.Keys != nil && len(e.Keys) == 0:
		return fmt.Errorf("keys: empty, so nothing is meant")
	case len(e.Detectors) > 0 && len(e.Keys) > 0:
		return fmt.Errorf("keys: detectors are named as well; write two edits")
	case e.MaxBytes < 0:
		return fmt.Errorf("max_bytes: %d, want 1 or more", e.MaxBytes)
	}
	return nil
}

// detectors resolves the names of kinds and sets.
func (e *edit) detectors(sets map[string]string, context bool) error {
	if len(e.Detectors) == 0 {
		return nil
	}
	e.kinds = map[string]bool{}
	for _, name := range e.Detectors {
		set, known := sets[name]
		if !known && !slices.Contains(setNames, name) {
			return fmt.Errorf("detectors: %.80q is unknown, the nearest is %q", name, closest(name, append(keysOf(sets), setNames...)))
		}
		for kind, in := range sets {
			if kind == name || in == name {
				e.kinds[kind] = true
			}
		}
		e.wide = e.wide || !context && (name == setContext || set == setContext)
	}
	return nil
}

// steps takes a JSON pointer apart; nil for none.
func steps(pointer string) ([]string, error) {
	switch {
	case pointer == "":
		return nil, nil
	case len(pointer) > maxPointer || pointer[0] != '/':
		return nil, fmt.Errorf("select.pointer: %.80q is no JSON pointer such as \"/message/content/*/input\" of at most %d bytes", pointer, maxPointer)
	}
	all := strings.Split(pointer[1:], "/")
	for i, step := range all {
		for rest := step; ; {
			_, after, found := strings.Cut(rest, "~")
			if !found {
				break
			}
			if after == "" || after[0] != '0' && after[0] != '1' {
				return nil, fmt.Errorf("select.pointer: ~ in %.80q is no escape; write ~0 for ~ and ~1 for /", pointer)
			}
			rest = after
		}
		all[i] = strings.ReplaceAll(strings.ReplaceAll(step, "~1", "/"), "~0", "~")
	}
	return all, nil
}
