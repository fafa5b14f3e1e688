package redact

import "strings"

// finds covers what detectors find in a text, once. key is the member that the
// text belongs to, which tells the context tier something.
func (p *Plan) finds(sel *selection, key, s string) (string, []Hit) {
	sc := p.scanner
	if sel.wide {
		sc = p.wide
	}
	if len(sel.finds) == 0 {
		return sc.rules().string(key, s)
	}
	spans := sc.rules().finds(key, s)
	if len(spans) == 0 {
		return s, nil
	}
	var b strings.Builder
	hits, kept := make([]Hit, len(spans)), 0
	for i, sp := range spans {
		b.WriteString(s[kept:sp.From])
		b.WriteString(p.find(sel, sp.Detector, s[sp.From:sp.To]))
		hits[i], kept = Hit{Detector: sp.Detector}, sp.To
	}
	b.WriteString(s[kept:])
	return b.String(), hits
}

// find is what becomes of one find.
func (p *Plan) find(sel *selection, kind, secret string) string {
	var best *edit
	for _, e := range sel.finds {
		if e.kinds[kind] {
			best = stricter(best, e)
		}
	}
	if best == nil || best.Action == Redact {
		return placeholder(kind)
	}
	return best.becomes(p.key, secret)
}
