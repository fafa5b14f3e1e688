package realcli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// TestShellKeepsItsFolder: the shell of the CLI keeps the folder of a cd for
// the next call, so the same words may name other files then.
func TestShellKeepsItsFolder(t *testing.T) {
	l := newLab(t)
	l.file("notes.txt", "plain")
	if err := os.Mkdir(l.path("sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	secret := filepath.Join(l.outside, "notes.txt")
	if err := os.WriteFile(secret, []byte("MARK-OUTSIDE"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(secret, l.path("sub/notes.txt")); err != nil {
		t.Fatal(err)
	}
	l.serve(bash("cat notes.txt"), bash("cd sub"), bash("cat notes.txt"), fakeapi.Say("done"))
	l.open()
	s := l.start("go")
	events := l.turns(s, 1, func(a engine.Action) engine.Answer {
		if strings.Contains(a.Summary, "cat notes.txt") {
			return refuse(a)
		}
		return allow(a)
	})
	if !saw(events, event.PermissionAsked, "cat notes.txt") || l.api.Saw("MARK-OUTSIDE") {
		t.Errorf("the file behind the link was read:\n%s", dump(s))
	}
}
