// Package redact finds secrets in text and covers them. It knows no policy,
// does no I/O and imports only the standard library.
//
// Start from [Scanner], whose zero value knows the built-in formats; [New] adds
// detectors of the user's own:
//
//	var s redact.Scanner
//	clean, hits := s.String(line)
//	doc, findings := s.JSON(payload)
//
// Text that arrives in pieces goes through a [Stream]. A covered secret becomes
// "[REDACTED:detector]", which is never taken for a secret itself, so redacting
// twice changes nothing.
//
// Secrets are also found where a text encodes them, up to four layers deep: as
// escapes of JSON and as %XX of addresses. Not found are secrets in other
// encodings of a text, as UTF-16 or base64 (save private keys), or with
// something between their characters, as a line's end or a colour.
package redact

import "strings"

// Hit is one covered secret.
type Hit struct {
	Detector string // its kind, or the name of the user's detector
}

// Scanner finds secrets. The zero value looks for the built-in vendor formats;
// [New] makes others. It has no state and is safe for concurrent use.
type Scanner struct {
	own *rules // nil: the vendor formats
}

func (sc Scanner) rules() *rules {
	if sc.own == nil {
		return vendorRules()
	}
	return sc.own
}

// String returns s with every secret covered, and one Hit for each. A text
// without secrets is returned as it is, with nil. The result is at most
// MaxGrowth bytes longer for each hit.
func (sc Scanner) String(s string) (string, []Hit) { return sc.rules().string("", s) }

// MaxGrowth is the length of the longest placeholder, in bytes.
const MaxGrowth = len(placeholderStart) + maxDetector + len("]")

// Finds says where in s the secrets are that String covers: in order, without
// overlap, nil for none.
func (sc Scanner) Finds(s string) []Span { return sc.rules().finds("", s) }

// maxPasses bounds how often a text is looked at because what was covered in it
// changed the surroundings of something else. One that does not come to rest is
// covered as a whole.
const maxPasses = 8

// string covers the secrets of a text that is the value of a member, or of none.
func (r *rules) string(key, s string) (string, []Hit) {
	var all []Hit
	for passes := range maxPasses {
		spans := r.finds(key, s)
		if len(spans) == 0 {
			break
		}
		s = cover(s, spans)
		for _, sp := range spans {
			all = append(all, Hit{Detector: sp.Detector})
		}
		if passes == maxPasses-1 && len(r.finds(key, s)) > 0 {
			return placeholder("text"), all
		}
	}
	return s, all
}

// finds is one look at a text.
func (r *rules) finds(key, s string) []Span {
	spans := r.settle(s, 0, true).spans
	if r.customs != nil {
		spans = r.custom(spans, s, 0, new(gates))
	}
	if r.context && key != "" {
		spans = r.member(spans, key, s)
	}
	return spans
}

// cover puts placeholders in the place of spans.
func cover(s string, spans []Span) string {
	var b strings.Builder
	kept := 0
	for _, sp := range spans {
		b.WriteString(s[kept:sp.From])
		b.WriteString(placeholderStart)
		b.WriteString(sp.Detector)
		b.WriteByte(']')
		kept = sp.To
	}
	b.WriteString(s[kept:])
	return b.String()
}
