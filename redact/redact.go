// Package redact finds secrets in text and covers them. It knows no policy,
// does no I/O and imports only the standard library.
//
// Start from [Scanner], whose zero value knows the built-in formats:
//
//	var s redact.Scanner
//	clean, hits := s.String(line)
//	doc, findings := s.JSON(payload)
//
// A covered secret becomes "[REDACTED:detector]", which is never taken for a
// secret itself, so redacting twice changes nothing.
package redact

import "strings"

// placeholderStart begins every placeholder; a detector's name and "]" follow.
const placeholderStart = "[REDACTED:"

// Hit is one covered secret.
type Hit struct {
	Detector string // name of the format
}

// Scanner finds secrets of the built-in formats. The zero value is ready to
// use; it has no state and is safe for concurrent use.
type Scanner struct{}

// String returns s with every secret covered, and one Hit for each. A text
// without secrets is returned as it is, with nil.
func (sc Scanner) String(s string) (string, []Hit) {
	var all []Hit
	// Covering one secret can free the boundary of its neighbour, so the result
	// is scanned again. Every round turns bytes into placeholders, which ends it.
	for {
		out, hits := sc.once(s)
		if len(hits) == 0 {
			return out, all
		}
		s, all = out, append(all, hits...)
	}
}

// once covers what one pass from left to right finds.
func (Scanner) once(s string) (string, []Hit) {
	var b strings.Builder
	var hits []Hit
	kept := 0 // s[:kept] is in b already
	for i := 0; i < len(s); i++ {
		for _, f := range byFirst[s[i]] {
			if !strings.HasPrefix(s[i:], f.prefix) {
				continue
			}
			from, end, v := f.at(s, i, true)
			if v != present {
				continue
			}
			b.WriteString(s[kept:from])
			b.WriteString(placeholder(f.kind))
			hits = append(hits, Hit{Detector: f.kind})
			kept, i = end, end-1
			break
		}
	}
	if hits == nil {
		return s, nil
	}
	b.WriteString(s[kept:])
	return b.String(), hits
}

// byFirst lists the formats whose prefix begins with a byte.
var byFirst = func() (t [256][]*format) {
	for i := range vendors {
		first := vendors[i].prefix[0]
		t[first] = append(t[first], &vendors[i])
	}
	return t
}()

func placeholder(detector string) string { return placeholderStart + detector + "]" }
