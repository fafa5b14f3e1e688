package redact

import "bytes"

// MaxHeld bounds what a [Stream] holds back, in bytes.
const MaxHeld = 512

// Stream covers secrets in a text that arrives in pieces. What may be the
// beginning of a secret is held back, at most MaxHeld bytes of it; nothing else
// is delayed. It is for one goroutine.
//
// What comes out is what [Scanner.String] makes of the whole text, save that
//
//   - a secret longer than MaxHeld is covered before its end is known, and goes
//     on as far as its characters do; so is what may be one for as long;
//   - of secrets that follow each other without a gap, of which each is one only
//     because the next one is, those further back than MaxHeld may pass;
//   - a pattern of the user's own sees one line at a time, from the first of its
//     keywords on if it has any, and at most MaxHeld bytes of it.
type Stream struct {
	rules *rules
	outer stage // what the stream goes through first; nil for nothing

	last [lookBack]byte
	buf  []byte // what was passed on last, to look behind, and what is held
	lo   int    // buf[:lo] was passed on
	open *rule  // of the secret that was covered and still goes on; nil for none
	on   *gates // user's patterns one word of which has come; nil for none
	hits []Hit
}

// stage is what pieces go through.
type stage interface {
	write(piece string) (safe string, hits []Hit)
	close() (rest string, hits []Hit)
}

// Stream begins a text.
func (sc Scanner) Stream() *Stream { return &Stream{rules: sc.rules()} }

// Write takes the next piece and returns what is safe to pass on now.
func (t *Stream) Write(piece string) (safe string, hits []Hit) {
	if t.outer != nil {
		return t.outer.write(piece)
	}
	t.buf = append(t.buf, piece...)
	return view8(t.flush(nil, false)), t.Hits()
}

// Close returns what was held back. The stream must not be used after it.
func (t *Stream) Close() (rest string, hits []Hit) {
	if t.outer != nil {
		return t.outer.close()
	}
	return view8(t.flush(nil, true)), t.Hits()
}

// Append is Write for bytes: it appends what is safe to dst and notes hits for
// Hits. It keeps neither slice.
func (t *Stream) Append(dst, piece []byte) []byte {
	if t.outer != nil {
		safe, hits := t.outer.write(string(piece))
		t.hits = append(t.hits, hits...)
		return append(dst, safe...)
	}
	t.buf = append(t.buf, piece...)
	return t.flush(dst, false)
}

// AppendClose is Close for bytes.
func (t *Stream) AppendClose(dst []byte) []byte {
	if t.outer != nil {
		rest, hits := t.outer.close()
		t.hits = append(t.hits, hits...)
		return append(dst, rest...)
	}
	return t.flush(dst, true)
}

// Hits returns what was covered since it was last asked.
func (t *Stream) Hits() []Hit {
	hits := t.hits
	t.hits = nil
	return hits
}

// Idle reports whether nothing is held back, and no secret goes on. It says
// nothing of a stream of a plan with edits of whole texts or lines.
func (t *Stream) Idle() bool { return t.open == nil && len(t.buf) == t.lo }

// flush appends what of buf is safe to dst.
func (t *Stream) flush(dst []byte, final bool) []byte {
	for t.open == nil || t.passOver(final) {
		s := view8(t.buf)
		out := t.rules.settle(s, t.lo, final)
		out.hold = max(out.hold, t.lo) // an escape may begin before it
		if final || len(s)-out.hold <= MaxHeld {
			return t.pass(dst, out, final)
		}
		if out.open == nil {
			return t.pass(dst, t.chain(s, out), true)
		}
		dst = t.pass(dst, t.begun(s, out), true)
	}
	return dst
}

// begun covers what there is of a secret that is too long to be held. Where it
// may still be none it is covered too: nobody can wait to know.
func (t *Stream) begun(s string, out outcome) outcome {
	t.open = out.open
	from := out.from
	if out.none {
		from = out.start
	}
	before := t.rules.settle(s[:from], t.lo, true)
	before.hold = len(s)
	if t.open.goOn != nil {
		before.hold = max(from+1, lineBegin(s))
	}
	before.spans = insertSpan(before.spans, Span{from, before.hold, out.open.kind})
	return before
}

// chain settles secrets that follow each other for longer than may be held, of
// which each would be one only if the next is: they are.
func (t *Stream) chain(s string, out outcome) outcome {
	tip := max(out.tip, len(s)-MaxHeld)
	before := t.rules.settle(s[:tip], t.lo, true)
	before.hold = tip
	return before
}

// keptLine is how much of a line of base64 tells that it is one, in bytes.
const keptLine = 64

// lineBegin is from where on what tells the end of a key must be shown s again,
// so that it does not take the rest of a line for a whole one.
func lineBegin(s string) int {
	i := len(s)
	for i > 0 && len(s)-i < keptLine && padded[s[i-1]] {
		i--
	}
	return i
}

// lookBack is how much of what was passed on is kept, in bytes: where words and
// names begin is told by what stands before them.
const lookBack = max(lookBehind, maxSequence, contextReach, maxNameRest) + 32

// pass appends what is before the hold to dst, and keeps the rest.
func (t *Stream) pass(dst []byte, out outcome, whole bool) []byte {
	s := view8(t.buf)
	if t.rules.customs != nil {
		t.customs(s, &out, whole)
	}
	first, i := len(dst), t.lo
	for _, sp := range out.spans {
		dst = append(dst, s[i:sp.From]...)
		dst = append(append(append(dst, placeholderStart...), sp.Detector...), ']')
		t.hits = append(t.hits, Hit{Detector: sp.Detector})
		i = sp.To
	}
	dst = append(dst, s[i:out.hold]...)
	t.keep(dst[first:], out.hold)
	return dst
}

// maxIdleBuffer bounds the memory that is kept from one piece to the next.
const maxIdleBuffer = 64 << 10

// keep makes buf the end of what was passed on and buf[hold:].
func (t *Stream) keep(passed []byte, hold int) {
	behind := t.last[:]
	n := len(behind)
	passed = passed[max(0, len(passed)-n):]
	n -= copy(behind[n-len(passed):], passed)
	old := t.buf[max(0, t.lo-n):t.lo]
	n -= copy(behind[n-len(old):], old)
	held := t.buf[hold:]
	t.lo = len(behind) - n
	if t.lo > hold || cap(t.buf) > maxIdleBuffer {
		t.buf = append(bytes.Clone(behind[n:]), held...)
		return
	}
	copy(t.buf[t.lo:], held)
	t.buf = t.buf[:t.lo+len(held)]
	copy(t.buf, behind[n:])
}
