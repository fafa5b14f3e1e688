package upstream

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	leastSecret = 6  // bytes; a shorter value would be found everywhere
	leastLine   = 16 // the same for a line of a secret of several
	coveredAs   = "[secret]"
)

// cover hides secrets in what a server says. It does not change.
type cover struct {
	needles []string // as they stand in a text, the longest first
	quoted  [][]byte // the same as they stand in a JSON string, see quote
	longest int      // bytes of a needle
}

func newCover(secrets []Secret) *cover {
	c := &cover{}
	for _, s := range secrets {
		for _, told := range tellings(string(s)) {
			c.add(told)
		}
	}
	slices.SortFunc(c.needles, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	c.needles = slices.Compact(c.needles)
	for _, n := range c.needles {
		c.quoted = append(c.quoted, quote(nil, n))
		c.longest = max(c.longest, len(n))
	}
	return c
}

// tellings are what programs say of a secret: all of it, without the blanks around
// it, its lines, and the password of a URL, such as that of a database.
func tellings(s string) []string {
	list := []string{s, strings.TrimSpace(s)}
	if strings.Contains(s, "\n") {
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= leastLine {
				list = append(list, line)
			}
		}
	}
	if u, err := url.Parse(strings.TrimSpace(s)); err == nil && u.Host != "" && u.User != nil {
		password, _ := u.User.Password()
		_, raw, _ := strings.Cut(u.User.String(), ":")
		list = append(list, password, raw)
	}
	return list
}

func (c *cover) add(s string) {
	if len(s) < leastSecret {
		return
	}
	once := string(quote(nil, s))
	html, _ := json.Marshal(s) // a string is always encoded
	html = html[1 : len(html)-1]
	c.needles = append(c.needles, s)
	for _, once := range []string{once, string(html)} { // and in a JSON text within one
		twice, _ := json.Marshal(once)
		c.needles = append(c.needles, once, string(quote(nil, once)), string(twice[1:len(twice)-1]))
	}
	for _, kept := range percentKept {
		escaped := percent(s, kept)
		spaces := strings.ReplaceAll(escaped, "%20", "+")
		c.needles = append(c.needles, escaped, lowerEscapes(escaped), spaces, lowerEscapes(spaces))
	}
	c.needles = append(c.needles, fmt.Sprintf("%x", s), fmt.Sprintf("%X", s))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			c.needles = append(c.needles, within(encoding, s, before))
		}
	}
}

// within is what base64 makes of s behind some other bytes, without the characters
// that depend on its neighbours.
func within(encoding *base64.Encoding, s string, before int) string {
	all := encoding.EncodeToString(append(make([]byte, before), s...))
	return all[(before*8+5)/6 : (before+len(s))*8/6]
}

// percentKept are the signs that URLs are written with as they are: by the least that
// has to be, in a path, and by JavaScript in a part of a URL and in a whole one.
var percentKept = []string{"-_.~", "-_.~/", "-_.~$&+:=@", "-_.~!*'()", "-_.~!*'();,/?:@&=+$#"}

// percent escapes s for a URL but for letters, digits and kept.
func percent(s, kept string) string {
	var out strings.Builder
	for _, b := range []byte(s) {
		if b < utf8.RuneSelf && (unicode.IsLetter(rune(b)) || unicode.IsDigit(rune(b)) || strings.IndexByte(kept, b) >= 0) {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// text covers a text.
func (c *cover) text(s string) string {
	for _, n := range c.needles {
		if strings.Contains(s, n) {
			s = strings.ReplaceAll(s, n, coveredAs)
		}
	}
	return s
}

// message covers a JSON document, in its strings, names and numbers. One without a
// secret comes back as it is.
func (c *cover) message(doc []byte) []byte {
	if len(c.needles) == 0 || !c.in(canonical(doc)) {
		return doc
	}
	decoder := json.NewDecoder(bytes.NewReader(doc))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return []byte(c.text(string(doc))) // no JSON
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(c.value(value)); err != nil {
		return nil // not what a decoder made; nothing leaves
	}
	return bytes.TrimRight(out.Bytes(), "\n")
}

func (c *cover) in(doc []byte) bool {
	return slices.ContainsFunc(c.quoted, func(n []byte) bool { return bytes.Contains(doc, n) })
}

func (c *cover) value(v any) any {
	switch v := v.(type) {
	case string:
		return c.text(v)
	case json.Number:
		if s := c.text(string(v)); s != string(v) {
			return s
		}
	case []any:
		for i := range v {
			v[i] = c.value(v[i])
		}
	case map[string]any:
		for name, member := range v {
			member = c.value(member)
			if hidden := c.text(name); hidden != name {
				delete(v, name)
				name = hidden
			}
			v[name] = member
		}
	}
	return v
}
