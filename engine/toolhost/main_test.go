package toolhost

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/rogpeppe/go-internal/testscript"
)

// Stacks that are no leak: permanent is in that of the goroutine that starts
// processes, for good, reaper in that of one that ends a second after a process.
const (
	permanent = "cli.init.func"
	reaper    = "cli.(*Process).reap"
)

// leakChecked fails where tests leave goroutines behind.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int { return testleak.Run(m.M, permanent) }

// TestMain lets the test binary play the embedding program and the CLI it starts.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"scripted-cli": func() { os.Exit(script.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"toolhost": func() {
			if err := toolhost(os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, "toolhost:", err)
				os.Exit(1)
			}
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "inproc"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, folder := range []string{"home", "project", "tmp"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, folder), 0o700); err != nil {
					return err
				}
			}
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("USERPROFILE", filepath.Join(e.WorkDir, "home"))
			e.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(e.WorkDir, "home", ".claude"))
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each program waits a second at its end
			return nil
		},
	})
}
