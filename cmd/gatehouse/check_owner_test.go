package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestHooksOff(t *testing.T) {
	const yes, no, unsaid = `{"disableAllHooks": true}`, `{"disableAllHooks": false}`, `{"model": "opus"}`
	for _, c := range []struct {
		name             string
		own, base, extra string // settings.json, managed-settings.json and a file of managed-settings.d; "" for none
		file             string // that says so
		off, wrong       bool
	}{
		{name: "nothing there"},
		{name: "unsaid", own: unsaid, base: unsaid},
		{name: "the owner", own: yes, base: unsaid, file: "settings.json", off: true},
		{name: "the owner says no", own: no, file: "settings.json"},
		{name: "the administrator", base: yes, file: "managed-settings.json", off: true},
		{name: "the administrator beats the owner", own: yes, base: no, file: "managed-settings.json"},
		{name: "and so does a later file", base: no, extra: yes, file: "10-more.json", off: true},
		{name: "no JSON", own: "{", wrong: true},
		{name: "no object", own: "[]", wrong: true},
		{name: "no boolean", base: `{"disableAllHooks": "yes"}`, wrong: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			home, managed := t.TempDir(), t.TempDir()
			for path, text := range map[string]string{
				filepath.Join(home, ".claude", "settings.json"):               c.own,
				filepath.Join(managed, "managed-settings.json"):               c.base,
				filepath.Join(managed, "managed-settings.d", "10-more.json"):  c.extra,
				filepath.Join(managed, "managed-settings.d", "20-later.json"): unsaid,
			} {
				if text == "" {
					continue
				}
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			env := environment{"HOME=" + home, "USERPROFILE=" + home}
			file, off, err := hooksOff(managedFiles([]string{managed}), env)
			if (err != nil) != c.wrong || off != c.off || c.file != "" && filepath.Base(file) != c.file || c.file == "" && file != "" {
				t.Errorf("hooksOff = %q, %v, %v", file, off, err)
			}
		})
	}
}
