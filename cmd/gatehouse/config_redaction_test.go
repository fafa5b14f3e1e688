package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// The organisation can fix each key of [redaction]; what it covers stays in any case.
func TestRedactionOfTheOrganisation(t *testing.T) {
	const detector = "[[redaction.detector]]\nname = \"b\"\npattern = \"b+c\"\n"
	for _, row := range []struct{ name, org, user, wrong string }{
		{"detectors locked", "[lock]\nkeys = [\"redaction.detector\"]\n", detector, `key "redaction.detector" is locked`},
		{"filter locked", "[lock]\nkeys = [\"redaction.filter\"]\n", "[redaction]\nfilter = false\n", `user.toml:2: key "redaction.filter" is locked`},
		{"context locked", "[lock]\nkeys = [\"redaction.context\"]\n", "[redaction]\ncontext = false\n", `user.toml:2: key "redaction.context" is locked`},
		{"all locked", "[lock]\nkeys = [\"redaction.on_exposed\", \"redaction.environment\"]\n", "[redaction]\nenvironment = [\"A\"]\n", `user.toml:2: key "redaction.environment" is locked`},
		{"the user takes nothing away", "[redaction]\ncontext = true\nenvironment = [\"ORG_KEY\"]\n[[redaction.detector]]\nname = \"a\"\npattern = \"a+b\"\n",
			"[redaction]\ncontext = false\nenvironment = []\n" + detector, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			folder := files(t, map[string]string{"org.toml": row.org, "user.toml": row.user})
			l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), environment{"HOME=" + folder})
			if row.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), row.wrong) {
					t.Errorf("error = %v, want one with %q", err, row.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if r := l.Redaction; !r.Context || len(r.Environment) != 1 || len(r.Detectors) != 2 || r.Detectors[0].Name != "a" {
				t.Errorf("got %+v", r)
			}
		})
	}
}
