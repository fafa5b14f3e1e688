package redact

import (
	"slices"
	"strings"
)

// Stream begins a text of one block that arrives in pieces. Of a block whose
// type is not known, edits about any blocks but those of tools count. What needs
// the whole text is stricter here than in Apply:
//
//   - finds become "[REDACTED:detector]" whatever edits say of them;
//   - of a text that an edit replaces, one placeholder comes and nothing else;
//   - where members are to be masked, a text that begins as JSON is replaced so,
//     and others pass line by line;
//   - a pointer that may lead to such a text counts as if it did.
func (p *Plan) Stream(b Block) *Stream {
	sel := p.streamed(b)
	sc := p.scanner
	if sel.wide {
		sc = p.wide
	}
	inner := sc.Stream()
	if sel.whole == nil && len(sel.keys) == 0 && sel.cut == nil {
		return inner
	}
	return &Stream{rules: sc.rules(), outer: &planText{plan: p, sel: sel, inner: inner}}
}

// streamed is what of the plan is about texts of a block.
func (p *Plan) streamed(b Block) (sel selection) {
	known := *p
	known.edits = slices.Clone(p.edits)
	for i := range known.edits {
		e := &known.edits[i]
		if ofTools := func(kind string) bool { return kind == "tool_use" || kind == "tool_result" }; b.Type == "" &&
			slices.ContainsFunc(e.Select.Blocks, func(kind string) bool { return b.Tool != "" || !ofTools(kind) }) {
			e.Select.Blocks = nil
		}
		if reaches(e.pointer, b) {
			e.pointer = nil
		}
	}
	return known.selected(b, nil)
}

// reaches reports whether a pointer may lead to a text of a block, as it comes in
// pieces or as a whole later on.
func reaches(pointer []string, b Block) bool {
	var places []string
	switch b.Type {
	case "text", "thinking":
		places = []string{"/message/content/*/" + b.Type, "/event/delta/" + b.Type}
	case "tool_use":
		places = []string{"/message/content/*/input", "/event/delta/partial_json"}
	default:
		return true
	}
	return slices.ContainsFunc(places, func(place string) bool {
		steps := strings.Split(place[1:], "/")
		n := min(len(steps), len(pointer))
		return (b.Type == "tool_use" || len(pointer) <= len(steps)) && meet(steps[:n], pointer[:n])
	})
}

// meet reports whether two places can be the same.
func meet(a, b []string) bool {
	for i := range a {
		if a[i] != b[i] && a[i] != "*" && b[i] != "*" {
			return false
		}
	}
	return true
}
