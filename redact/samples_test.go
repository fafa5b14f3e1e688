package redact

import (
	"encoding/base64"
	"fmt"
	"maps"
	"math/rand/v2"
	"regexp/syntax"
	"slices"
	"strings"
	"sync"
)

// minSamples is how many samples there are of each kind at least.
const minSamples = 6

// sample is a text with one secret: text[from:end] is what must be covered.
type sample struct {
	kind, text string
	from, end  int
}

// covered is the sample's text with its secret covered.
func (s sample) covered() string { return s.text[:s.from] + placeholder(s.kind) + s.text[s.end:] }

// kinds lists the kinds of the vendor formats, sorted.
func kinds() []string {
	set := map[string]bool{}
	for i := range vendors() {
		set[vendors()[i].kind] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// samples are texts that hold one secret of a kind each, made from the kind's
// published patterns; the same in every run. In most of them the secret is the
// whole text; see sampleOf for where it is.
func samples(kind string) []string {
	var out []string
	for _, s := range allSamples()[kind] {
		out = append(out, s.text)
	}
	return out
}

// allSamples makes the samples of every kind.
var allSamples = sync.OnceValue(func() map[string][]sample {
	out := map[string][]sample{}
	for kind, list := range patterns {
		g := generator{rand.New(rand.NewPCG(1, 2))}
		for i := 0; i < minSamples || i < 2*len(list); i++ {
			out[kind] = append(out[kind], g.sample(kind, list[i%len(list)]))
		}
	}
	for kind, sources := range sampleSources {
		g := generator{rand.New(rand.NewPCG(3, 4))}
		for i := 0; i < minSamples || i < 2*len(sources); i++ {
			before, secret, after := sources[i%len(sources)](g)
			out[kind] = append(out[kind], sample{kind, before + secret + after, len(before), len(before) + len(secret)})
		}
	}
	return out
})

// generator makes texts from patterns.
type generator struct{ *rand.Rand }

// sample makes a text of a pattern, in which ⟨ and ⟩ stand around the secret
// where it is not all of it.
func (g generator) sample(kind, pattern string) sample {
	before, rest, ok := strings.Cut(pattern, "⟨")
	if !ok {
		before, rest = "", pattern
	}
	secret, after, _ := strings.Cut(rest, "⟩")
	b, s, a := g.text(before), g.text(secret), g.text(after)
	return sample{kind, b + s + a, len(b), len(b) + len(s)}
}

// text makes a text that a regular expression describes.
func (g generator) text(pattern string) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	var b strings.Builder
	g.write(&b, re)
	return b.String()
}

func (g generator) write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpEmptyMatch:
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(g.oneOf(re.Rune))
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			g.write(b, sub)
		}
	case syntax.OpAlternate:
		g.write(b, re.Sub[g.IntN(len(re.Sub))])
	case syntax.OpQuest:
		if g.IntN(2) == 1 {
			g.write(b, re.Sub[0])
		}
	case syntax.OpRepeat:
		n := re.Min
		if re.Max > re.Min {
			n += g.IntN(re.Max - re.Min + 1)
		}
		for range n {
			g.write(b, re.Sub[0])
		}
	default:
		panic(fmt.Sprint("no samples of ", re))
	}
}

// oneOf chooses evenly among the characters of ranges.
func (g generator) oneOf(ranges []rune) rune {
	n := 0
	for i := 0; i < len(ranges); i += 2 {
		n += int(ranges[i+1]-ranges[i]) + 1
	}
	k := rune(g.IntN(n))
	for i := 0; ; i += 2 {
		if size := ranges[i+1] - ranges[i] + 1; k < size {
			return ranges[i] + k
		} else {
			k -= size
		}
	}
}

// bytes are random.
func (g generator) bytes(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(g.IntN(256))
	}
	return out
}

// lines is the base64 of n bytes in lines of a width, each ended by nl.
func (g generator) lines(n, width int, nl string) string {
	all := base64.StdEncoding.EncodeToString(g.bytes(n))
	var b strings.Builder
	for len(all) > 0 {
		k := min(width, len(all))
		b.WriteString(all[:k] + nl)
		all = all[k:]
	}
	return b.String()
}

// pem is a block of a private key; before is written at the begin of each line.
func (g generator) pem(label string, n int, before, nl string) string {
	body := g.lines(n, 64, "\n")
	text := "-----BEGIN " + label + "-----\n" + body + "-----END " + label + "-----"
	return strings.ReplaceAll(text, "\n", nl+before)
}

// sampleSources make samples that no regular expression describes.
var sampleSources = map[string][]func(generator) (before, secret, after string){
	"private-key": {
		whole(func(g generator) string { return g.pem("RSA PRIVATE"+" KEY", 400, "", "\n") }),
		whole(func(g generator) string { return g.pem("OPENSSH PRIVATE"+" KEY", 300, "", "\r\n") }),
		whole(func(g generator) string { return g.pem("PRIVATE"+" KEY", 48, "", `\n`) }),
		whole(func(g generator) string { return g.pem("EC PRIVATE"+" KEY", 121, "    ", "\n") }),
		whole(func(g generator) string { return g.pem("ENCRYPTED PRIVATE"+" KEY", 200, "+", "\n") }),
		whole(func(g generator) string { return g.pem("PGP PRIVATE"+" KEY BLOCK", 200, "", "\n") }),
		whole(func(g generator) string {
			text := g.pem("RSA PRIVATE"+" KEY", 200, "", "\n")
			head, body, _ := strings.Cut(text, "\n")
			return head + "\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC," + g.text("[0-9A-F]{32}") + "\n\n" + body
		}),
		whole(func(g generator) string {
			return "---- BEGIN SSH2 ENCRYPTED PRIVATE" + " KEY ----\nComment: \"a key\"\n" + g.lines(200, 70, "\n") + "---- END SSH2 ENCRYPTED PRIVATE" + " KEY ----"
		}),
		whole(func(g generator) string {
			return "PuTTY-User-Key-" + "File-3: ssh-ed25519\nEncryption: none\nComment: me@host\nPublic-Lines: 2\n" + g.lines(51, 64, "\n") +
				"Private-Lines: 1\n" + g.lines(36, 64, "\n") + "Private-MAC: " + g.text("[0-9a-f]{64}")
		}),
		whole(func(g generator) string { return g.encodedPEM(0) }),
		func(g generator) (string, string, string) { t := g.encodedPEM(1); return t[:2], t[2:], "" },
		func(g generator) (string, string, string) { t := g.encodedPEM(2); return t[:3], t[3:], "" },
		whole(func(g generator) string {
			t := g.encodedPEM(0)
			var b strings.Builder
			for ; len(t) > 76; t = t[76:] {
				b.WriteString(t[:76] + "\n")
			}
			return b.String() + t
		}),
	},
	"jwt": {
		whole(func(g generator) string { return g.jwt(`{"alg":"HS256","typ":"JWT"}`, 32) }),
		whole(func(g generator) string { return g.jwt(`{"alg":"RS256","kid":"a"}`, 256) }),
		whole(func(g generator) string {
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RSA-OAEP","enc":"A256GCM"}`)) + "." + g.text("[A-Za-z0-9_-]{342}[.][A-Za-z0-9_-]{16}[.][A-Za-z0-9_-]{90}[.][A-Za-z0-9_-]{22}")
		}),
	},
	"auth-header": {
		func(g generator) (string, string, string) {
			return "Authorization: Bearer ", g.text("[A-Za-z0-9._~+/-]{12,40}[A-Z]"), ""
		},
		func(g generator) (string, string, string) {
			return "authorization: token ", g.text("[a-f0-9]{40}"), ""
		},
		func(g generator) (string, string, string) { return "Bearer ", g.text("[a-f0-9]{64}"), "" },
		func(g generator) (string, string, string) {
			return "Proxy-Authorization: Basic ", base64.StdEncoding.EncodeToString([]byte("admin:" + g.text("[a-zA-Z0-9!]{9}"))), ""
		},
		func(g generator) (string, string, string) {
			return "Basic ", base64.StdEncoding.EncodeToString([]byte("me:" + g.text("[a-zA-Z0-9!]{12}"))), ""
		},
	},
}

func whole(f func(generator) string) func(generator) (string, string, string) {
	return func(g generator) (string, string, string) { return "", f(g), "" }
}

// encodedPEM is the base64 of a key, with a number of bytes before it.
func (g generator) encodedPEM(shift int) string {
	return base64.StdEncoding.EncodeToString([]byte("{\n"[:shift] + g.pem("EC PRIVATE"+" KEY", 120, "", "\n")))
}

func (g generator) jwt(header string, signature int) string {
	e := base64.RawURLEncoding
	return e.EncodeToString([]byte(header)) + "." + e.EncodeToString([]byte(`{"sub":"`+g.text("[a-z0-9]{20}")+`"}`)) + "." + e.EncodeToString(g.bytes(signature))
}
