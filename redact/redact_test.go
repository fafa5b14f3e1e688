package redact

import (
	"slices"
	"strings"
	"testing"
)

// fake builds a token at run time, so that no file of the repository holds one.
func fake(prefix, unit string, n int) string {
	return prefix + strings.Repeat(unit, n/len(unit)+1)[:n]
}

var secrets = []struct{ name, detector, token string }{
	{"anthropic", "anthropic", fake("sk-"+"ant-", "api03-Ab9_", 40)},
	{"openai project", "openai", fake("sk-"+"proj-", "Ab9_x-", 40)},
	{"openai classic", "openai", fake("sk"+"-", "aB3", 48)},
	{"github classic", "github", fake("gh"+"p_", "aB3", 36)},
	{"github oauth", "github", fake("gh"+"o_", "aB3", 36)},
	{"github fine grained", "github", fake("github"+"_pat_", "aB3_", 60)},
	{"gitlab", "gitlab", fake("gl"+"pat-", "aB3-", 20)},
	{"aws", "aws", fake("AK"+"IA", "Q7", 16)},
	{"aws session", "aws", fake("AS"+"IA", "Q7", 16)},
	{"slack", "slack", fake("xo"+"xb-", "123-ab", 24)},
	{"stripe", "stripe", fake("sk"+"_live_", "aB3", 24)},
	{"stripe restricted", "stripe", fake("rk"+"_live_", "aB3", 24)},
	{"google", "google", fake("AI"+"za", "aB3_-", 35)},
	{"npm", "npm", fake("np"+"m_", "aB3", 36)},
	{"pypi", "pypi", fake("py"+"pi-AgE", "aB3_-", 60)},
	{"jwt", "jwt", fake("ey"+"J", "aB3", 20) + "." + fake("ey"+"J", "aB3", 30) + "." + fake("", "aB3_-", 43)},
	{"jwt without signature", "jwt", fake("ey"+"J", "aB3", 20) + "." + fake("ey"+"J", "aB3", 30) + "."},
	{"pem", "private-key", "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIabc\n-----END RSA " + "PRIVATE KEY-----"},
	{"pem cut off", "private-key", "-----BEGIN " + "PRIVATE KEY-----\nMIIabc"},
}

func TestStringCovers(t *testing.T) {
	surroundings := []struct{ name, before, after string }{
		{"alone", "", ""},
		{"in a sentence", "the key is ", ""},
		{"assigned", "KEY=", "\n"},
		{"quoted", `{"k":"`, `"}`},
		{"after an encoded newline", `line\n`, ` `},
	}
	for _, s := range secrets {
		for _, around := range surroundings {
			if s.name == "pem cut off" {
				around.after = ""
			}
			t.Run(s.name+" "+around.name, func(t *testing.T) {
				got, hits := Scanner{}.String(around.before + s.token + around.after)
				want := around.before + "[REDACTED:" + s.detector + "]" + around.after
				if got != want {
					t.Errorf("got %q, want %q", got, want)
				}
				if len(hits) != 1 || hits[0].Detector != s.detector {
					t.Errorf("hits = %v, want one %s", hits, s.detector)
				}
			})
		}
	}
}

func TestStringLeaves(t *testing.T) {
	for _, text := range []string{
		"",
		"plain text",
		"task-force and risk-averse",
		"sk-" + "short",
		"AK" + "IA" + "lowercase is no key",
		fake("AK"+"IA", "Q7", 17),
		"x" + fake("AK"+"IA", "Q7", 16),
		"xox" + "q-1234567890123",
		"eyJ.not.a.jwt",
		"-----BEGIN PUBLIC KEY-----\nMIIabc\n-----END PUBLIC KEY-----",
		"[REDACTED:aws]",
	} {
		if got, hits := (Scanner{}).String(text); got != text || hits != nil {
			t.Errorf("String(%q) = %q, %v; want it unchanged", text, got, hits)
		}
	}
}

func TestStringCoversNeighbours(t *testing.T) {
	aws, ant := secrets[7].token, secrets[0].token
	got, hits := Scanner{}.String(aws + ant + " " + aws)
	if want := "[REDACTED:aws][REDACTED:anthropic] [REDACTED:aws]"; got != want || len(hits) != 3 {
		t.Errorf("got %q with %d hits, want %q with 3", got, len(hits), want)
	}
}

// Neighbours of which each ends where the next one begins.
func TestStringCoversChains(t *testing.T) {
	aws, gh := secrets[7].token, secrets[3].token
	for _, in := range []string{aws + gh, aws + gh + " x", gh + "-" + aws + gh} {
		got, _ := Scanner{}.String(in)
		if strings.Contains(got, aws) || strings.Contains(got, gh) {
			t.Errorf("%q became %q", in, got)
		}
		for i := range in {
			if piecewise, _ := streamed(Scanner{}, in[:i], in[i:]); piecewise != got {
				t.Errorf("%q and %q became %q, want %q", in[:i], in[i:], piecewise, got)
			}
		}
	}
}

// A secret may stand in the name of the user of an address.
func TestStringCoversBetween(t *testing.T) {
	in := "https://" + secrets[3].token + ":x0auth-basic@github.com"
	if got, hits := (Scanner{}).String(in); strings.Contains(got, secrets[3].token) || len(hits) != 2 {
		t.Errorf("got %q with %v", got, hits)
	}
}

func TestFinds(t *testing.T) {
	key := secrets[0].token
	in := "a " + key + " \\u0073" + key[1:] + " b"
	want := []Span{{2, 2 + len(key), "anthropic"}, {3 + len(key), 8 + 2*len(key), "anthropic"}}
	if got := (Scanner{}).Finds(in); !slices.Equal(got, want) {
		t.Errorf("Finds = %v, want %v", got, want)
	}
	if got := (Scanner{}).Finds("nothing"); got != nil {
		t.Errorf("Finds = %v, want nil", got)
	}
}

// No name in a placeholder may be a secret itself.
func TestPlaceholdersAreClean(t *testing.T) {
	sc := contextScanner(t)
	for _, kind := range Kinds() {
		for _, in := range []string{placeholder(kind), "password=" + placeholder(kind), "token: \"" + placeholder(kind) + "\"", "x" + placeholder(kind) + "x"} {
			if got, hits := sc.String(in); got != in {
				t.Errorf("%q became %q, %v", in, got, hits)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	all := Kinds()
	if !slices.IsSorted(all) || !slices.Contains(all, "context") || !slices.Contains(all, "github") || len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("Kinds() = %v", all)
	}
}

func TestCleanTextCostsNoMemory(t *testing.T) {
	for name, text := range cleanTexts(4 << 10) {
		if n := testing.AllocsPerRun(10, func() { Scanner{}.String(text) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// wide looks for all there is.
func wide(t testing.TB) Scanner {
	t.Helper()
	sc, err := New(Options{
		Context: true,
		Custom:  []Custom{{Name: "acme", Pattern: `acme-[0-9]{6}`}, {Name: "badge", Pattern: `(?i)badge[:=] ?(?P<secret>\S{4,})`, Keywords: []string{"badge"}}},
		Values:  map[string]string{"mine": "abcdefgh"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

func FuzzString(f *testing.F) {
	for _, s := range secrets {
		f.Add(s.token)
		f.Add("password=" + s.token + " badge: " + s.token)
		f.Add(unicodeEscaped(s.token, 9) + percentEscaped(s.token))
	}
	f.Add("acme-123456abcdefgh\\/%25")
	all := wide(f)
	f.Fuzz(func(t *testing.T, s string) {
		for _, sc := range []Scanner{{}, all} {
			once, hits := sc.String(s)
			if hits == nil && once != s {
				t.Errorf("%q became %q without a hit", s, once)
			}
			if len(once) > len(s)+MaxGrowth*len(hits) {
				t.Errorf("%d bytes became %d with %d hits", len(s), len(once), len(hits))
			}
			if twice, more := sc.String(once); twice != once || more != nil {
				t.Errorf("second pass changed %q (of %q) to %q", once, s, twice)
			}
			at := 0
			for _, sp := range sc.Finds(s) {
				if sp.From < at || sp.To <= sp.From || sp.To > len(s) {
					t.Fatalf("Finds(%q) has %v behind %d", s, sp, at)
				}
				at = sp.To
			}
		}
	})
}
