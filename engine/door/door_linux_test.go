package door

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// TestMain lets the test binary play a peer.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "peer" {
		all, _, err := Ask(context.Background(), os.Args[2])
		fmt.Print(len(all), " ", err)
		os.Exit(0)
	}
	os.Exit(testleak.Run(m))
}

func TestWhatTheServerStartedIsRefused(t *testing.T) {
	k := &keeper{questions: []Question{{ID: "secret"}}}
	d := opened(t, folder(t), k)
	for name, env := range map[string][]string{
		"marked":     {lineage.Marker + "=0e9f"},
		"no marks":   nil,
		"by a shell": {lineage.Marker + "=0e9f"},
	} {
		cmd := exec.Command(os.Args[0], "peer", d.Path())
		if name == "by a shell" { // which drops the mark for its child
			cmd = exec.Command("/bin/sh", "-c", `env -i "$0" peer "$1"; :`, os.Args[0], d.Path())
		}
		cmd.Env = append([]string{}, env...)
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), "0 refused: the process belongs to a session") {
			t.Errorf("%s: %s, %v", name, out, err)
		}
		k.mu.Lock()
		if want := len(env) > 0; len(k.refused) != 1 || strings.HasPrefix(k.refused[0], "0e9f ") != want {
			t.Errorf("%s: told %q", name, k.refused)
		}
		k.refused = nil
		k.mu.Unlock()
	}
}

func TestAdmit(t *testing.T) {
	if _, err := admit(Peer{os.Geteuid(), os.Getpid()}, 0); err != nil {
		t.Errorf("this process: %v", err)
	}
	if _, err := admit(Peer{os.Geteuid() + 1, os.Getpid()}, 0); err == nil || !strings.Contains(err.Error(), "not the owner") {
		t.Errorf("another user: %v", err)
	}
	if _, err := admit(Peer{os.Geteuid(), 1 << 30}, 0); err == nil || !strings.Contains(err.Error(), "cannot be looked at") {
		t.Errorf("a process that is gone: %v", err)
	}
}

func TestLongPath(t *testing.T) {
	dir := folder(t)
	for len(dir) < 2*maxAddress {
		dir = filepath.Join(dir, strings.Repeat("x", 40))
	}
	d := opened(t, dir, &keeper{questions: []Question{{ID: "one"}}})
	if all, _, err := Ask(t.Context(), d.Path()); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
	d.Close()
	if left := list(dir); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}
