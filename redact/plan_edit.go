package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// edit is an [Edit] that was checked and made ready.
type edit struct {
	Edit
	pointer []string        // steps; nil for no pointer
	kinds   map[string]bool // of finds it is about, sets resolved
	wide    bool            // they are more than the plan's scanner finds
	note    string          // stands where a text was cut
}

// rank orders edits by how little they leave.
func (e *edit) rank() int {
	switch e.Action {
	case Drop:
		return 3
	case Redact, MaskJSONKey:
		return 2
	case Replace:
		return 1
	}
	return 0
}

// about reports whether an edit is about a block.
func (e *edit) about(b Block) bool {
	if len(e.Select.Blocks) > 0 && !slices.Contains(e.Select.Blocks, b.Type) {
		return false
	}
	if len(e.Select.Tools) == 0 {
		return true
	}
	if b.Tool == "" { // of a tool, but nobody knows of which
		return b.Type == "tool_use" || b.Type == "tool_result"
	}
	return slices.ContainsFunc(e.Select.Tools, func(glob string) bool { return matchTool(glob, b.Tool) })
}

// matchTool compares a tool's name; a star also stands for a slash.
func matchTool(glob, tool string) bool {
	ok, err := path.Match(strings.ReplaceAll(glob, "/", "\x01"), strings.ReplaceAll(tool, "/", "\x01"))
	return ok || err != nil // it was checked: cannot be
}

// hashLength is how many hexadecimal digits of a digest are shown.
const hashLength = 12

// becomes is what stands for a text, a value or a find.
func (e *edit) becomes(key []byte, s string) string {
	switch e.Action {
	case Drop:
		return ""
	case Replace:
		return e.With
	case Hash:
		return hashed(key, s)
	}
	if len(e.Keys) > 0 {
		return placeholder("key")
	}
	return placeholder(e.Rule)
}

func hashed(key []byte, s string) string {
	if isHash(s) {
		return s
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(s))
	return placeholder(fmt.Sprintf("hash:%x", mac.Sum(nil)[:hashLength/2]))
}

// isHash reports whether a text is what a hash is shown as.
func isHash(s string) bool {
	digest, ok := strings.CutPrefix(s, placeholderStart+"hash:")
	return ok && len(digest) == hashLength+1 && run(digest, 0, &hexBytes) == hashLength && digest[hashLength] == ']'
}

var hexBytes = chars("09af", "")

// processKey keys the hashes of plans that were given no key.
var processKey = sync.OnceValue(func() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never errs
	return key
})

// cut shortens a text to the edit's bound and says so behind it. It goes back to
// the beginning of a letter or of a placeholder rather than through one.
func (e *edit) cut(s string) (string, bool) {
	if len(s) <= e.MaxBytes || isPlaceholder(s) {
		return s, false
	}
	if body, ok := strings.CutSuffix(s, e.note); ok && len(body) <= e.MaxBytes {
		return s, false
	}
	end := e.MaxBytes
	for end > 0 && !utf8.RuneStart(s[end]) && end > e.MaxBytes-utf8.UTFMax {
		end--
	}
	if i := strings.LastIndex(s[:min(len(s), end+len(placeholderStart))], placeholderStart); i >= 0 && i < end {
		if n := strings.IndexByte(s[i:], ']'); n >= 0 && i+n >= end && isPlaceholder(s[i:i+n+1]) {
			end = i
		}
	}
	return s[:end] + e.note, true
}

func cutNote(e *Edit) string {
	return fmt.Sprintf("…[cut at %d bytes by rule %s]", e.MaxBytes, e.Rule)
}
