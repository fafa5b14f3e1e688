package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	long := strings.Repeat("a", maxPattern+1)
	many := make([]Custom, maxCustoms+1)
	tests := []struct {
		name string
		o    Options
		want string // in the error
	}{
		{"no name", Options{Custom: []Custom{{Pattern: "a"}}}, `"": a name is`},
		{"upper case", Options{Custom: []Custom{{Name: "Acme", Pattern: "a"}}}, `"Acme": a name is`},
		{"first a dash", Options{Custom: []Custom{{Name: "-acme", Pattern: "a"}}}, `"-acme": a name is`},
		{"long name", Options{Custom: []Custom{{Name: strings.Repeat("a", 65), Pattern: "a"}}}, "a name is 1 to 64"},
		{"built in", Options{Custom: []Custom{{Name: "github", Pattern: "a"}}}, `"github": the name is taken`},
		{"set", Options{Custom: []Custom{{Name: "vendor", Pattern: "a"}}}, `"vendor": the name is taken`},
		{"twice", Options{Custom: []Custom{{Name: "acme", Pattern: "a"}, {Name: "acme", Pattern: "b"}}}, `"acme": the name is taken`},
		{"value of that name", Options{Custom: []Custom{{Name: "acme", Pattern: "a"}}, Values: map[string]string{"acme": "abcdefgh"}}, `"acme": the name is taken`},
		{"no RE2", Options{Custom: []Custom{{Name: "acme", Pattern: "(?=a)"}}}, `"acme": its pattern is not RE2`},
		{"empty match", Options{Custom: []Custom{{Name: "acme", Pattern: "a*"}}}, `"acme": its pattern matches the empty text`},
		{"long pattern", Options{Custom: []Custom{{Name: "acme", Pattern: long}}}, `"acme": its pattern has 4097 bytes`},
		{"short keyword", Options{Custom: []Custom{{Name: "acme", Pattern: "a", Keywords: []string{"ab"}}}}, `keyword "ab" is too short`},
		{"many", Options{Custom: many}, "201 are given, at most 200"},
		{"short value", Options{Values: map[string]string{"acme": "abcdefg"}}, `value "acme": it has 7 bytes`},
		{"name that is a secret", Options{Values: map[string]string{fake("sk-"+"ant-", "aB3", 1) + strings.Repeat("a1b2c3", 6): "abcdefgh"}}, "looks like a secret"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := New(tt.o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error = %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestCustom(t *testing.T) {
	sc, err := New(Options{
		Custom: []Custom{
			{Name: "acme", Pattern: `acme-[0-9]{6}`},
			{Name: "badge", Pattern: `badge:\s*(?P<secret>[A-Z]{4}[0-9]{4})`, Keywords: []string{"Badge"}},
			{Name: "staff", Pattern: `\bS[0-9]{7}\b`, Keywords: []string{"staff", "employee"}},
			{Name: "any", Pattern: `[0-9]{3}-[0-9]{2}-[0-9]{4}`},
			{Name: "whole", Pattern: `(?s)<<.*?>>`, Keywords: []string{"<<" + "s"}},
		},
		Values: map[string]string{"db": `pa"ss\wörd1`, "short": "abcdefgh", "longer": "abcdefghijkl"},
	})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, in, want string }{
		{"literal prefix", "x acme-123456 y", "x [REDACTED:acme] y"},
		{"group", "badge: ABCD1234 BADGE", "badge: [REDACTED:badge] BADGE"},
		{"no keyword", "S1234567", "S1234567"},
		{"keyword of another case", "Staff S1234567", "Staff [REDACTED:staff]"},
		{"always", "no 123-45-6789.", "no [REDACTED:any]."},
		{"many lines", "<<s\nab>> x", "[REDACTED:whole] x"},
		{"value", `say pa"ss\wörd1!`, `say [REDACTED:db]!`},
		{"the longer value", "abcdefghijkl", "[REDACTED:longer]"},
		{"the shorter value", "abcdefghijk", "[REDACTED:short]ijk"},
		{"value in an address", "a%62cdefgh", "[REDACTED:short]"},
		{"pattern in an address", "acme%2D123456", "[REDACTED:acme]"},
		{"vendor too", secrets[0].token, "[REDACTED:anthropic]"},
		{"over a placeholder", "<<s[REDACTED:acme]x>>", "[REDACTED:whole][REDACTED:acme][REDACTED:whole]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := sc.String(tt.in)
			if got != tt.want {
				t.Errorf("String(%q) = %q, want %q", tt.in, got, tt.want)
			}
			if twice, _ := sc.String(got); twice != got {
				t.Errorf("second pass: %q became %q", got, twice)
			}
			raw, err := json.Marshal(map[string]string{"k": tt.in})
			if err != nil {
				t.Fatal(err)
			}
			doc, _ := sc.JSON(raw)
			var back map[string]string
			if err := json.Unmarshal(doc, &back); err != nil || back["k"] != tt.want {
				t.Errorf("JSON: %s became %s, want %q in it", raw, doc, tt.want)
			}
			if strings.Contains(tt.in, "\n") {
				return // a stream sees one line at a time
			}
			if got, _ := streamed(sc, bytesOf(tt.in)...); got != tt.want {
				t.Errorf("stream: %q became %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestOnly(t *testing.T) {
	sc, err := New(Options{Custom: []Custom{{Name: "acme", Pattern: `acme-[0-9]{6}`}}, Values: map[string]string{"mine": "abcdefgh"}})
	if err != nil {
		t.Fatal(err)
	}
	in := secrets[0].token + " password=hunter2hunter2 acme-123456 abcdefgh " + secrets[7].token
	for _, tt := range []struct {
		only []string
		want []string
	}{
		{[]string{"vendor"}, []string{"anthropic", "aws"}},
		{[]string{"aws"}, []string{"aws"}},
		{[]string{"context"}, []string{"context"}},
		{[]string{"custom"}, []string{"acme", "mine"}},
		{[]string{"mine", "aws"}, []string{"mine", "aws"}},
		{[]string{"context", "vendor", "acme"}, []string{"anthropic", "context", "acme", "aws"}},
		{nil, nil},
	} {
		only, err := sc.Only(tt.only)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, sp := range only.Finds(in) {
			got = append(got, sp.Detector)
		}
		if strings.Join(got, " ") != strings.Join(tt.want, " ") {
			t.Errorf("Only(%v) finds %v, want %v", tt.only, got, tt.want)
		}
	}
	if _, err := sc.Only([]string{"nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("error = %v, want one that names the detector", err)
	}
}
