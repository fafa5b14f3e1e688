package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// maxSaid bounds the nesting of what a plugin says, in levels. Payloads may be deeper.
const maxSaid = 64

// checkJSON refuses what two parsers could read differently: what is no JSON or no
// UTF-8, a key that stands twice in an object, and more than maxSaid levels.
func checkJSON(raw []byte) error {
	switch {
	case !utf8.Valid(raw):
		return errors.New("is no UTF-8")
	case rawjson.Deeper(raw, maxSaid):
		return fmt.Errorf("is nested deeper than %d levels", maxSaid)
	case !json.Valid(raw):
		return errors.New("is no JSON")
	}
	return uniqueKeys(raw)
}

// uniqueKeys goes through valid JSON of a bounded depth.
func uniqueKeys(raw []byte) (err error) {
	if bytes.IndexByte(raw, '{') < 0 {
		return nil
	}
	below := func(value []byte) {
		if err == nil {
			err = uniqueKeys(value)
		}
	}
	seen := make(map[string]bool)
	isObject := rawjson.Each(raw, func(literal, value []byte) {
		name, fault := rawjson.Name(literal)
		if err == nil && (fault != nil || seen[name]) {
			err = fmt.Errorf("has the key %q twice in one object", clip(name))
		}
		seen[name] = true
		below(value)
	})
	if !isObject {
		rawjson.Items(raw, below)
	}
	return err
}

// shown bounds what of a plugin's text an error repeats, in bytes.
const shown = 80

// clip is the beginning of a text for an error.
func clip(s string) string {
	if len(s) <= shown {
		return s
	}
	return strings.ToValidUTF8(s[:shown], "") + "…"
}

// reader reads the members of one object strictly: what is not asked for by name,
// or has another kind, is an error. The first one stays. at begins its text: where
// the object stands.
type reader struct {
	at      string
	members map[string]json.RawMessage
	err     error
}

// read begins to read an object, which [checkJSON] let pass and which may have the
// known members only.
func read(raw json.RawMessage, at string, known ...string) *reader {
	r := &reader{at: at, members: make(map[string]json.RawMessage)}
	isObject := rawjson.Each(raw, func(literal, value []byte) {
		name, err := rawjson.Name(literal)
		if err != nil || !slices.Contains(known, name) {
			r.fail("unknown member %q, there are %s", clip(name), strings.Join(known, ", "))
		}
		r.members[name] = value
	})
	if !isObject {
		r.fail("is %s, want an object", rawjson.Kind(raw))
	}
	return r
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%s: %s", r.at, fmt.Sprintf(format, args...))
	}
}

func (r *reader) has(name string) bool {
	_, there := r.members[name]
	return there
}

// decode reads a member of a kind, as [rawjson.Kind] calls it, into v.
func (r *reader) decode(name, kind string, v any) {
	if got := rawjson.Kind(r.members[name]); got != kind {
		r.fail("%s is %s, want %s", name, got, kind)
		return
	}
	if err := json.Unmarshal(r.members[name], v); err != nil {
		r.fail("%s is a number out of range", name) // or a broken one where a whole one is wanted
	}
}

// text reads a text that must be there, of at most most bytes.
func (r *reader) text(name string, most int) (s string) {
	if r.decode(name, "a string", &s); len(s) > most {
		r.fail("%s has %d bytes, at most %d may be", name, len(s), most)
	}
	return s
}

// optional is text for one that may be missing.
func (r *reader) optional(name string, most int) string {
	if !r.has(name) {
		return ""
	}
	return r.text(name, most)
}

func (r *reader) number(name string) (n int) {
	r.decode(name, "a number", &n)
	return n
}

// flag reads a boolean that may be missing.
func (r *reader) flag(name string) (b bool) {
	if r.has(name) {
		r.decode(name, "a boolean", &b)
	}
	return b
}

// items reads a list that must be there, of at most most elements.
func (r *reader) items(name string, most int) (items []json.RawMessage) {
	if !rawjson.Items(r.members[name], func(value []byte) { items = append(items, value) }) {
		r.fail("%s is %s, want an array", name, rawjson.Kind(r.members[name]))
	}
	if len(items) > most {
		r.fail("%s has %d elements, at most %d may be", name, len(items), most)
		return nil
	}
	return items
}
