package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestNearestKey(t *testing.T) {
	for key, want := range map[string]string{
		"limits.max_concurent": "limits.max_concurrent",
		"Profile":              "profile",
		"policies.paths":       "policy.paths",
		"timeout":              "approvals.timeout",
		"cli.exe":              "cli",
	} {
		if got := nearestKey(key); got != want {
			t.Errorf("nearestKey(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestPlace(t *testing.T) {
	text := "# top\n[a]\nx = [\n 1,\n]\n\n[b]\n# why\ny = 2\n"
	for key, want := range map[string]string{"a.x": "f:3", "b.y": "f:9"} {
		at := places{}
		err := new(fileConfig).decode("f", text, at)
		if err == nil || !strings.HasPrefix(err.Error(), "f:2: unknown key \"a\"") {
			t.Errorf("decode: %v", err)
		}
		if got := standing("f", text).of(key, 0); got != want {
			t.Errorf("place of %s = %s, want %s", key, got, want)
		}
	}
}

// files writes name to text pairs below a private folder.
func files(t *testing.T, texts map[string]string) (folder string) {
	t.Helper()
	folder = t.TempDir()
	if err := os.Chmod(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestOrganisationFile(t *testing.T) {
	org := "[policy]\npaths = [\"org.rego\"]\ndefault_effect = \"deny\"\n[limits]\nmax_concurrent = 2\n[lock]\nkeys = [\"limits.max_concurrent\"]\n"
	tests := []struct {
		name, user, wrong string
		check             func(t *testing.T, l *loaded, folder string)
	}{
		{"its values are below", "profile = \"ci\"\n[policy]\ndefault_effect = \"ask\"\n", "", func(t *testing.T, l *loaded, _ string) {
			if l.Profile != "ci" || l.Policy.DefaultEffect != "ask" || l.Limits.MaxConcurrent != 2 {
				t.Errorf("got %+v", l.fileConfig)
			}
		}},
		{"its policies stay", "[policy]\npaths = [\"mine.rego\"]\n", "", func(t *testing.T, l *loaded, folder string) {
			want := []string{filepath.Join(folder, "org.rego"), filepath.Join(folder, "mine.rego")}
			if !reflect.DeepEqual(l.Policy.Paths, want) {
				t.Errorf("paths = %v, want %v", l.Policy.Paths, want)
			}
		}},
		{"its lock holds", "[limits]\nmax_concurrent = 9\n", `user.toml:2: key "limits.max_concurrent" is locked by`, nil},
		{"its lock is its own", "[lock]\nkeys = []\n", "user.toml:2: [lock] belongs in the organisation's file", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			folder := files(t, map[string]string{"org.toml": org, "user.toml": tt.user})
			l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), environment{"HOME=" + folder})
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) {
					t.Fatalf("error = %v, want one with %q", err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.check(t, l, folder)
		})
	}
}

func TestLockBindsFlags(t *testing.T) {
	folder := files(t, map[string]string{"org.toml": "[lock]\nkeys = [\"profile\"]\n"})
	l, err := loadConfig(filepath.Join(folder, "org.toml"), "", environment{"HOME=" + folder})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&options{profile: "dev"}).override(l); err == nil || !strings.Contains(err.Error(), "--profile: key \"profile\" is locked") {
		t.Errorf("error = %v", err)
	}
}

func TestLockNamesKeys(t *testing.T) {
	folder := files(t, map[string]string{"org.toml": "[lock]\nkeys = [\"profil\"]\n"})
	_, err := loadConfig(filepath.Join(folder, "org.toml"), "", environment{"HOME=" + folder})
	if err == nil || !strings.Contains(err.Error(), `org.toml:2: lock.keys names "profil", which is no key; the nearest known key is "profile"`) {
		t.Errorf("error = %v", err)
	}
}

func TestTools(t *testing.T) {
	for list, want := range map[string][]string{
		"":                               nil,
		"Read":                           {"Read"},
		"Read, Bash(git log,git diff) ,": {"Read", "Bash(git log,git diff)"},
	} {
		if got := tools(list); !reflect.DeepEqual(got, want) {
			t.Errorf("tools(%q) = %q, want %q", list, got, want)
		}
	}
}

func TestEscapeControl(t *testing.T) {
	for text, want := range map[string]string{
		"plain é ✓":        "plain é ✓",
		"a\x1b[31mred":     `a\x1b[31mred`,
		"two\nlines\tand":  `two\nlines\tand`,
		"bidi \u202e here": `bidi \u{202e} here`,
		"zero\u200bwidth":  `zero\u{200b}width`,
		"c1 \u009b31m":     `c1 \u{9b}31m`,
		"bad \xff byte":    `bad \xff byte`,
	} {
		if got := escapeControl(text); got != want {
			t.Errorf("escapeControl(%q) = %q, want %q", text, got, want)
		}
	}
}

func FuzzDecodeConfig(f *testing.F) {
	f.Add("profile = \"dev\"\n[limits]\nmax_pending = 3\n")
	f.Add("[[plugin]]\nname = 1\n")
	f.Add("a.b.c = [[1], {x = 2}]")
	f.Fuzz(func(t *testing.T, text string) {
		c, at := defaultConfig(), places{}
		if err := c.decode("f", text, at); err != nil {
			if !strings.HasPrefix(err.Error(), "f") {
				t.Errorf("the error does not begin with its place: %v", err)
			}
			return
		}
		for key := range at {
			if table, _, _ := strings.Cut(key, "["); knownKeys[table] == "" {
				t.Errorf("key %q was accepted", key)
			}
		}
	})
}
