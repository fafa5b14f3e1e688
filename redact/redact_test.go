package redact

import (
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
	{"pypi", "pypi", fake("py"+"pi-", "aB3_-", 60)},
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

func FuzzString(f *testing.F) {
	for _, s := range secrets {
		f.Add(s.token)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, _ := Scanner{}.String(s)
		twice, hits := Scanner{}.String(once)
		if twice != once || hits != nil {
			t.Errorf("second pass changed %q to %q", once, twice)
		}
	})
}
