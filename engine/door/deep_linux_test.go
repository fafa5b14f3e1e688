package door

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// However many processes stand between a peer and the server, it is turned away.
func TestDeepDescendantIsRefused(t *testing.T) {
	d := opened(t, folder(t), &keeper{questions: []Question{{ID: "secret"}}})
	cmd := exec.Command("/bin/sh", "-c", script, "sh", "100", os.Args[0], d.Path())
	cmd.Env = []string{"script=" + script}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "0 refused: the process belongs to a session") {
		t.Errorf("%s, %v", out, err)
	}
}

// script runs a program at the end of a chain of so many shells.
const script = `if [ "$1" -gt 0 ]; then sh -c "$script" sh $(($1 - 1)) "$2" "$3"; else "$2" peer "$3"; fi; :`
