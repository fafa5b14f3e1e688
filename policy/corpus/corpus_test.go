package corpus

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRows(t *testing.T) {
	rows, err := Rows()
	if err != nil {
		t.Fatal(err)
	}
	commands, allowed, seen := 0, 0, map[string]bool{}
	for _, r := range rows {
		key := r.Tool + " " + string(r.Input)
		if seen[key] {
			t.Errorf("line %d: %s stands there twice", r.Line, key)
		}
		seen[key] = true
		if r.Tool == "Bash" {
			commands++
		}
		if r.Want == "allow" {
			allowed++
			if !r.Everyday() {
				t.Errorf("line %d: allowed with intent %s", r.Line, r.Intent)
			}
		}
	}
	if commands < 300 || allowed < 40 {
		t.Errorf("%d commands and %d that must run, want at least 300 and 40", commands, allowed)
	}
}

func TestLists(t *testing.T) {
	rows, err := Lists()
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range rows {
		found = found || len(r.Allowed) == 2 && r.Allowed[1] == "Bash(make *)" && r.Disallowed == nil && r.Command == "npm test && make"
	}
	if !found {
		t.Errorf("no row with two rules among %d", len(rows))
	}
}

func TestMeets(t *testing.T) {
	for want, effects := range map[string]string{"allow": "allow", "ask": "ask", "deny": "deny halt", "stop": "ask deny halt"} {
		for _, effect := range []string{"allow", "ask", "deny", "halt", "modify", "abstain", ""} {
			expected := effect != "" && strings.Contains(" "+effects+" ", " "+effect+" ")
			if got := (Row{Want: want}).Meets(effect); got != expected {
				t.Errorf("%s meets %q: %v", want, effect, got)
			}
		}
	}
}

func TestBrokenRows(t *testing.T) {
	for line, row := range map[string]func(string) (Row, error){
		"allow reads": commandRow, "may reads read ls": commandRow, `allow reads read "\q"`: commandRow,
		"allow reads read Read": callRow, "allow reads read Read []": callRow, "ask lists Bash ls": listRow, "ask lists [Bash] ls": listRow,
	} {
		if _, err := parse("x.txt", "# comment\n\n"+line, row); err == nil || !strings.Contains(err.Error(), "x.txt:3:") {
			t.Errorf("%q: got %v, want an error that names x.txt:3", line, err)
		}
	}
}

func TestWorkspace(t *testing.T) {
	root, home, err := Workspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a, errA := os.Stat(filepath.Join(root, ".env"))
	b, errB := os.Stat(filepath.Join(root, "hardlink.txt"))
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		t.Errorf("no hard link: %v %v", errA, errB)
	}
	if real, err := filepath.EvalSymlinks(filepath.Join(root, "keys", "id_rsa")); err != nil || real != filepath.Join(home, ".ssh", "id_rsa") {
		t.Errorf("keys lead to %s, %v", real, err)
	}
}
