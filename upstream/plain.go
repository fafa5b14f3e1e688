package upstream

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

const zeroWidthJoiner = '\u200d'

// plain is a text without the invisible characters that belong to emoji as people
// write them: one variation selector behind a character that is seen, and a joiner
// between two emoji. All others stay, for who refuses them.
func plain(s string) string {
	if !strings.ContainsFunc(s, presents) && !strings.ContainsRune(s, zeroWidthJoiner) {
		return s
	}
	runes, out := []rune(s), make([]rune, 0, len(s))
	dropped := true // the one before was; none is before the first
	for i, r := range runes {
		last := rune(0)
		if len(out) > 0 {
			last = out[len(out)-1]
		}
		drop := false
		switch {
		case presents(r):
			drop = !dropped && last != ' ' && !unseen.Rune(last)
		case r == zeroWidthJoiner:
			drop = emoji(last) && i+1 < len(runes) && emoji(runes[i+1])
		}
		if dropped = drop; !drop {
			out = append(out, r)
		}
	}
	return string(out)
}

// presents reports whether r says that the character before it is text, or an emoji.
func presents(r rune) bool { return r == '\ufe0e' || r == '\ufe0f' }

// emoji reports whether r is a picture, or the colour of one.
func emoji(r rune) bool { return unicode.Is(unicode.So, r) || r >= 0x1F000 && r <= 0x1FAFF }

// plainSchema is a schema whose titles and descriptions are plain. What a value must
// be stays as it is.
func plainSchema(raw json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var schema any
	if len(raw) > maxSchema || decoder.Decode(&schema) != nil || !plainTexts(schema) {
		return raw
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(schema) != nil {
		return raw
	}
	return bytes.TrimSpace(out.Bytes())
}

// plainTexts reports whether it changed something.
func plainTexts(v any) (changed bool) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			changed = plainTexts(item) || changed
		}
	case map[string]any:
		for name, member := range v {
			text, is := member.(string)
			if !is || name != "title" && name != "description" {
				changed = plainTexts(member) || changed
				continue
			}
			if better := plain(text); better != text {
				v[name], changed = better, true
			}
		}
	}
	return changed
}
