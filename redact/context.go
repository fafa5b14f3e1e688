package redact

import "strings"

// contextKind is the name of the detector for secrets that have no form of their
// own, but are given to a name that says what they are: password = "…".
const contextKind = "context"

// keyword is a part of a name that says so.
type keyword struct {
	text   string
	strong bool // of nothing but secrets; others are also names of counters, tokens of a language, …
}

var keywords = []keyword{
	{"password", true}, {"passwd", true}, {"passphrase", true}, {"pwd", true}, {"secret", true},
	{"api_key", true}, {"api-key", true}, {"apikey", true}, {"access_key", true}, {"access-key", true}, {"accesskey", true},
	{"private_key", true}, {"private-key", true}, {"privatekey", true}, {"encryption_key", true}, {"encryption-key", true},
	{"encryptionkey", true}, {"signing_key", true}, {"signing-key", true}, {"signingkey", true},
	{"_pass", true}, {"token", false}, {"auth", false}, {"authorization", false}, {"credential", false}, {"bearer", false},
}

// Bounds on what a find may span, in bytes. Together they stay below MaxHeld, so
// that a stream can always tell.
const (
	maxNameRest  = 40 // of the name behind its keyword
	maxGap       = 16 // white space, backslashes
	minSecret    = 8  // of a value
	maxSecret    = 256
	contextReach = 64 // before the keyword, for what says that a digest is no secret
)

// contextRules looks for every keyword.
func contextRules() []rule {
	rules := make([]rule, len(keywords))
	for i, k := range keywords {
		rules[i] = rule{class: classContext, fold: true, format: format{kind: contextKind, prefix: k.text, glued: true, find: k.find}}
	}
	return rules
}

// find reads name, assignment and value from the keyword at start on.
func (k keyword) find(s string, start int, final bool) (from, end int, v verdict) {
	p := parser{s: s, i: start + len(k.text), final: final}
	if !p.name(start) || !p.assignment(start) {
		return p.none(start)
	}
	value, quoted, ok := p.value()
	if !ok {
		return p.none(start)
	}
	end = p.i
	from = end - len(value)
	if !credible(value, quoted, k.strong, s[max(0, start-contextReach):from]) {
		return 0, 0, absent
	}
	return from, end, present
}

// member adds a span over the value of a member whose name says that it is a
// secret, unless something is found in it already.
func (r *rules) member(spans []Span, key, s string) []Span {
	if len(spans) > 0 || len(s) < minSecret || len(s) > maxSecret {
		return spans
	}
	for i := range keywords {
		k := &keywords[i]
		for at := range len(key) - len(k.text) + 1 {
			if !equalFold(key[at:at+len(k.text)], k.text) {
				continue
			}
			p := parser{s: key, i: at + len(k.text), final: true}
			if _, _, known := r.placeholderAt(s, 0); p.name(at) && p.i == len(key) && !known && credible(unschemed(s), true, k.strong, key) {
				return []Span{{len(s) - len(unschemed(s)), len(s), contextKind}}
			}
		}
	}
	return spans
}

// unschemed is the value of a header without its scheme.
func unschemed(s string) string {
	for _, scheme := range schemes {
		if len(s) > len(scheme) && equalFold(s[:len(scheme)], scheme) {
			return strings.TrimLeft(s[len(scheme):], " ")
		}
	}
	return s
}

// schemes of the Authorization header, in lower case.
var schemes = []string{"basic ", "bearer ", "token ", "apikey "}

// parser reads an assignment. Each of its steps reports whether the text fits;
// short is set when the text ended first.
type parser struct {
	s     string
	i     int
	final bool
	short bool
	close byte // mark that ends the value: of a quotation, < of an element; 0 for none
}

func (p *parser) none(start int) (from, end int, v verdict) {
	if p.short && !p.final {
		return start, start, unsettled
	}
	return 0, 0, absent
}

// peek is the byte at p.i, 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	p.short = true
	return 0
}

// skip passes bytes of set, at most maxGap.
func (p *parser) skip(set string) {
	for n := 0; n < maxGap && p.peek() != 0 && strings.IndexByte(set, p.s[p.i]) >= 0; n++ {
		p.i++
	}
}

// name reads the rest of a name and refuses names of something else: the
// keyword is only a part of a longer word ("tokenizer"), or what follows it says
// that the value is about the secret, not the secret ("token_url").
func (p *parser) name(start int) bool {
	last := p.s[p.i-1]
	if b := p.peek(); lower(b) == 's' {
		p.i++
	}
	b := p.peek()
	if 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' && 'A' <= last && last <= 'Z' {
		return false
	}
	first := p.i
	for p.i-first <= maxNameRest && token[p.peek()] {
		p.i++
	}
	rest := strings.ToLower(strings.Trim(p.s[first:p.i], "-_"))
	if cut := strings.LastIndexAny(rest, "-_"); cut >= 0 {
		rest = rest[cut+1:]
	}
	return (p.final || !p.short) && p.i-first <= maxNameRest && !aboutWords[rest]
}

// aboutWords end names of values that are about a secret.
var aboutWords = set(`count counts limit length len size max min type kind name names url uri path paths file files
	filename dir folder expires expiry expiration ttl at version algorithm alg field label hint policy regex pattern env
	var ref reference format prefix suffix endpoint host issuer provider method scheme mode status id ids index
	manager store enabled required valid class helper service handler parser usage budget used placeholder`)

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// assignment reads what stands between a name and its value: = : => := and the
// closing mark of a quoted name, the space after a flag, the > of an element.
func (p *parser) assignment(start int) bool {
	p.skip(`\`)
	quotedName := strings.IndexByte("\"'`", p.peek()) >= 0 && p.peek() != 0
	if quotedName {
		p.i++
	}
	if p.peek() == ']' {
		p.i++
	}
	before := p.i
	p.skip(" \t")
	switch p.peek() {
	case '=', ':':
		p.i++
		if p.peek() == '=' || p.peek() == '>' {
			if p.i++; p.s[p.i-2] == '=' && p.s[p.i-1] == '=' { // a comparison
				return false
			}
		}
	case '>':
		if !opensElement(p.s, start) {
			return false
		}
		p.i++
		p.close = '<'
	default:
		if p.i == before || quotedName || !isFlag(p.s, start) {
			return false
		}
	}
	p.skip(" \t")
	return !p.short
}

// isFlag reports whether the name with the keyword at start is one of a flag, or
// of a scheme that its credentials follow.
func isFlag(s string, start int) bool {
	i := start
	for i > 0 && token[s[i-1]] && start-i < maxNameRest {
		i--
	}
	return s[i:start] != "" && s[i] == '-' && (i == 0 || strings.IndexByte(" \t\r\n\"'`[(,n", s[i-1]) >= 0) || lower(s[start]) == 'b'
}

// opensElement reports whether the name with the keyword at start follows a <.
func opensElement(s string, start int) bool {
	i := start
	for i > 0 && token[s[i-1]] && start-i < maxNameRest {
		i--
	}
	return i > 0 && s[i-1] == '<'
}

// value reads the value, without its quotation marks.
func (p *parser) value() (value string, quoted, ok bool) {
	for _, scheme := range schemes {
		if part := p.s[p.i:min(len(p.s), p.i+len(scheme))]; equalFold(part, scheme[:len(part)]) {
			if len(part) < len(scheme) {
				p.short = true
				return "", false, false
			}
			p.i += len(scheme)
			break
		}
	}
	p.skip(`\`)
	if b := p.peek(); p.close == 0 && (b == '"' || b == '\'' || b == '`') {
		p.close = b
		p.i++
	}
	first := p.i
	for p.i-first <= maxSecret {
		if p.close == 0 {
			p.i = run(p.s[:min(len(p.s), first+maxSecret)], p.i, &ofValue)
		}
		b := p.peek()
		switch {
		case p.short && !p.final, p.i-first == maxSecret && !p.ends(b):
			return "", false, false
		case p.ends(b):
			return p.s[first:p.i], p.close != 0, true
		}
		p.i++
	}
	return "", false, false
}

// ends reports whether b is behind a value.
func (p *parser) ends(b byte) bool {
	if p.close != 0 {
		return b < ' ' || b == '\\' || b == p.close
	}
	return behindValue[b]
}

// behindValue are the bytes that end a value without quotation marks, and ofValue
// all others.
var (
	behindValue = chars("\x00 ", "\\\"'`<>,;)}]&")
	ofValue     = func() (c charset) {
		for b := range c {
			c[b] = !behindValue[b]
		}
		return c
	}()
)
