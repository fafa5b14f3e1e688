package redact

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// hostile are units of texts made to cost much: every prefix alone and with
// bodies that nearly are secrets, chains of different ones, towers of escapes.
func hostile() map[string]string {
	units := map[string]string{}
	seen := map[string]bool{}
	bodies := map[string]string{"": "", "a": "a", "space": " ", "dash": "-", "colon": ":", "=a": "=a", "A1": "Ab1Cd2Ef3Gh4Ij5K", "long": fake("", "aB3xQ9tR7wZ1nB4cF6hD0sG", 300), "dots": fake("", "aB3xQ9tR7wZ.", 60),
		"hex": fake("", "0a1b2c3d", 31), "=secret": "=aB3xQ9tR7wZ1nB4cF6hD0sGq", "quoted": `\":\"aB3`, "lines": "\n\n\n\n"}
	for i := range vendors() {
		p := vendors()[i].prefix
		if seen[p] || vendors()[i].kind == "discord" && i%9 > 0 {
			continue
		}
		seen[p] = true
		for name, b := range bodies {
			units[p+"+"+name] = p + b
		}
		units[p+" in a run"] = "-" + p
		if i > 0 {
			units[p+" chain"] = p + vendors()[i-1].prefix
		}
		units[p+" escaped"] = unicodeEscaped(p, len(p))
		units[p+" percent"] = percentEscaped(p)
	}
	for _, kind := range kinds() {
		for i, s := range allSamples()[kind] {
			units[fmt.Sprintf("%s sample %d", kind, i)] = s.text
			units[fmt.Sprintf("%s sample %d glued", kind, i)] = s.text[s.from:s.end] + "-"
			units[fmt.Sprintf("%s sample %d cut", kind, i)] = s.text[:s.end-1]
			units[fmt.Sprintf("%s sample %d cut apart", kind, i)] = s.text[:s.end-1] + " "
		}
	}
	for _, k := range keywords {
		for _, b := range []string{"", "=", "_", "=\"", ": ", "=aB3xQ9tR7wZ1", "=" + fake("", "aB3xQ9tR7wZ", 255), "-" + fake("", "a", 39), "\"  :  \"", ">"} {
			units["keyword "+k.text+b] = k.text + b
			units["flag "+k.text+b] = "--" + k.text + b
		}
	}
	begin := "-----BEGIN " + "PRIVATE KEY-----"
	for name, u := range map[string]string{
		"begin": begin, "begin lines": begin + "\nabcdefgh\n", "begin comment": "Comment: " + begin + "\n", "begin escaped": begin + `\n`, "urls": "https://user:", "AAAA": "AAAA",
		"short urls": "a://", "ports": "a://1:1/", "at": "a://1:1/@", "users": "a://b:c@", "backslashes": `\\\\`, "tower": `\u005c`, "tower2": `\u005cu005c`, "25": "%25", "2525": "%25%32%35", "every prefix": everyPrefix(),
		"jwt run": "-eyJabc", "jwt dots": "eyJhbGciOiJ.", "jwt dash": "-eyJhbGciOiJ.", "placeholder": "[REDACTED:", "placeholders": "[REDACTED:github]", "percent a": "a%41", "slash": `\/`, "quotes": `\"`, "u": `\u0041`, "u2": `\u0041a`,
		"b": `\\a`, "brackets": `{"a":[`, "key": `"a":`, "nulls": "\x00", "newlines": "\n", "blanks": " ", "x": "x", "A": "A", "0": "0", "quote": `"`, "ghp": "ghp_abc", "dashes": "-", "hexes": "%4", "badge": "badge:", "acme": "acme-", "acme6": "acme-123456", "mine": "abcdefg",
	} {
		units[name] = u
	}
	return units
}

// filled is a unit over and over.
func filled(unit string, n int) string { return strings.Repeat(unit, n/len(unit)+1)[:n] }

// hostileTexts are whole texts: units, and what has a long part only once.
func hostileTexts(n int) map[string]string {
	texts := map[string]string{}
	for name, u := range hostile() {
		texts[name] = filled(u, n)
	}
	begin := "-----BEGIN " + "PRIVATE KEY-----"
	for name, h := range map[string]string{
		"begin, then dashes": begin + "\n" + strings.Repeat("-", 1), "begin, then digits": begin + "\n1", "begin, then dots": begin + ".", "begin, then blanks": begin + " ", "begin, then colons": begin + "\n:1",
		"begin, then backslashes": begin + `\`, "begin, then short lines": begin + "\nabc ", "eyJ, then a run": "eyJhbGciOiJa.a", "auth": "Authorization: Bearer a",
	} {
		texts[name] = h + filled(h[len(h)-1:], n-len(h))
	}
	texts["begin, then colons and digits"] = begin + "\n" + filled(":1", n-28)
	texts["begin, then short lines and blanks"] = begin + "\n" + filled("abcdefg  \n", n-28)
	texts["begin, then lines of grep"] = begin + "\n" + filled("a:b:c:d-e-f:\n", n-28)
	texts["many headers, then marks"] = strings.Repeat(begin, n/2/len(begin)) + filled(".", n-n/2/len(begin)*len(begin))
	texts["jwt, then a run"] = filled(filled("-eyJabc", 500)+".", 501) + filled("a", n-501)
	texts["jwts, each a run"] = filled(filled("-eyJabc", 500)+"."+filled("a", 3000)+" ", n)
	return texts
}

// takers are the ways a text is taken.
func takers(t testing.TB) map[string]func(string) {
	all := wide(t)
	plan, err := NewPlan(Spec{Options: Options{Context: true}, Edits: []Edit{
		{Action: MaskJSONKey, Keys: []string{"ssn"}, Rule: "a.m"}, {Action: Hash, Detectors: []string{"vendor"}, Rule: "a.h"}, {Action: Truncate, MaxBytes: 1 << 30, Rule: "a.t"}}})
	if err != nil {
		t.Fatal(err)
	}
	document := func(s string) json.RawMessage { return json.RawMessage(`{"a":` + string(quote(s)) + `}`) }
	pieces := func(sc Scanner, size int) func(string) {
		return func(s string) {
			st := sc.Stream()
			for s != "" {
				n := min(size, len(s))
				st.Write(s[:n])
				s = s[n:]
			}
			st.Close()
		}
	}
	return map[string]func(string){
		"String":       func(s string) { Scanner{}.String(s) },
		"wide":         func(s string) { all.String(s) },
		"JSON":         func(s string) { Scanner{}.JSON(document(s)) },
		"placeholders": func(s string) { Placeholders(document(s)); HasPlaceholder([]byte(s)) },
		"plan":         func(s string) { plan.Apply(Block{}, document(s)) },
		"stream 32KiB": pieces(Scanner{}, 32<<10),
		"wide 32KiB":   pieces(all, 32<<10),
		"stream bytes": pieces(Scanner{}, 1),
	}
}

// BenchmarkWorst tells which hostile text costs most in each way, and how much.
func BenchmarkWorst(b *testing.B) {
	const size = 16 << 10
	texts := hostileTexts(size)
	for name, take := range takers(b) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				worst, most := "", time.Duration(0)
				for text, s := range texts {
					if name == "stream bytes" {
						s = s[:1<<10]
					}
					if took := fastest(take, s, most); took > most {
						worst, most = text, took
					}
				}
				b.Logf("worst is %q", worst)
				n := size
				if name == "stream bytes" {
					n = 1 << 10
				}
				b.ReportMetric(float64(most.Microseconds())/1000*float64(64<<10)/float64(n), "ms/64KiB")
			}
		})
	}
}

// fastest is the least time of three, or of as many as it takes to fall below a bound.
func fastest(take func(string), s string, bound time.Duration) time.Duration {
	least := time.Hour
	for range 3 {
		at := time.Now()
		take(s)
		if least = min(least, time.Since(at)); least <= bound {
			break
		}
	}
	return least
}
