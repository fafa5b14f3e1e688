package plugins

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Bounds of the output of redact and post_tool.
const (
	MaxEdits = 1000
	MaxWith  = 4 << 10 // bytes of the text that stands in a covered one's place
)

// Operations of an edit.
const (
	opReplace = "replace" // a text stands in the value's place
	opRemove  = "remove"  // nothing does
	opMask    = "mask"    // a text stands in the place of the bytes [start,end) of a text
)

// edit hides one value, or a part of a text. All edits of an output are about the
// payload as the plugin saw it: none moves what another one points to.
type edit struct {
	path       string // JSON pointer into the payload
	steps      []string
	op         string
	start, end int     // of mask: bytes of the decoded text, at the bounds of characters
	with       *string // nil: a placeholder
	rule       string  // of the plugin's own; may be empty
}

var ruleName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

// decodeEdits reads {"edits": [{"path", "op", "start"?, "end"?, "with"?, "rule"?}]}.
// No output is no edits.
func decodeEdits(raw json.RawMessage) ([]edit, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := checkJSON(raw); err != nil {
		return nil, fmt.Errorf("output: %w", err)
	}
	r := read(raw, "output", "edits")
	items := r.items("edits", MaxEdits)
	if r.err != nil {
		return nil, r.err
	}
	edits := make([]edit, len(items))
	for i, item := range items {
		var err error
		if edits[i], err = decodeEdit(item, fmt.Sprintf("output: edits[%d]", i)); err != nil {
			return nil, err
		}
	}
	return edits, nil
}

func decodeEdit(raw json.RawMessage, at string) (e edit, err error) {
	r := read(raw, at, "path", "op", "start", "end", "with", "rule")
	e.path = r.text("path", MaxPath)
	e.op = r.text("op", shown)
	e.rule = r.optional("rule", shown)
	if r.has("rule") && !ruleName.MatchString(e.rule) {
		r.fail("rule %q does not match %s", clip(e.rule), ruleName)
	}
	switch e.op {
	case opMask:
		e.start, e.end = r.number("start"), r.number("end")
	case opReplace, opRemove:
		if r.has("start") || r.has("end") {
			r.fail("start and end belong to op %s", opMask)
		}
	default:
		r.fail("op %q is unknown, there are %s, %s, %s", clip(e.op), opReplace, opRemove, opMask)
	}
	if r.has("with") {
		e.with = new(with(r, e.op))
	}
	if r.err != nil {
		return e, r.err
	}
	return e, e.split(at)
}

// maxSteps bounds the depth of a pointer: nothing that is kept is deeper.
const maxSteps = event.MaxDepth

// split takes the path apart.
func (e *edit) split(at string) error {
	if !validPointer(e.path) {
		return fmt.Errorf("%s: path %q is no JSON pointer: it is empty or begins with /, and has ~0 for ~ and ~1 for / in a name", at, clip(e.path))
	}
	if strings.Count(e.path, "/") > maxSteps {
		return fmt.Errorf("%s: path has more than %d steps", at, maxSteps)
	}
	for rest := e.path; rest != ""; {
		var step string
		step, rest = cutToken(rest)
		e.steps = append(e.steps, step)
	}
	return nil
}

// with reads the text of an edit. It may not look like a placeholder: those tell
// who covered what.
func with(r *reader, op string) string {
	text := r.text("with", MaxWith)
	switch {
	case op == opRemove:
		r.fail("with does not belong to op %s", opRemove)
	case strings.Contains(text, placeholderStart):
		r.fail("with holds %q, with which placeholders of Gatehouse begin; leave with out to have one", placeholderStart)
	}
	return text
}

// placeholderStart begins what stands in the place of covered texts all over
// Gatehouse; what covered them and "]" follow.
const placeholderStart = "[REDACTED:"

var placeholder = regexp.MustCompile(`\[REDACTED:[A-Za-z0-9_.:-]{1,80}\]`)

// detector is what a plugin's edits are told as.
func detector(plugin, rule string) string {
	if rule == "" {
		return "plugin." + plugin
	}
	return "plugin." + plugin + "." + rule
}
