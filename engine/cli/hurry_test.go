//go:build unix

package cli_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestHurry: SIGTERM comes first, and what ignores it is killed. The test has no say in
// how long that takes; without Hurry the process would end at the end of its input.
func TestHurry(t *testing.T) {
	need(t, "sh", "sleep")
	for _, c := range []struct{ name, script, told string }{
		{"gentle", `trap 'echo x >interrupted' INT; trap 'echo x >terminated; exit' TERM; echo $$ >cli; echo '{}'; while :; do sleep 0.05; done`, "terminated"},
		{"deaf", `trap '' HUP INT QUIT TERM; sh -c 'trap "" TERM; echo $$ >child; while :; do sleep 1; done' & while [ ! -s child ]; do sleep 0.02; done; echo $$ >cli; while :; do sleep 1; done`, ""},
	} {
		for _, before := range []bool{true, false} { // or a stop is under way
			t.Run(c.name, func(t *testing.T) {
				dir := t.TempDir()
				p := shell(t, dir, c.script, nil)
				pids := pidsIn(t, dir, "cli")
				if c.name == "deaf" {
					pids = append(pids, pidsIn(t, dir, "child")...)
				}
				stopped := make(chan error, 1)
				if before {
					p.Hurry()
				}
				go func() { stopped <- p.Stop() }() // ends with the process
				p.Hurry()
				if err := <-stopped; err != nil {
					t.Error(err)
				}
				if p.Exit() == "" {
					t.Error("it has not ended")
				}
				mustDie(t, pids...)
				if c.told == "" {
					return
				}
				if _, err := os.Stat(filepath.Join(dir, c.told)); err != nil {
					t.Errorf("it was not told: %v", err)
				}
				if _, err := os.Stat(filepath.Join(dir, "interrupted")); before && err == nil {
					t.Error("it got SIGINT")
				}
			})
		}
	}
}
