package mcpserver

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// decode unmarshals name into v, which want describes for the complaint.
func (a *arguments) decode(name, want string, v any) bool {
	raw := a.values[name]
	if raw == nil {
		return false
	}
	if err := json.Unmarshal(raw, v); err != nil || kindOf(raw) != want {
		a.fail("%s: want %s, got %s", name, want, kindOf(raw))
		return false
	}
	return true
}

// text reads a string that, when given, is not blank.
func (a *arguments) text(name string) string {
	var s string
	if a.decode(name, "a string", &s) && strings.TrimSpace(s) == "" {
		a.fail("%s: is blank; leave it out or give it a value", name)
	}
	return s
}

// required is text that has to be there.
func (a *arguments) required(name string) string {
	if !a.has(name) {
		a.fail("%s: is required", name)
	}
	s := a.free(name)
	if strings.TrimSpace(s) == "" {
		a.fail("%s: is blank; it is required", name)
	}
	return s
}

// free reads a string that may be blank.
func (a *arguments) free(name string) string {
	var s string
	a.decode(name, "a string", &s)
	return s
}

// choice reads one of a few words; def when absent.
func (a *arguments) choice(name, def string, words ...string) string {
	if !a.has(name) {
		return def
	}
	s := a.free(name)
	if a.err == nil && !slices.Contains(words, s) {
		a.fail("%s: %q is none of %s%s", name, s, strings.Join(words, ", "), suggestion(s, words))
	}
	return s
}

func (a *arguments) boolean(name string, def bool) bool {
	b := def
	a.decode(name, "a boolean", &b)
	return b
}

// integer reads a whole number between lo and hi, def when absent. 3000.0 and
// 3e3 are whole: JSON has one kind of number.
func (a *arguments) integer(name string, def, lo, hi int64) int64 {
	f := a.number(name, math.NaN())
	switch {
	case math.IsNaN(f):
		return def
	case f != math.Trunc(f):
		a.fail("%s: want a whole number, got %s", name, a.values[name])
	case f < float64(lo) || f > float64(hi):
		a.fail("%s: want a number from %d to %d, got %s", name, lo, hi, a.values[name])
	default:
		return int64(f)
	}
	return def
}

// number reads a finite number.
func (a *arguments) number(name string, def float64) float64 {
	raw := a.values[name]
	if raw == nil {
		return def
	}
	if kindOf(raw) != "a number" {
		a.fail("%s: want a number, got %s", name, kindOf(raw))
		return def
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		a.fail("%s: %s is out of range", name, raw)
		return def
	}
	return f
}

// millis reads a duration; 0 when absent.
func (a *arguments) millis(name string) time.Duration {
	return time.Duration(a.integer(name, 0, 1, maxTimeoutMS)) * time.Millisecond
}

// wait reads waitMs.
func (a *arguments) wait() time.Duration {
	return time.Duration(a.integer("waitMs", 0, 0, maxWaitMS)) * time.Millisecond
}

// list reads an array of strings, each one of words when there are any; nil
// when absent, never nil when given.
func (a *arguments) list(name string, words ...string) []string {
	var raws []json.RawMessage
	if !a.decode(name, "an array", &raws) {
		return nil
	}
	out := make([]string, len(raws))
	for i, raw := range raws {
		item := arguments{values: map[string]json.RawMessage{"": raw}}
		switch kind := kindOf(raw); {
		case kind != "a string":
			a.fail("%s[%d]: want a string, got %s", name, i, kind)
		default:
			out[i] = item.free("")
		}
		if a.err == nil && len(words) > 0 && !slices.Contains(words, out[i]) {
			a.fail("%s[%d]: %q is none of %s", name, i, out[i], strings.Join(words, ", "))
		}
	}
	return out
}

// members is the text of an object; nil when absent.
func (a *arguments) members(name string) json.RawMessage {
	raw := a.values[name]
	if raw != nil && kindOf(raw) != "an object" {
		a.fail("%s: want an object, got %s", name, kindOf(raw))
		return nil
	}
	return raw
}

// object reads an object whose members are known; nil when absent.
func (a *arguments) object(name string, known ...string) *arguments {
	raw := a.members(name)
	if raw == nil {
		return nil
	}
	inner, err := decodeArguments(raw, known)
	if err != nil {
		a.fail("%s: %v", name, messageOf(err))
	}
	return &inner
}

// open reads an object with members of its own, as sent. each, when not nil,
// says what is wrong with one member, "" if nothing.
func (a *arguments) open(name string, each func(member string, v json.RawMessage) string) json.RawMessage {
	raw := a.members(name)
	if raw == nil {
		return nil
	}
	fields, err := members(raw)
	if err != nil {
		a.fail("%s: %v", name, err)
	}
	for _, f := range fields {
		if each == nil {
			break
		}
		if wrong := each(f.name, f.value); wrong != "" {
			a.fail("%s.%s: %s", name, f.name, wrong)
		}
	}
	return raw
}

// adopt takes over the complaint of a member object.
func (a *arguments) adopt(name string, inner *arguments) {
	if inner.err != nil {
		a.fail("%s.%s", name, messageOf(inner.err))
	}
}
