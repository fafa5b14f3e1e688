//go:build !wasip1

package pdk

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// The limits of edits.
const (
	maxEdits    = 1000
	maxWith     = 4 << 10
	placeholder = "[REDACTED:"
)

var ruleName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)

type fakeEdit struct {
	Path, Op, Rule, With *string
	Start, End           *int
}

// checkEdits fails a call whose edits the host would not apply to its payload.
func (c *Call) checkEdits() {
	payload, code := findRaw(c.document, "/payload")
	if c.Output == "" || c.Err != nil || code < 0 || !c.may(Redact, PostTool) {
		return
	}
	var out struct{ Edits []fakeEdit }
	d := json.NewDecoder(strings.NewReader(c.Output))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		if c.hook != "" { // else it may be that of tools
			c.fail("output: want {\"edits\": […]}: %w", err)
		}
		return
	}
	if len(out.Edits) > maxEdits {
		c.fail("output: %d edits, at most %d may be", len(out.Edits), maxEdits)
	}
	for i, e := range out.Edits {
		if err := e.check(payload); err != nil {
			c.fail("output: edits[%d]: %w", i, err)
		}
	}
}

func (e fakeEdit) check(payload json.RawMessage) error {
	if e.Path == nil || e.Op == nil {
		return fmt.Errorf("want path and op")
	}
	part, code := findRaw(payload, *e.Path)
	text := code == 0 && part[0] == '"'
	switch {
	case code < 0:
		return fmt.Errorf("the payload has no %q; pointers are into the payload", *e.Path)
	case *e.Path == "" && !text:
		return fmt.Errorf("the payload is no text; hide its members")
	case e.Rule != nil && !ruleName.MatchString(*e.Rule):
		return fmt.Errorf("rule %q does not match %s", *e.Rule, ruleName)
	case e.With != nil && (*e.Op == "remove" || len(*e.With) > maxWith || strings.Contains(*e.With, placeholder)):
		return fmt.Errorf("with %.80q may not be: it is for replace and mask, has at most %d bytes and no %s", *e.With, maxWith, placeholder)
	case *e.Op == "mask":
		return e.checkMask(part, text)
	case *e.Op != "replace" && *e.Op != "remove":
		return fmt.Errorf("op %q is unknown", *e.Op)
	case e.Start != nil || e.End != nil:
		return fmt.Errorf("start and end belong to op mask")
	}
	return nil
}

func (e fakeEdit) checkMask(part json.RawMessage, text bool) error {
	var s string
	if !text || json.Unmarshal(part, &s) != nil || e.Start == nil || e.End == nil {
		return fmt.Errorf("mask of %q: want a text, start and end", *e.Path)
	}
	boundary := func(i int) bool { return i == len(s) || utf8.RuneStart(s[i]) }
	if *e.Start < 0 || *e.Start >= *e.End || *e.End > len(s) || !boundary(*e.Start) || !boundary(*e.End) {
		return fmt.Errorf("mask of %q: bytes %d to %d are no part of the text, or cut a character", *e.Path, *e.Start, *e.End)
	}
	return nil
}
