package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

// nested encodes a text as a member of a document, depth times.
func nested(t *testing.T, s string, depth int) string {
	t.Helper()
	for range depth {
		raw, err := json.Marshal(map[string]string{"k": s})
		if err != nil {
			t.Fatal(err)
		}
		s = string(raw)
	}
	return s
}

func TestViews(t *testing.T) {
	key := secrets[0].token
	const covered = "[REDACTED:anthropic]"
	tests := []struct{ name, in, want string }{
		{"one letter", `a \u0073` + key[1:] + ` b`, `a ` + covered + ` b`},
		{"every letter", unicodeEscaped(key, len(key)), covered},
		{"last letters", key[:30] + unicodeEscaped(key[30:], len(key)), covered},
		{"dash as an address has it", `https://example.com/?k=` + strings.ReplaceAll(key, "-", "%2D") + `&x=1`, `https://example.com/?k=` + covered + `&x=1`},
		{"percent, every byte", percentEscaped(key), covered},
		{"percent twice", strings.ReplaceAll(percentEscaped(key), "%", "%25"), covered},
		{"percent in a document", `{"u":"` + percentEscaped(key) + `"}`, `{"u":"` + covered + `"}`},
		{"escape in an address", `\u0025` + percentEscaped(key)[1:], covered},
		{"two layers", `{"a":"{\"b\":\"\\u0073` + key[1:] + `\"}"}`, `{"a":"{\"b\":\"` + covered + `\"}"}`},
		{"after an encoded newline", `line\n\u0073` + key[1:], `line\n` + covered},
		{"next to a letter that is not ASCII", `\u00e9\u0073` + key[1:] + `\u00e9`, `\u00e9` + covered + `\u00e9`},
		{"next to a pair of surrogates", `\ud83d\ude00\u0073` + key[1:] + `\ud83d\ude00`, `\ud83d\ude00` + covered + `\ud83d\ude00`},
		{"two secrets", `\u0073` + key[1:] + " " + key, covered + " " + covered},
		{"slash", `https:\/\/user:hunter2hunter2@example.com`, `https:\/\/user:[REDACTED:url-password]@example.com`},
		{"nothing in it", `100%25 \u0061\/b %zz \u00 \`, `100%25 \u0061\/b %zz \u00 \`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, hits := Scanner{}.String(tt.in)
			if got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if (len(hits) > 0) != (tt.in != tt.want) {
				t.Errorf("hits = %v", hits)
			}
			if got, _ = streamed(Scanner{}, bytesOf(tt.in)...); got != tt.want {
				t.Errorf("stream gave %q, want %q", got, tt.want)
			}
		})
	}
}

func TestViewsOfEveryDepth(t *testing.T) {
	key := secrets[0].token
	for depth := 1; depth <= maxViews; depth++ {
		in := nested(t, "line\n"+`a"b`+key+`"`, depth)
		in = strings.Replace(in, key, nested(t, "\x01", depth-1)+key, 1)
		if got, hits := (Scanner{}).String(in); strings.Contains(got, key[8:]) || len(hits) != 1 {
			t.Errorf("depth %d: %q became %q with %v", depth, in, got, hits)
		}
		hidden := strings.Replace(nested(t, "X"+key[1:], depth), "X", strings.Repeat(`\`, 1<<(depth-1))+"u0073", 1)
		if got, hits := (Scanner{}).String(hidden); strings.Contains(got, key[8:]) || len(hits) != 1 {
			t.Errorf("depth %d: %q became %q with %v", depth, hidden, got, hits)
		}
	}
}

func TestViewsOfHugeTexts(t *testing.T) {
	in := strings.Repeat("a", maxViewed) + `\u0073` + secrets[0].token[1:]
	if got, _ := (Scanner{}).String(in); got != "[REDACTED:too-large]" {
		t.Errorf("got %d bytes, want one placeholder", len(got))
	}
}

func TestDecodeMapsBack(t *testing.T) {
	for _, s := range []string{`a\u0041b`, `\\u0041`, `%41%C3%A9x`, `x\n\"\u00e9\ud83d\ude00y`, `\ud83dz`, `%zz\q\`, "plain"} {
		v := decode(s, true)
		for i := range len(v.text) {
			from, to := v.from(i), v.to(i+1)
			if from < 0 || to > len(s) || from >= to {
				t.Fatalf("%q: byte %d of %q is s[%d:%d]", s, i, v.text, from, to)
			}
			if part := decode(s[from:to], true).text; !strings.Contains(part, v.text[i:i+1]) {
				t.Errorf("%q: byte %d of %q is in %q, which shows %q", s, i, v.text, s[from:to], part)
			}
		}
		if v.from(len(v.text)) != len(s) || v.to(len(v.text)) != len(s) {
			t.Errorf("%q: its end is %d", s, v.from(len(v.text)))
		}
	}
}
