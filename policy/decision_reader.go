package policy

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Bounds of the parts of one decision.
const (
	maxAskSeconds   = 86400 // a day
	maxQuorum       = 5
	maxCacheSeconds = 300
	maxTexts        = 32 // of one list of strings
	maxObligations  = 32
	maxMessage      = 8 << 10 // bytes of an agent_message or one text of context
)

// reader takes typed fields out of an object and keeps the first error.
type reader struct {
	object map[string]any
	at     string // of the object within the decision, as "ask."
	err    error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// known refuses fields that are not listed.
func (r *reader) known(fields []string) {
	for _, name := range sortedKeys(r.object) {
		if !slices.Contains(fields, name) {
			r.fail("unknown field %.80q, want one of %s%s", r.at+name, r.at, strings.Join(fields, ", "+r.at))
		}
	}
}

// within reads an object below; it is nil when the field is absent.
func (r *reader) within(name string, fields []string) *reader {
	value, present := r.object[name]
	if !present {
		return nil
	}
	object, ok := value.(map[string]any)
	if !ok {
		r.fail("%s%s must be an object", r.at, name)
		return nil
	}
	inner := &reader{object: object, at: r.at + name + "."}
	inner.known(fields)
	return inner
}

func (r *reader) text(name string) string {
	value, present := r.object[name]
	s, ok := value.(string)
	switch {
	case present && !ok:
		r.fail("%s%s must be a string", r.at, name)
	case len(s) > maxMessage:
		r.fail("%s%s is longer than %d bytes", r.at, name, maxMessage)
	}
	return s
}

// one reads a word of a list; an absent field is "".
func (r *reader) one(name string, words []string) string {
	s := r.text(name)
	if _, present := r.object[name]; present && !slices.Contains(words, s) {
		r.fail("%s%s %.80q: want one of %s", r.at, name, s, strings.Join(words, ", "))
	}
	return s
}

// number reads a whole number from 1 to most; an absent field is 0.
func (r *reader) number(name string, most int) int {
	value, present := r.object[name]
	if !present {
		return 0
	}
	n, isNumber := value.(json.Number)
	whole, err := n.Int64()
	if !isNumber || err != nil || whole < 1 || whole > int64(most) {
		r.fail("%s%s must be a whole number from 1 to %d", r.at, name, most)
	}
	return int(whole)
}

func (r *reader) texts(name string) []string {
	value, present := r.object[name]
	list, ok := value.([]any)
	if present && !ok || len(list) > maxTexts {
		r.fail("%s%s must be a list of at most %d strings", r.at, name, maxTexts)
		return nil
	}
	var all []string
	for _, item := range list {
		s, ok := item.(string)
		if !ok || s == "" || len(s) > maxMessage {
			r.fail("%s%s must be a list of strings, none of them empty or longer than %d bytes", r.at, name, maxMessage)
		}
		all = append(all, s)
	}
	return all
}

// pointers reads a list of JSON pointers.
func (r *reader) pointers(name string) []string {
	all := r.texts(name)
	for _, p := range all {
		if !strings.HasPrefix(p, "/") || p == "/" {
			r.fail("%s%s: %.80q is no JSON pointer such as \"/command\"", r.at, name, p)
		}
	}
	return all
}

func (r *reader) labels(name string) map[string]string {
	value, present := r.object[name]
	object, ok := value.(map[string]any)
	if present && !ok || len(object) > maxTexts {
		r.fail("%s must map at most %d strings to strings", name, maxTexts)
	}
	if len(object) == 0 {
		return nil
	}
	all := map[string]string{}
	for k, v := range object {
		s, ok := v.(string)
		if !ok {
			r.fail("%s must map strings to strings", name)
		}
		all[k] = s
	}
	return all
}
