package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// settingsOf checks a configuration in a folder of its own, which it returns. An
// empty home leaves the program without one.
func settingsOf(t *testing.T, text, home string) (*settings, string, error) {
	t.Helper()
	folder := files(t, map[string]string{"user.toml": text})
	start := filepath.Join(folder, "project")
	if err := os.Mkdir(start, 0o700); err != nil {
		t.Fatal(err)
	}
	if home == "" {
		home = "nowhere"
	}
	env := environment{"HOME=" + home, "USERPROFILE=" + home}
	l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "user.toml"), env)
	if err != nil {
		return nil, folder, err
	}
	s, err := l.check(start, env)
	return s, folder, err
}

func TestStoreAndAuditSettings(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		check      func(t *testing.T, s *settings, folder, home string)
	}{
		{"defaults", "", func(t *testing.T, s *settings, _, home string) {
			want := storeSettings{dir: filepath.Join(home, ".local", "state", "gatehouse", "journal"), maxBytes: 512 << 20, maxAge: 30 * 24 * time.Hour, sessionBytes: 64 << 20}
			if s.store != want {
				t.Errorf("store = %+v, want %+v", s.store, want)
			}
			if s.audit.off || !s.audit.durable || s.audit.dir != "" {
				t.Errorf("audit = %+v", s.audit)
			}
		}},
		{"off", "[store]\ndir = \"off\"\n[audit]\nmode = \"off\"\n", func(t *testing.T, s *settings, _, _ string) {
			if !s.store.off || s.store.dir != "" || !s.audit.off {
				t.Errorf("store = %+v, audit = %+v", s.store, s.audit)
			}
		}},
		{"paths are those of the file", "[store]\ndir = \"kept\"\n[audit]\ndir = \"log\"\nkey = \"audit.pem\"\n", func(t *testing.T, s *settings, folder, _ string) {
			if s.store.dir != filepath.Join(folder, "kept") || s.audit.dir != filepath.Join(folder, "log") || s.audit.key != filepath.Join(folder, "audit.pem") {
				t.Errorf("store = %+v, audit = %+v", s.store, s.audit)
			}
		}},
		{"home", "[store]\ndir = \"~/kept\"\n[audit]\ndir = \"~/log\"\n", func(t *testing.T, s *settings, _, home string) {
			if s.store.dir != filepath.Join(home, "kept") || s.audit.dir != filepath.Join(home, "log") {
				t.Errorf("store = %+v, audit = %+v", s.store, s.audit)
			}
		}},
		{"no session writes there", "[store]\ndir = \"kept\"\n[audit]\ndir = \"log\"\nkey = \"audit.pem\"\n", func(t *testing.T, s *settings, folder, home string) {
			all := strings.Join(s.protected(), "\n") + "\n"
			for _, path := range []string{filepath.Join(folder, "kept"), filepath.Join(folder, "log"), filepath.Join(folder, "audit.pem"), filepath.Join(home, ".local", "state", "gatehouse")} {
				if !strings.Contains(all, path+"\n") {
					t.Errorf("%s is not protected", path)
				}
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			home := t.TempDir()
			s, folder, err := settingsOf(t, tt.text, home)
			if err != nil {
				t.Fatal(err)
			}
			tt.check(t, s, folder, home)
		})
	}
}

func TestStoreAndAuditErrors(t *testing.T) {
	for text, want := range map[string]string{
		"[store]\nmax_megabytes = 0\n":                          "user.toml:2: store.max_megabytes: 0 is out of bounds, want 1 to 1048576",
		"[store]\nmax_days = 4000\n":                            "user.toml:2: store.max_days: 4000 is out of bounds, want 1 to 3650",
		"[store]\nsession_megabytes = -1\n":                     "user.toml:2: store.session_megabytes: -1 is out of bounds",
		"[store]\nmax_megabytes = 10\nsession_megabytes = 11\n": "user.toml:3: store.session_megabytes: 11 is more than all sessions together may have, store.max_megabytes = 10",
		"[store]\nmax_megabytes = 10\n":                         "store.session_megabytes: 64 is more than all sessions together may have",
		"[store]\ndir = 3\n":                                    `user.toml:2: key "store.dir" wants a string, found an integer`,
		"[store]\nfolder = \"x\"\n":                             `user.toml:2: unknown key "store.folder"; the nearest known key is "decision_log.folder"`,
		"[store]\ndir = \"~other/kept\"\n":                      `user.toml:2: store.dir: "~other/kept" must be absolute or begin with ~/`,
		"[audit]\nmode = \"lax\"\n":                             `user.toml:2: audit.mode: "lax" is unknown, want one of strict, off`,
		"[audit]\nmax_days = 0\n":                               "user.toml:2: audit.max_days: 0 is out of bounds, want 1 to 3650",
		"[audit]\nmax_megabytes = 0\n":                          "user.toml:2: audit.max_megabytes: 0 is out of bounds",
		"[audit]\ndurable = \"yes\"\n":                          `user.toml:2: key "audit.durable" wants a boolean, found a string`,
		"[audit]\nkey = \"~other/key\"\n":                       `user.toml:2: audit.key: "~other/key" must be absolute or begin with ~/`,
		"[store]\ndir = \"off\"\n[lock]\nkeys = [\"x\"]\n":      "[lock] belongs in the organisation's file",
	} {
		_, _, err := settingsOf(t, text, t.TempDir())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestHomeless(t *testing.T) {
	const storeAt, auditAt = "[store]\ndir = \"kept\"\n", "[audit]\ndir = \"log\"\n"
	const storeOff, auditOff = "[store]\ndir = \"off\"\n", "[audit]\nmode = \"off\"\n"
	for text, refused := range map[string]bool{
		"": true, storeAt: true, auditAt: true, storeOff: true, auditOff: true,
		storeAt + auditAt: false, storeOff + auditOff: false, storeOff + auditAt: false, storeAt + auditOff: false,
	} {
		s, _, err := settingsOf(t, text, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := s.homeless(); (err != nil) != refused {
			t.Errorf("%q: %v, want an error: %v", text, err, refused)
		}
	}
}

// An organisation's word on the audit log holds against the user's file.
func TestAuditLocked(t *testing.T) {
	folder := files(t, map[string]string{"org.toml": "[audit]\nmode = \"strict\"\n[store]\ndir = \"/srv/kept\"\n[lock]\nkeys = [\"audit.mode\", \"store.dir\"]\n",
		"audit.toml": "[audit]\nmode = \"off\"\n", "store.toml": "[store]\ndir = \"off\"\n"})
	for file, want := range map[string]string{
		"audit.toml": `audit.toml:2: key "audit.mode" is locked by`, "store.toml": `store.toml:2: key "store.dir" is locked by`,
	} {
		_, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, file), environment{"HOME=" + folder})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", file, err, want)
		}
	}
}

// The digest of a configuration changes with every byte of it, and with flags.
func TestConfigDigest(t *testing.T) {
	folder := files(t, map[string]string{"a.toml": "profile = \"dev\"\n", "org.toml": ""})
	digest := func(text string, o options) string {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "a.toml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := loadConfig(filepath.Join(folder, "org.toml"), filepath.Join(folder, "a.toml"), environment{"HOME=" + folder})
		if err == nil {
			err = o.override(l)
		}
		if err != nil {
			t.Fatal(err)
		}
		return l.digest()
	}
	first := digest("profile = \"dev\"\n", options{})
	if len(first) != 64 || digest("profile = \"dev\"\n", options{}) != first {
		t.Errorf("digest %q is no SHA-256, or not always the same", first)
	}
	if digest("profile = \"dev\"\n\n", options{}) == first {
		t.Error("another text has the same digest")
	}
	if digest("profile = \"dev\"\n", options{profile: "dev"}) == first {
		t.Error("a flag leaves the digest as it was")
	}
}
