package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEveryKindHasSamples(t *testing.T) {
	all := allSamples()
	for _, kind := range kinds() {
		if len(all[kind]) < minSamples {
			t.Errorf("kind %q has %d samples, want %d at least", kind, len(all[kind]), minSamples)
		}
	}
	if len(all) != len(kinds()) {
		t.Errorf("%d kinds have samples, %d have formats", len(all), len(kinds()))
	}
	if len(kinds()) < 60 {
		t.Errorf("%d kinds, want 60 at least", len(kinds()))
	}
}

// surroundings are the places a secret is found in. Those with break go between
// the lines of one that has lines.
var surroundings = []struct{ name, before, after string }{
	{"alone", "", ""},
	{"in a sentence", "the key is ", ", keep it safe"},
	{"before a full stop", "use ", ". Then go on"},
	{"assigned", "KEY=", "\n"},
	{"quoted", `{"k":"`, `"}`},
	{"quoted in quotes", `{"k":"{\"k\":\"`, `\"}"}`},
	{"single quotes", `curl -d '`, `' host`},
	{"after an encoded newline", `line\n`, `\nnext`},
	{"in a query", "https://example.com/?k=", "&x=1"},
	{"after an escaped equals sign", "q%3D", "&x=1"},
	{"after a \\u escape", `k\u003d`, `\u0026`},
	{"in a header", "X-Key: ", "\r\nHost: example.com\r\n"},
	{"in a diff", "@@ -1 +1 @@\n-a = 1\n+", "\n b\n"},
	{"in a colour", "\x1b[1;32m", "\x1b[0m"},
	{"in markup", "<key>", "</key>"},
	{"in a list", "[a, ", "]"},
	{"in backquotes", "run `", "` now"},
}

func TestVendorsCover(t *testing.T) {
	for _, kind := range kinds() {
		t.Run(kind, func(t *testing.T) {
			for _, s := range allSamples()[kind] {
				for _, around := range surroundings {
					text, want := around.before+s.text+around.after, around.before+s.covered()+around.after
					got, hits := Scanner{}.String(text)
					if got != want {
						t.Errorf("%s: %q became %q, want %q", around.name, text, got, want)
						continue
					}
					if len(hits) != 1 || hits[0].Detector != kind {
						t.Errorf("%s: hits = %v, want one %s", around.name, hits, kind)
					}
				}
			}
		})
	}
}

// Two lines of JSON in JSON: the inner text is still encoded when it is scanned.
func TestVendorsCoverEncoded(t *testing.T) {
	for _, kind := range kinds() {
		for _, s := range allSamples()[kind] {
			inner, err := json.Marshal(map[string]string{"k": "a\n" + s.text + "\nb"})
			if err != nil {
				t.Fatal(err)
			}
			got, hits := Scanner{}.String(string(inner))
			if secret := jsonText(s.text[s.from:s.end]); len(hits) != 1 || strings.Contains(got, secret) {
				t.Errorf("%s: %q became %q with %v", kind, inner, got, hits)
			}
		}
	}
}

func TestVendorsAreIdempotent(t *testing.T) {
	for _, kind := range kinds() {
		text := strings.Join(samples(kind), "\n")
		once, hits := Scanner{}.String(text)
		if len(hits) == 0 {
			t.Errorf("%s: nothing found in %q", kind, text)
		}
		if twice, again := (Scanner{}).String(once); twice != once || again != nil {
			t.Errorf("%s: the second pass made %q of %q", kind, twice, once)
		}
	}
}

// A token is named by its own form, wherever it stands.
func TestOwnFormNames(t *testing.T) {
	token, jwt := samples("github")[0], samples("jwt")[0]
	for _, text := range []string{
		"Authorization: Bearer " + token, "authorization: token " + token, "https://x:" + token + "@github.com/o/r",
		"https://" + token + "@github.com/o/r", "https://example.com/?access_token=" + token, "X-Api-Key: " + token, "_authToken=" + token,
	} {
		for name, secret := range map[string]string{"github": token, "jwt": jwt} {
			in := strings.Replace(text, token, secret, 1)
			if got, _ := (Scanner{}).String(in); name == "github" || !strings.HasPrefix(in, "https://"+secret) {
				if want := strings.Replace(in, secret, placeholder(name), 1); got != want {
					t.Errorf("%q became %q, want %q", in, got, want)
				}
			}
		}
	}
}

func jsonText(s string) string {
	quoted := string(quote(s))
	return quoted[1 : len(quoted)-1]
}

func TestPrefixes(t *testing.T) {
	for i := range vendors() {
		f := &vendors()[i]
		if len(f.prefix) < 3 || strings.ContainsAny(f.prefix, `"\`) {
			t.Errorf("%s: prefix %q", f.kind, f.prefix)
		}
		for _, b := range []byte(f.prefix) {
			if b < ' ' || b > '~' {
				t.Errorf("%s: prefix %q is not printable ASCII", f.kind, f.prefix)
			}
		}
		if strings.Contains(placeholder(f.kind), f.prefix) {
			t.Errorf("%s: its own placeholder holds prefix %q", f.kind, f.prefix)
		}
	}
}

// While a text may go on, a cut anywhere in a secret must leave it unsettled:
// a stream lets go of what is absent.
func TestCutsAreUnsettled(t *testing.T) {
	for i := range vendors() {
		f := &vendors()[i]
		for _, s := range allSamples()[f.kind] {
			start := strings.Index(s.text, f.prefix)
			if start < 0 {
				continue
			}
			if from, end, v := f.at(s.text, start, true); v != present || from != s.from || end != s.end {
				continue // the sample is of another form of the kind
			}
			for cut := start + len(f.prefix); cut <= s.end; cut++ {
				from, end, v := f.at(s.text[:cut], start, false)
				switch {
				case v == present && cut == s.end && end == s.end:
				case v != unsettled || from < start || end > cut || from > end:
					t.Fatalf("%s %q: %q is %d at [%d:%d]", f.kind, f.prefix, s.text[:cut], v, from, end)
				case from < end && from > s.from:
					t.Fatalf("%s %q: %q would be covered from %d, want %d", f.kind, f.prefix, s.text[:cut], from, s.from)
				}
			}
		}
	}
}
