package redact

import (
	"fmt"
	"regexp"
	"strings"
)

// customs are the user's patterns. A table tells which of them a text is worth
// running: those of which it holds a keyword, or what every match begins with.
type customs struct {
	list  []custom
	gates []int // literal of the table to index of list
	table *table
	words []literal
}

type custom struct {
	name   string
	re     *regexp.Regexp
	group  int  // what of a match is covered
	always bool // nothing tells beforehand that there is no match
}

// addCustoms compiles the patterns for which wanted holds; all are checked.
func (r *rules) addCustoms(list []Custom, wanted func(string, class) bool) error {
	if len(list) > maxCustoms {
		return fmt.Errorf("custom detectors: %d are given, at most %d are run", len(list), maxCustoms)
	}
	c := &customs{}
	for i := range list {
		one, err := newCustom(&list[i])
		if err == nil {
			err = r.take("custom detector", list[i].Name)
		}
		if err != nil {
			return err
		}
		if wanted(one.name, classCustom) {
			r.encoded = c.add(one, list[i].Keywords) || r.encoded
		}
	}
	if len(c.list) > 0 {
		c.table = newTable(c.words)
		r.customs = c
	}
	return nil
}

func newCustom(o *Custom) (custom, error) {
	if len(o.Pattern) > maxPattern {
		return custom{}, fmt.Errorf("custom detector %q: its pattern has %d bytes, at most %d are taken; split it into several detectors", o.Name, len(o.Pattern), maxPattern)
	}
	re, err := regexp.Compile(o.Pattern)
	if err != nil {
		return custom{}, fmt.Errorf("custom detector %q: its pattern is not RE2: %w", o.Name, err)
	}
	if re.MatchString("") {
		return custom{}, fmt.Errorf("custom detector %q: its pattern matches the empty text, so it would match everywhere; let it ask for at least one character", o.Name)
	}
	if len(o.Keywords) > maxKeywords {
		return custom{}, fmt.Errorf("custom detector %q: it has %d keywords, at most %d are taken", o.Name, len(o.Keywords), maxKeywords)
	}
	for _, k := range o.Keywords {
		if len(k) < 3 {
			return custom{}, fmt.Errorf("custom detector %q: keyword %q is too short; a keyword has 3 bytes or more", o.Name, k)
		}
	}
	return custom{name: o.Name, re: re, group: max(0, re.SubexpIndex("secret"))}, nil
}

// add takes a detector in and reports whether raw JSON may hide that it counts.
func (c *customs) add(one custom, keywords []string) (encoded bool) {
	n := len(c.list)
	if prefix, _ := one.re.LiteralPrefix(); len(keywords) == 0 {
		if one.always = len(prefix) < 3; !one.always {
			keywords = []string{prefix}
		}
	}
	c.list = append(c.list, one)
	for _, k := range keywords {
		c.words = append(c.words, literal{strings.Map(lowerRune, k), true})
		c.gates = append(c.gates, n)
		encoded = encoded || !plain(k)
	}
	return encoded || one.always
}

func lowerRune(r rune) rune {
	if r < 0x80 {
		return rune(lower(byte(r)))
	}
	return r
}

// gate calls on for each detector a word of which begins in s[lo:], until it
// returns false. Those that are always run are not among them.
func (c *customs) gate(s string, lo int, on func(detector, start int) bool) {
	for j, entries := c.table.next(s, lo); j >= 0; j, entries = c.table.next(s, j+2) {
		for _, e := range entries {
			if start := j - int(e.distance); start >= lo && c.words[e.literal].matches(s, start) && !on(c.gates[e.literal], start) {
				return
			}
		}
	}
}

// gates says which detectors a text is worth running.
type gates [maxCustoms]bool

// find runs patterns over s[lo:]: those that are on, and those of which it holds
// a word, which it turns on.
func (c *customs) find(r *rules, s string, lo int, on *gates) (spans []Span) {
	c.gate(s, lo, func(n, _ int) bool { on[n] = true; return true })
	for n := range c.list {
		if d := &c.list[n]; on[n] || d.always {
			spans = d.find(r, spans, s, lo)
		}
	}
	return spans
}

func (d *custom) find(r *rules, spans []Span, s string, lo int) []Span {
	for _, m := range d.re.FindAllStringSubmatchIndex(s[lo:], -1) {
		from, to := m[2*d.group], m[2*d.group+1]
		if from < 0 { // the group took no part
			from, to = m[0], m[1]
		}
		spans = r.spare(spans, s, Span{lo + from, lo + to, d.name})
	}
	return spans
}

// spare adds what of a span is not a placeholder already.
func (r *rules) spare(spans []Span, s string, sp Span) []Span {
	for i := max(0, sp.From-len(placeholderStart)-maxName); i < sp.To; {
		n := strings.Index(s[i:], placeholderStart)
		if n < 0 || i+n >= sp.To {
			break
		}
		i += n
		_, end, ok := r.placeholderAt(s, i)
		if !ok {
			i++
			continue
		}
		if i > sp.From {
			spans = insertSpan(spans, Span{sp.From, i, sp.Detector})
		}
		sp.From, i = max(sp.From, end), end
	}
	if sp.From < sp.To {
		spans = insertSpan(spans, sp)
	}
	return spans
}
