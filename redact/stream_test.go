package redact

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// streamed passes pieces through a stream.
func streamed(sc Scanner, pieces ...string) (string, []Hit) {
	t := sc.Stream()
	var b strings.Builder
	var all []Hit
	for _, p := range pieces {
		safe, hits := t.Write(p)
		b.WriteString(safe)
		all = append(all, hits...)
	}
	rest, hits := t.Close()
	return b.String() + rest, append(all, hits...)
}

func counted(hits []Hit) map[string]int {
	n := map[string]int{}
	for _, h := range hits {
		n[h.Detector]++
	}
	return n
}

func bytesOf(s string) []string {
	out := make([]string, len(s))
	for i := range len(s) {
		out[i] = s[i : i+1]
	}
	return out
}

// streamedTexts are texts with a secret of each kind, plain and encoded.
func streamedTexts(t *testing.T) map[string]string {
	out := map[string]string{}
	for _, kind := range kinds() {
		for i, s := range samples(kind) {
			inner, err := json.Marshal(map[string]string{"k": s})
			if err != nil {
				t.Fatal(err)
			}
			name := fmt.Sprintf("%s %d", kind, i)
			out[name] = s
			out[name+" embedded"] = "see " + s + " there\nand more"
			if i < 2 {
				out[name+" in JSON"] = string(inner)
				out[name+" escaped"] = "a " + unicodeEscaped(s, 6) + " b"
			}
		}
	}
	return out
}

// unicodeEscaped writes the first n bytes as \u00XX.
func unicodeEscaped(s string, n int) string {
	var b strings.Builder
	for i := range min(n, len(s)) {
		fmt.Fprintf(&b, `\u%04x`, s[i])
	}
	return b.String() + s[min(n, len(s)):]
}

func percentEscaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, "%%%02X", s[i])
	}
	return b.String()
}

func TestStreamIsString(t *testing.T) {
	texts := streamedTexts(t)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		text := texts[name]
		want, wantHits := Scanner{}.String(text)
		check := func(pieces ...string) {
			got, hits := streamed(Scanner{}, pieces...)
			if long(text) { // what is covered before its end is known
				if secret := strings.Split(want, placeholderStart); len(secret) > 1 && !strings.HasPrefix(got, secret[0]+placeholderStart) {
					t.Fatalf("%s: pieces %.200q gave %q, want %q", name, pieces, got, want)
				}
				return
			}
			if got != want || !maps.Equal(counted(hits), counted(wantHits)) {
				t.Fatalf("%s: pieces %.200q gave %q %v, want %q %v", name, pieces, got, hits, want, wantHits)
			}
		}
		check(text)
		check(bytesOf(text)...)
		step := max(1, len(text)/300)
		for i := 0; i <= len(text); i += step {
			check(text[:i], text[i:])
			check(text[:i], text[i:min(len(text), i+7)], text[min(len(text), i+7):])
		}
	}
}

// long reports whether a stream may have to cover a secret of a text before it
// knows its end.
func long(text string) bool {
	for _, sp := range (Scanner{}).Finds(text) {
		if sp.To-sp.From > MaxHeld-64 {
			return true
		}
	}
	return false
}

// What is longer than may be held is covered before its end is known, and none of
// it comes out afterwards.
func TestStreamOfLongSecrets(t *testing.T) {
	body := func(n int) string { return fake("", "aB3xQ9tR7wZ1nB4cF6hD0sG", n) }
	var pem strings.Builder
	for i := range 40 {
		pem.WriteString(body(64)[i%5:] + body(i%5))
		pem.WriteByte('\n')
	}
	begin, end := "-----BEGIN RSA "+"PRIVATE KEY-----", "-----END RSA "+"PRIVATE KEY-----"
	tests := []struct{ name, secret string }{
		{"token", "sk-" + "ant-" + body(5000)},
		{"jwt", "ey" + "J" + body(700) + ".ey" + "J" + body(900) + "." + body(800)},
		{"jwt with short parts", "ey" + "J" + body(20) + ".ey" + "J" + body(900) + "." + body(43)},
		{"pem", begin + "\n" + pem.String() + end},
		{"pem in JSON", begin + `\n` + strings.ReplaceAll(pem.String(), "\n", `\n`) + end},
		{"pem in JSON twice", begin + `\\n` + strings.ReplaceAll(pem.String(), "\n", `\\n`) + end},
		{"pem in one line", begin + " " + strings.ReplaceAll(pem.String(), "\n", "") + " " + end},
		{"escaped token", unicodeEscaped("sk-"+"ant-"+body(400), 500)},
	}
	for _, tt := range tests {
		want, _ := Scanner{}.String("before " + tt.secret + " after\n")
		for _, size := range []int{1, 7, 64, 500, 513, 2000, 1 << 20} {
			text := "before " + tt.secret + " after\n"
			s := Scanner{}.Stream()
			var out strings.Builder
			for text != "" {
				n := min(size, len(text))
				safe, _ := s.Write(text[:n])
				out.WriteString(safe)
				text = text[n:]
				if held := len(s.buf) - s.lo; held > MaxHeld {
					t.Fatalf("%s: %d bytes are held", tt.name, held)
				}
			}
			rest, _ := s.Close()
			if got := out.String() + rest; got != want {
				t.Errorf("%s in pieces of %d: got %q, want %q", tt.name, size, got, want)
			}
		}
	}
}

// A key that was cut off ends where its base64 does.
func TestStreamOfCutOffKey(t *testing.T) {
	text := "-----BEGIN " + "PRIVATE KEY-----\n" + strings.Repeat(fake("", "aB3xQ9tR7wZ1nB4c", 64)+"\n", 20) + "\nnext: a line of words\n"
	want, _ := Scanner{}.String(text)
	for _, size := range []int{1, 50, 600, 1 << 20} {
		var pieces []string
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			pieces = append(pieces, rest[:min(size, len(rest))])
		}
		if got, _ := streamed(Scanner{}, pieces...); got != want {
			t.Errorf("pieces of %d: got %q, want %q", size, got, want)
		}
	}
}

// Text that cannot be the beginning of a secret passes at once.
func TestStreamDoesNotDelay(t *testing.T) {
	for piece, held := range map[string]string{
		"plain words, ": "", "a line\n": "", "(done)": "", "": "", "Żółć ": "", "<br>": "", `say "no"`: "",
		"key, sk-": "sk-", "key, sk-" + "ant-abc": "sk-" + "ant-abc", `a, \`: `\`, "a, %": "%", `a, \u00`: `\u00`, `a, \\u005`: `\\u005`, "eyJhbGci": "eyJhbGci",
		"say gh": "gh", "say ghosts, ": "", `a, \n `: "", "100% sure, ": "", `a, \u2014,`: "",
	} {
		s := Scanner{}.Stream()
		safe, _ := s.Write(piece)
		if safe+held != piece {
			t.Errorf("of %q came %q, want all but %q", piece, safe, held)
		}
		if s.Idle() != (held == "") {
			t.Errorf("%q: Idle() = %v", piece, s.Idle())
		}
	}
}

// What is held of any text begins like a secret.
func TestStreamHoldsLittle(t *testing.T) {
	for name, text := range cleanTexts(4 << 10) {
		s := Scanner{}.Stream()
		for i := range text {
			s.Write(text[i : i+1])
			held := string(s.buf[s.lo:])
			if held == "" || len(held) > MaxHeld {
				continue
			}
			begins := func(f format) bool {
				n := min(len(held), len(f.prefix))
				return held[:n] == f.prefix[:n]
			}
			if !slices.ContainsFunc(vendors(), begins) && cutEscape(held) > 8 {
				t.Fatalf("%s: %q is held", name, held)
			}
		}
	}
}

func TestStreamAppend(t *testing.T) {
	s := Scanner{}.Stream()
	dst := s.Append([]byte("> "), []byte("a "+secrets[0].token[:20]))
	dst = s.Append(dst, []byte(secrets[0].token[20:]+" b"))
	if dst = s.AppendClose(dst); string(dst) != "> a [REDACTED:anthropic] b" {
		t.Errorf("got %q", dst)
	}
	if hits := s.Hits(); len(hits) != 1 || hits[0].Detector != "anthropic" || s.Hits() != nil {
		t.Errorf("hits = %v", hits)
	}
	piece := []byte(cleanTexts(8 << 10)["log"])
	dst = make([]byte, 0, 16<<10)
	s = Scanner{}.Stream()
	if n := testing.AllocsPerRun(10, func() { dst = s.Append(dst[:0], piece) }); n != 0 {
		t.Errorf("a clean piece costs %v allocations", n)
	}
}

// In streams a pattern sees a line from its keyword on.
func TestStreamOfCustom(t *testing.T) {
	sc := wide(t)
	in := "the badge: ABCD99 x\nacme-123456\nno badge here\nabcdefgh\n"
	want, _ := sc.String(in)
	for i := range in {
		if got, _ := streamed(sc, in[:i], in[i:]); got != want {
			t.Errorf("%q and %q became %q, want %q", in[:i], in[i:], got, want)
		}
	}
	long := "badge " + strings.Repeat("x ", MaxHeld) + "badge: ABCD99\n"
	s := sc.Stream()
	for i := range long {
		s.Write(long[i : i+1])
		if held := len(s.buf) - s.lo; held > MaxHeld {
			t.Fatalf("%d bytes are held", held)
		}
	}
}

// Whatever the pieces are, what comes out is what the whole text becomes, and
// holds nothing that would be covered.
func FuzzStream(f *testing.F) {
	for _, s := range secrets {
		f.Add("x "+s.token+" y", []byte{3, 1, 9})
		f.Add(unicodeEscaped(s.token, 9)+`\n`+percentEscaped(s.token), []byte{1})
		f.Add(s.token+s.token, []byte{20, 2})
	}
	all := contextScanner(f)
	f.Fuzz(func(t *testing.T, s string, sizes []byte) {
		if len(s) > MaxHeld-64 {
			return // longer ones need not be the same
		}
		var pieces []string
		rest := s
		for _, n := range sizes {
			n := min(int(n), len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		pieces = append(pieces, rest)
		for _, sc := range []Scanner{{}, all} {
			want, wantHits := sc.String(s)
			for _, p := range [][]string{pieces, bytesOf(s)} {
				got, hits := streamed(sc, p...)
				if got != want || !maps.Equal(counted(hits), counted(wantHits)) {
					t.Fatalf("pieces %q became %q %v, want %q %v", p, got, hits, want, wantHits)
				}
			}
		}
	})
}
