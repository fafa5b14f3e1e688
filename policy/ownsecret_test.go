package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Gatehouse's keys and records are neither read nor written in any profile,
// whatever policies of the user allow, and whatever their names are.
func TestOwnSecrets(t *testing.T) {
	root := workspace(t)
	own := filepath.Join(root, "state", "keys")
	for _, name := range []string{"audit.pem", "input.key"} {
		if err := os.MkdirAll(own, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(own, name), []byte("x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(own, filepath.Join(root, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	allow := filepath.Join(t.TempDir(), "allow.rego")
	if err := os.WriteFile(allow, []byte("package gatehouse.permission\n\ndecisions contains {\"effect\": \"allow\", \"rule\": \"user.all\"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	object := func(pairs ...string) string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		raw, _ := json.Marshal(m)
		return string(raw)
	}
	key := filepath.Join(own, "audit.pem")
	calls := [][2]string{
		{"Read", object("file_path", key)},
		{"Read", object("file_path", "state/keys/input.key")},
		{"Read", object("file_path", "elsewhere/input.key")},
		{"Write", object("file_path", key, "content", "x")},
		{"Edit", object("file_path", "elsewhere/input.key", "old_string", "x", "new_string", "y")},
		{"Bash", object("command", "cat state/keys/input.key")},
		{"Bash", object("command", "cd state/keys && cat input.key")},
		{"Bash", object("command", "cp state/keys/audit.pem notes.txt")},
		{"Bash", object("command", "head <state/keys/input.key")},
		{"Bash", object("command", "echo x > state/keys/audit.pem")},
		{"Bash", object("command", "rm -r state/keys")},
		{"Bash", object("command", "mv elsewhere/input.key x")},
		{"Grep", object("pattern", "x", "path", own)},
		{"Grep", object("pattern", "x", "path", "state/keys/input.key")},
		{"Glob", object("pattern", "*", "path", "elsewhere")},
		{"Glob", object("pattern", filepath.Join(own, "*"))},
	}
	for _, profile := range profiles {
		for _, paths := range [][]string{nil, {allow}} {
			s := load(t, Options{Profile: profile, Paths: paths, Protected: []string{filepath.Join(root, "state")}, Secret: []string{own}})
			for _, c := range calls {
				for _, door := range []permission.Door{permission.DoorHook, permission.DoorMention} {
					if door == permission.DoorMention && c[0] != "Read" {
						continue
					}
					r := request(root, c[0], c[1])
					r.Door, r.Session.Mode = door, "acceptEdits"
					if d := decide(t, s, r); d.Effect < permission.Deny {
						t.Errorf("%s, user policies %v: %s %s at %s: %s by %s", profile, paths != nil, c[0], strings.ReplaceAll(c[1], root, ""), door, d.Effect, d.Rule)
					}
				}
			}
		}
	}
}
