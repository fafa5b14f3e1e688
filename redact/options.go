package redact

import (
	"fmt"
	"maps"
	"slices"
)

// Options says what a [Scanner] looks for beside the vendor formats.
type Options struct {
	Context bool              `json:"context,omitempty"` // also secrets that only their surroundings tell, such as password = "…"
	Custom  []Custom          `json:"custom,omitempty"`  // at most 200
	Values  map[string]string `json:"-"`                 // further secrets by the name they are told as; values shorter than 8 bytes are refused
}

// Custom is a detector of the user's own.
type Custom struct {
	Name     string   `json:"name"`               // 1 to 64 of a-z, 0-9 and "-", the first no "-"; not one of the built-in names
	Pattern  string   `json:"pattern"`            // RE2, at most 4096 bytes; the group named "secret", or else the whole match, is covered
	Keywords []string `json:"keywords,omitempty"` // of 3 bytes or more; the pattern counts only in texts that hold one of them; case does not matter
}

// Bounds on options.
const (
	maxDetector = 64      // bytes of a name
	maxPattern  = 4 << 10 // bytes of a pattern
	maxCustoms  = 200
	maxKeywords = 32 // of one detector
	maxValues   = 1000
	minValue    = 8        // bytes; shorter ones stand in too many words
	maxValue    = 64 << 10 // bytes
)

// New makes a scanner; the error names the option that is wrong and says what
// would be right. Its cost is that of compiling the patterns: keep the result.
func New(o Options) (Scanner, error) {
	if !o.Context && len(o.Custom) == 0 && len(o.Values) == 0 {
		return Scanner{}, nil
	}
	o.Custom, o.Values = slices.Clone(o.Custom), maps.Clone(o.Values)
	r, err := newRules(o, func(string, class) bool { return true })
	if err != nil {
		return Scanner{}, err
	}
	for name := range r.names {
		if len(vendorRules().settle(placeholder(name), 0, true).spans) > 0 {
			return Scanner{}, fmt.Errorf("detector %q: the name itself looks like a secret, which would be covered in every placeholder; choose another", name)
		}
	}
	return Scanner{r}, nil
}

// take checks the name of a detector and notes it.
func (r *rules) take(sort, name string) error {
	switch {
	case name == "" || len(name) > maxDetector || name[0] == '-' || run(name, 0, &nameChars) != len(name):
		return fmt.Errorf("%s %q: a name is 1 to %d of a-z, 0-9 and \"-\", and does not begin with \"-\"", sort, name, maxDetector)
	case r.names[name] || ownNames[name] || slices.Contains(setNames, name):
		return fmt.Errorf("%s %q: the name is taken by a built-in or an earlier detector; choose another", sort, name)
	}
	r.names[name] = true
	return nil
}

var nameChars = chars("az09", "-")

// maxLiteral is how much of a value is looked for first.
const maxLiteral = 64

// addValues adds a rule for each value. Longer ones go first, so that of two
// that begin alike the whole one is covered.
func (r *rules) addValues(values map[string]string, wanted func(string, class) bool) error {
	if len(values) > maxValues {
		return fmt.Errorf("values: %d are given, at most %d are looked for", len(values), maxValues)
	}
	names := slices.Sorted(maps.Keys(values))
	for _, name := range names {
		if err := r.take("value", name); err != nil {
			return err
		}
		if n := len(values[name]); n < minValue || n > maxValue {
			return fmt.Errorf("value %q: it has %d bytes; %d to %d can be looked for", name, n, minValue, maxValue)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return len(values[b]) - len(values[a]) })
	for _, name := range names {
		r.add(valueRule(name, values[name]), wanted)
		r.encoded = r.encoded || !plain(values[name])
	}
	return nil
}

// plain reports whether a string of JSON shows s as it is, if it has no escape
// for a printable character.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' || s[i] == '"' || s[i] == '\\' {
			return false
		}
	}
	return true
}

func valueRule(name, value string) rule {
	find := func(s string, start int, final bool) (from, end int, v verdict) {
		there := s[start:min(len(s), start+len(value))]
		switch {
		case there == value:
			return start, start + len(value), present
		case final || start+len(there) < len(s) || there != value[:len(there)]:
			return 0, 0, absent
		}
		return start, len(s), unsettled
	}
	return rule{class: classCustom, format: format{kind: name, prefix: value[:min(len(value), maxLiteral)], glued: true, find: find}}
}
