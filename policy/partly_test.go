package policy

import (
	"encoding/json"
	"testing"
)

// A text is covered in part when a specific rule covers a command of it, and not
// the whole.
func TestAllowedInPart(t *testing.T) {
	root := workspace(t)
	s := load(t, Options{Home: "/nonexistent"})
	for _, row := range []struct {
		text, allowed string
		want          bool
	}{
		{"npm run a | tail -5", "Bash(npm run *)", true},
		{"npm run a", "Bash(npm run *)", false},
		{"npm run a | tail -5", "Bash", false},
		{"timeout 5 make", "Bash(npm run *)", false},
		{"npm run a & ls", "Bash(npm run *)", false},
		{"eval npm run a; npm run b", "Bash(npm run *)", false},
	} {
		raw, _ := json.Marshal(map[string]string{"command": row.text})
		r := request(root, "Bash", string(raw))
		r.Session.AllowedTools = []string{row.allowed}
		object, err := decodeInput(r.Input)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.describe(r, object).AllowedByCaller.Partly; got != row.want {
			t.Errorf("%q with %s: partly %v, want %v", row.text, row.allowed, got, row.want)
		}
	}
}
