package redact

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// aKey is a block of a private key with the parts of its text.
func aKey() (head, body, foot string) {
	text := generator{rand.New(rand.NewPCG(5, 6))}.pem("RSA PRIVATE"+" KEY", 190, "", "\n")
	head, rest, _ := strings.Cut(text, "\n")
	i := strings.LastIndex(rest, "\n")
	return head, rest[:i], rest[i+1:]
}

func TestPEM(t *testing.T) {
	head, body, foot := aKey()
	lines := strings.Split(body, "\n")
	whole := head + "\n" + body + "\n" + foot
	numbered := func(format func(n int, line string) string) string {
		var out []string
		for i, line := range strings.Split(whole, "\n") {
			out = append(out, format(i+1, line))
		}
		return strings.Join(out, "\n")
	}
	digit := func(n int) string { return string(rune('0' + n)) }
	tests := []struct{ name, in, want string }{
		{"twice", whole + "\n" + whole + "\n", "#\n#\n"},
		{"one line", head + " " + strings.ReplaceAll(body, "\n", " ") + " " + foot, "#"},
		{"escaped twice", strings.ReplaceAll(whole, "\n", `\\n`) + `\\n`, `#\\n`},
		{"escaped as \\u", strings.ReplaceAll(whole, "\n", `\u000a`), "#"},
		{"indented in YAML", "key: |\n  " + strings.ReplaceAll(whole, "\n", "\n  ") + "\nnext: 1", "key: |\n  #\nnext: 1"},
		{"in a diff", "-" + strings.ReplaceAll(whole, "\n", "\n-") + "\n+new", "-#\n+new"},
		{"quoted lines of code", `"` + strings.ReplaceAll(whole, "\n", `\n" +`+"\n\t\"") + `"`, `"#"`},
		{"in a comment", "// " + strings.ReplaceAll(whole, "\n", "\n// ") + "\nx := 1", "// #\nx := 1"},
		{"numbered", numbered(func(n int, l string) string { return "     " + digit(n) + "→" + l }), "     1→#"},
		{"numbered with tabs", numbered(func(n int, l string) string { return digit(n) + "\t" + l }), "1\t#"},
		{"by grep", numbered(func(n int, l string) string { return "etc/key.pem:" + digit(n) + ":" + l }), "etc/key.pem:1:#"},
		{"by grep as context", numbered(func(n int, l string) string { return "etc/key.pem-" + digit(n) + "-" + l }), "etc/key.pem-1-#"},
		{"another footer", head + "\n" + body + "\n-----END PRIVATE" + " KEY-----\nx", "#\nx"},
		{"cut off", head + "\n" + body, "#"},
		{"cut off in a line", head + "\n" + lines[0] + "\n" + lines[1][:9], "#"},
		{"cut off before other text", head + "\n" + lines[0] + "\n" + lines[1] + "\n2025-01-01 INFO started\n", "#\n2025-01-01 INFO started\n"},
		{"elided", head + "\n" + lines[0] + "\n...\n" + foot + "\nx", "#\nx"},
		{"header alone", head + "\nand no key\n", head + "\nand no key\n"},
		{"without a body", head + "\n" + foot, head + "\n" + foot},
		{"before a certificate", whole + "\n-----BEGIN CERTIFICATE-----\nMIIB\n", "#\n-----BEGIN CERTIFICATE-----\nMIIB\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.ReplaceAll(tt.want, "#", placeholder("private-key"))
			if got, _ := (Scanner{}).String(tt.in); got != want {
				t.Errorf("%q became %q, want %q", tt.in, got, want)
			}
		})
	}
}

// A stream that covered the beginning of a key finds the end of it wherever the
// text was cut.
func TestGoOn(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(7, 8))}
	head, body, foot := aKey()
	tests := []struct {
		name, text string
		goOn       goOn
	}{
		{"pem", head + "\n" + body + "\n" + foot, pemGoOn},
		{"base64 of pem", g.encodedPEM(0), encodedGoOn},
	}
	const after = "\n\nand the rest. \n"
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for cut := len(tt.text) / 2; cut < len(tt.text)-80; cut++ {
				rest := tt.text[cut:]
				if line, _, ok := strings.Cut(rest, "\n"); ok && len(line) < minPEMLine {
					continue // a stream shows more of a line
				}
				if end, v := tt.goOn(rest+after, true); v != present || end != len(rest) {
					t.Fatalf("after byte %d: %q is %d to %d, want %d", cut, rest+after, v, end, len(rest))
				}
				for stop := range len(rest) {
					if end, v := tt.goOn(rest[:stop], false); v != unsettled || end > stop {
						t.Fatalf("after byte %d: %q is %d to %d, want more", cut, rest[:stop], v, end)
					}
				}
			}
		})
	}
}

func TestURLPasswords(t *testing.T) {
	for in, want := range map[string]string{
		"postgres://u:pa55@h/db":                 "postgres://u:#@h/db",
		"postgres://u:pa@55@h/db":                "postgres://u:#@h/db",
		"postgres://u:pa/5+5=@h/db":              "postgres://u:#@h/db",
		"https://u:pa55@h:8443/a@b":              "https://u:#@h:8443/a@b",
		"mongodb://u:pa55@a:1,b:2/db":            "mongodb://u:#@a:1,b:2/db",
		"redis://:pa55@h":                        "redis://:#@h",
		"jdbc:postgresql://u:pa55@h/db":          "jdbc:postgresql://u:#@h/db",
		"(https://u:pa55@h)":                     "(https://u:#@h)",
		"https://a.example/ https://u:pa55@h":    "https://a.example/ https://u:#@h",
		"https://a.example,https://u:pa55@h":     "https://a.example,https://u:#@h",
		"http_proxy=http://u:p%40ss@proxy:3128/": "http_proxy=http://u:#@proxy:3128/",
		`"amqps://u:pa55@h\/v"`:                  `"amqps://u:#@h\/v"`,
	} {
		want = strings.ReplaceAll(want, "#", placeholder("url-password"))
		if got, _ := (Scanner{}).String(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
