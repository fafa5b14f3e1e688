package upstream

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestCover(t *testing.T) {
	c := newCover([]Secret{token, "short", "98765432", "line one of a secret\nline two of the secret"})
	s := string(token)
	for _, text := range []string{
		s, url.QueryEscape(s), url.PathEscape(s), quoted(s), quoted(quoted(s)),
		base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte("a" + s)), base64.RawStdEncoding.EncodeToString([]byte("ab" + s + "c")),
		"line two of the secret", "pin 98765432.",
	} {
		if got := c.text("<" + text + ">"); !strings.Contains(got, coveredAs) || strings.Contains(got, "7f3a9") {
			t.Errorf("%q became %q", text, got)
		}
		raw, _ := json.Marshal(map[string]any{"a": []any{text}})
		if got := string(c.message(raw)); !json.Valid([]byte(got)) || !strings.Contains(got, coveredAs) {
			t.Errorf("%s became %s", raw, got)
		}
	}
	for doc, want := range map[string]string{
		`{"n":987654321,"short":"short"}`: `{"n":"[secret]1","short":"short"}`,
		`["\u0039\u0038765432"]`:          `["[secret]"]`,
		`{"98765432":1}`:                  `{"[secret]":1}`,
		`{"b":"\u003c", "a":1e400}`:       `{"b":"\u003c", "a":1e400}`, // as it is
	} {
		if got := string(c.message([]byte(doc))); got != want {
			t.Errorf("%s became %s, want %s", doc, got, want)
		}
	}
}

// What programs make of a secret before they say it.
func TestTellings(t *testing.T) {
	c := newCover([]Secret{" spaced-7f3a9 ", "postgres://app:p%40ss-7f3a9@db/x", "it's(7f3a9) a/b*"})
	for _, text := range []string{
		"spaced-7f3a9", "p@ss-7f3a9", "p%40ss-7f3a9", "it%27s%287f3a9%29%20a%2Fb%2A", "it%27s%287f3a9%29%20a%2fb%2a", "it%27s%287f3a9%29+a/b%2A",
		"it's(7f3a9)%20a%2Fb*", "it's(7f3a9)%20a/b*", "697427732837663361392920612f622a", "697427732837663361392920612F622A",
	} {
		if got := c.text(text); got != coveredAs {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := newCover([]Secret{"secret"}).text("secret"); got != coveredAs {
		t.Errorf("a secret that looks like its cover: %q", got)
	}
}

// A secret that comes in pieces, or in a line without end, is covered all the same.
func TestStderrCover(t *testing.T) {
	const secret = "abcdef" + "0123456789"
	for _, text := range []string{"a " + secret + "\nb\n", strings.Repeat("x", stderrHeld-8) + secret + strings.Repeat("y", 2*stderrHeld) + secret} {
		for _, size := range []int{1, 7, 4096} {
			s := newStderrCover(newCover([]Secret{secret}), discard)
			kept := ""
			for rest := text; rest != ""; {
				n := min(size, len(rest))
				kept += s.Write(rest[:n])
				rest = rest[n:]
			}
			kept += s.Close()
			if want := strings.ReplaceAll(text, secret, coveredAs); kept != want {
				t.Errorf("pieces of %d: %.40q… of %d bytes, want %d", size, kept, len(kept), len(want))
			}
		}
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add(`{"a":"\u0041\/\\u0042\ud83d\ude00\ud83d\n"}`)
	f.Fuzz(func(t *testing.T, doc string) {
		if !json.Valid([]byte(doc)) {
			return
		}
		var before, after any
		if json.Unmarshal([]byte(doc), &before) != nil {
			return
		}
		if err := json.Unmarshal(canonical([]byte(doc)), &after); err != nil {
			t.Fatalf("%q became %q: %v", doc, canonical([]byte(doc)), err)
		}
		a, _ := json.Marshal(before)
		b, _ := json.Marshal(after)
		if string(a) != string(b) {
			t.Errorf("%q became %q", doc, canonical([]byte(doc)))
		}
	})
}
