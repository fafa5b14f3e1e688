package facts

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestMentions(t *testing.T) {
	for prompt, want := range map[string]string{
		"read @src/a.go":         "src/a.go",
		"@.env":                  ".env",
		"see (@.env), please":    ".env",
		"see @.env.":             ".env",
		"see @.env?!":            ".env",
		"see @./x.go now":        "./x.go",
		"@~/.ssh/id_rsa":         "~/.ssh/id_rsa",
		"@/etc/passwd\nmore":     "/etc/passwd",
		"@x.go#L1-2":             "x.go",
		`@"a b.txt" and`:         "a b.txt",
		`@'a b.txt'`:             "a b.txt",
		`@a\ b.txt`:              "a b.txt",
		"@\"open .env":           "open .env",
		"a @x @y":                "y",
		"text@.env":              ".env",
		"@../../x":               "../../x",
		"@@.env":                 ".env",
		"tab\t@.env\tx":          ".env",
		"@.env,@b":               ".env",
		"@\"x.go\"#L3":           "x.go",
		"wide\u3000@.env\u3000x": ".env",
	} {
		if got := Mentions(prompt); !slices.Contains(got, want) {
			t.Errorf("%q: %q, want %q among them", prompt, got, want)
		}
	}
	if got := Mentions("nothing here"); len(got) != 0 {
		t.Errorf("got %q, want nothing", got)
	}
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "@f%d ", i)
	}
	got := Mentions(many.String())
	if len(got) != maxMentions+1 || got[maxMentions] != TooManyMentions {
		t.Errorf("%d mentions, the last %q", len(got), got[len(got)-1])
	}
	if p := (Resolver{Cwd: "/w", Roots: []string{"/w"}}).Resolve(TooManyMentions, Read); p.Inside {
		t.Error("too many mentions are inside")
	}
}
