package redact

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"
)

func jsonStr(s string) string { return string(quote(s)) }

// wrappers are the ways tools print a value.
var wrappers = map[string]func(string) string{
	"ansi":            func(s string) string { return "\x1b[32m" + s + "\x1b[0m" },
	"ansi256":         func(s string) string { return "\x1b[38;5;208;48;2;10;20;30m" + s + "\x1b[0m" },
	"ansi K":          func(s string) string { return "\x1b[01;31m\x1b[K" + s + "\x1b[m\x1b[K" },
	"ansi escaped":    func(s string) string { return `\u001b[32m` + s + `\u001b[0m` },
	"ansi x1b":        func(s string) string { return `\x1b[32m` + s + `\x1b[0m` },
	"ansi 033":        func(s string) string { return `\033[32m` + s + `\033[0m` },
	"key:value":       func(s string) string { return "key:" + s },
	"csv":             func(s string) string { return "1,me," + s + ",2026" },
	"csv quoted":      func(s string) string { return `1,"me","` + s + `",2026` },
	"tsv":             func(s string) string { return "1\tme\t" + s + "\t2" },
	"xml attribute":   func(s string) string { return `<add key="k" value="` + s + `"/>` },
	"xml entity":      func(s string) string { return `<a v=&quot;` + s + `&quot;/>` },
	"markdown table":  func(s string) string { return "| key | `" + s + "` |\n|---|---|\n" },
	"table":           func(s string) string { return "|key|" + s + "|\n" },
	"bold":            func(s string) string { return "**" + s + "**" },
	"export":          func(s string) string { return "export K=" + s + "; run" },
	"compose":         func(s string) string { return "    environment:\n      - K=" + s + "\n" },
	"yaml":            func(s string) string { return "key: " + s + "\n" },
	"curl":            func(s string) string { return `curl -H "X: ` + s + `" https://x` },
	"remote":          func(s string) string { return "origin\thttps://x:" + s + "@github.com/o/r (fetch)" },
	"netrc":           func(s string) string { return "machine x login y password " + s + "\n" },
	"pypirc":          func(s string) string { return "[pypi]\nusername = __token__\npassword = " + s + "\n" },
	"tfstate":         func(s string) string { return `{"attributes":{"token":"` + s + `","id":1}}` },
	"nul":             func(s string) string { return "A=1\x00K=" + s + "\x00B=2" },
	"crlf":            func(s string) string { return "K=" + s + "\r\nB=2\r\n" },
	"bom":             func(s string) string { return "\ufeff" + s },
	"repr":            func(s string) string { return "b'" + s + `\n'` },
	"go q":            func(s string) string { return strconv.Quote("a\n" + s + "\n") },
	"go q tab":        func(s string) string { return strconv.Quote("a\t" + s + "\t") },
	"go esc":          func(s string) string { return strconv.Quote("a\x1b[0m" + s + "\x00") },
	"shell":           func(s string) string { return "$'" + s + `\n'` },
	"a escape":        func(s string) string { return `a\v` + s + `\a` },
	"percent 2D":      func(s string) string { return "https://x/?a=" + strings.ReplaceAll(s, "-", "%2D") + "&b=1" },
	"percent _":       func(s string) string { return "https://x/?a=" + strings.ReplaceAll(s, "_", "%5F") + "&b=1" },
	"query escaped":   func(s string) string { return "https://x/?a%3D" + s + "%26b=1" },
	"followed":        func(s string) string { return `"{\"a\":\"` + s + `\"}"` },
	"truncated":       func(s string) string { return s + "…" },
	"truncated dots":  func(s string) string { return s + "..." },
	"json json yaml":  func(s string) string { return "data: |\n  " + jsonStr(`{"a":`+jsonStr(s)+`}`) + "\n" },
	"guillemets":      func(s string) string { return "«" + s + "»" },
	"quotes":          func(s string) string { return "“" + s + "”" },
	"letters before":  func(s string) string { return "ключ" + s + "ключ" },
	"cjk":             func(s string) string { return "密钥" + s + "。" },
	"emoji":           func(s string) string { return "🔑" + s + "🔑" },
	"zero width":      func(s string) string { return "\u200b" + s + "\u200b" },
	"nbsp":            func(s string) string { return "\u00a0" + s + "\u00a0" },
	"html lt":         func(s string) string { return `\u003c` + s + `\u003e` },
	"git diff colour": func(s string) string { return "\x1b[32m+\x1b[m\x1b[32m" + s + "\x1b[m" },
	"sql":             func(s string) string { return "INSERT INTO t VALUES ('" + s + "');" },
	"c string":        func(s string) string { return "#define K \"" + s + "\"" },
	"equals quoted":   func(s string) string { return "K='" + s + "'" },
	"grep":            func(s string) string { return "a/b.go:12:" + s },
	"grep context":    func(s string) string { return "a/b.go-12-" + s },
	"hexdump":         func(s string) string { return "|" + s + "|" },
	"set -x":          func(s string) string { return "+ K=" + s + "\n+ run" },
	"ruby":            func(s string) string { return ":k=>\"" + s + "\"" },
	"php":             func(s string) string { return "'k' => '" + s + "'," },
	"semicolon":       func(s string) string { return "a;" + s + ";b" },
	"@":               func(s string) string { return s + "@host" },
	"dollar":          func(s string) string { return "$" + s + "$" },
	"hash":            func(s string) string { return "#" + s },
	"caret":           func(s string) string { return "^" + s + "^" },
	"json slash":      func(s string) string { return strings.ReplaceAll(jsonStr(s), "/", `\/`) },
	"pretty":          func(s string) string { return "len=" + strconv.Itoa(len(s)) + "," + s },
}

// TestFormsOfOutput: whatever a value is printed in, its secret is covered.
func TestFormsOfOutput(t *testing.T) {
	for _, kind := range kinds() {
		for _, s := range allSamples()[kind] {
			for name, form := range wrappers {
				in := form(s.text)
				got, hits := Scanner{}.String(in)
				if secret := s.text[s.from:s.end]; len(hits) == 0 || strings.Contains(got, secret[len(secret)-min(16, len(secret)):]) {
					t.Errorf("%s %s: %.200q became %.200q", kind, name, in, got)
				}
			}
		}
	}
}

// What only looks like the place of a token is left; what may be one is not.
func TestFillers(t *testing.T) {
	gh := "gh" + "p_"
	for body, want := range map[string]bool{
		"YOUR" + strings.Repeat("X", 32): false, strings.Repeat("x", 36): false, "yourgithubtokengoesherepleasereplaceit": false,
		"qwhjzkpvmrtnbcfdgslwqhjzkpvmrtnbcfdg": true, "QWHJZKPVMRTNBCFDGSLWQHJZKPVMRTNBCFDG": true, strings.Repeat("4821907365", 4): true,
		"deadbeefcafedeadbeefcafedeadbeefcafe": true, "a1testb2examplec3xxxxd4keye5tokenf6g7": true,
	} {
		if _, hits := (Scanner{}).String("key " + gh + body); (len(hits) == 1) != want {
			t.Errorf("%s: covered is %v, want %v", body, !want, want)
		}
	}
	parameter := "?client_" + "secret="
	for value, want := range map[string]bool{"my_client_secret_value": false, "kQzWvBnMtRxLpHsJdGfYcTqP": true, "kQzWvBn7tRxLpHsJdGfYcT4P": true} {
		if _, hits := (Scanner{}).String(parameter + value); (len(hits) == 1) != want {
			t.Errorf("%s: covered is %v, want %v", value, !want, want)
		}
	}
}

// A chain of names that each take the rest for their value is read once, and no
// deeper than once.
func TestChainOfPlaces(t *testing.T) {
	for _, unit := range []string{"_auth" + "Token:", "_auth" + "Token=", "X-Api-Key:", "access_" + "token="} {
		sc := Scanner{}
		if got, _ := sc.String(filled(unit, 4<<20)); len(got) > 5<<20 {
			t.Errorf("%s: %d bytes came of 4 MiB", unit, len(got))
		}
	}
}

// A document can neither make up more findings than are told, nor longer ones.
func TestFindingsAreBounded(t *testing.T) {
	var names, deep strings.Builder
	for i := range 20000 {
		names.WriteString(placeholder("made-up-" + strconv.Itoa(i)))
	}
	token := secrets[3].token
	for range 5000 {
		deep.WriteString(`{"b":"` + token + `","a":`)
	}
	deep.WriteString("1" + strings.Repeat("}", 5000))
	doc := json.RawMessage(deep.String())
	_, byScanner := Scanner{}.JSON(doc)
	_, byPlan := plan(t, `[{"action":"drop","detectors":["vendor"],"rule":"a.b"}]`).Apply(Block{}, doc)
	for name, found := range map[string][]Finding{
		"placeholders": Placeholders(quote(names.String())), "scanner": byScanner, "plan": byPlan,
	} {
		size, count := 0, 0
		for _, f := range found {
			size += len(f.Pointer) + len(f.Detector)
			count += f.Count
		}
		if want := map[string]int{"placeholders": 20000}[name]; len(found) > maxPlaces+maxTold || size > 2<<20 || count != max(want, 5000) {
			t.Errorf("%s: %d findings of %d bytes count %d", name, len(found), size, count)
		}
	}
}

// Base64 of a key whose lines were passed on already may begin with a line's end.
func TestEncodedKeyGoesOn(t *testing.T) {
	for _, s := range []string{"\n", "=", "==\n" + fake("", "aB3xQ9tR", 64), `\n\n`} {
		if end, _ := encodedGoOn(s, true); end < 0 || end > len(s) {
			t.Errorf("%q ends at %d", s, end)
		}
	}
}

// What a name led to is shown again with it where a later secret is not settled.
func TestStreamOfOverlappingContext(t *testing.T) {
	sc := wide(t)
	for _, unit := range []string{"--auth=" + fake("", "aB3xQ9tR7wZ", 255), "pwd=", "secret=aB3xQ9tR7wZ1"} {
		text := filled(unit, 40<<10)
		for _, size := range []int{40 << 10, 999} {
			s := sc.Stream()
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				s.Write(rest[:min(size, len(rest))])
				if held := len(s.buf) - s.lo; held > MaxHeld {
					t.Fatalf("%.20s: %d bytes are held", unit, held)
				}
			}
			s.Close()
		}
	}
}
