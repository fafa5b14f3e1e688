package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/rogpeppe/go-internal/testscript"
)

// ourselves plays the command under test, under whichever name.
func ourselves() {
	decisionTime = time.Minute
	isOwnProgram = func(path string) bool { return slices.Contains([]string{"gatehouse", mpmName}, filepath.Base(path)) }
	main()
}

// leakChecked fails where tests leave goroutines behind. The spawner is permanent,
// and TestConversationEnds is about calls that never end.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int { return testleak.Run(m.M, "cli.init.func", "TestConversationEnds") }

// TestMain lets the test binary play other programs: the command under test, the
// scripted CLI that it starts, one that calls the model's API besides, an MCP
// server it reaches, and an MCP client that starts it.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){
		"gatehouse": ourselves,
		mpmName:     ourselves,
		"scripted-cli": func() {
			os.Exit(script.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
		},
		"loopback-cli": func() { os.Exit(loopbackCLI(os.Args[1:])) },
		"sneaky-cli":   func() { os.Exit(sneakyCLI(os.Args[1:])) },
		"upstream-server": func() {
			if err := upstreamServer(os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, "upstream-server:", err)
				os.Exit(1)
			}
		},
		"mcpclient": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
			defer stop()
			if err := mcpClient(ctx, os.Args[1:]); err != nil {
				fmt.Fprintln(os.Stderr, "mcpclient:", err)
				os.Exit(1)
			}
		},
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, folder := range []string{"home", "config", "project", "tmp"} {
				if err := os.MkdirAll(filepath.Join(e.WorkDir, folder), 0o700); err != nil {
					return err
				}
			}
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			e.Setenv("USERPROFILE", filepath.Join(e.WorkDir, "home"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(e.WorkDir, "config"))
			e.Setenv("TMPDIR", filepath.Join(e.WorkDir, "tmp"))
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else each program waits a second at its end
			return ownersOnly(e.WorkDir)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"scenario": cmdScenario,
			"gone":     cmdGone,
			"keypair":  cmdKeypair,
			"bundles":  cmdBundles,
			"plant":    cmdPlant,
			"fill":     cmdFill,
			"nowhere":  cmdNowhere,
			"guest":    cmdGuest,
			"goguest":  cmdGoGuest,
			"pin":      cmdPin,
			"await":    cmdAwait,
			"private":  func(ts *testscript.TestScript, _ bool, args []string) { ts.Check(ownersOnly(ts.MkAbs(args[0]))) },
		},
	})
}

// ownersOnly takes the write bits of others away: with a loose umask the checks of
// owners would refuse every file of a script.
func ownersOnly(root string) error {
	return filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		return os.Chmod(path, info.Mode().Perm()&^0o022)
	})
}

// cmdScenario writes the user's configuration: "scenario FILE [TOML]" makes the
// scripted CLI play FILE, with the text of TOML put after it.
func cmdScenario(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: scenario file [toml]")
	}
	config := fmt.Sprintf("cli.executable = \"scripted-cli\"\ncli.args = [%q]\n", "--scenario="+ts.MkAbs(args[0]))
	if len(args) == 2 {
		config += ts.ReadFile(args[1])
	}
	folder := ts.MkAbs(filepath.Join(ts.Getenv("XDG_CONFIG_HOME"), "gatehouse"))
	ts.Check(os.MkdirAll(folder, 0o700))
	ts.Check(os.WriteFile(filepath.Join(folder, "gatehouse.toml"), []byte(config), 0o600))
}

// cmdGone waits until the process whose id is in a file has ended.
func cmdGone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone pidfile")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(ts.ReadFile(args[0])))
	ts.Check(err)
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		process, err := os.FindProcess(pid)
		if err != nil || process.Signal(syscall.Signal(0)) != nil || zombie(pid) {
			return
		}
	}
	ts.Fatalf("process %d is still there", pid)
}

// zombie reports whether a process has ended and only waits to be collected,
// which an init that is slow, or a container without one, leaves behind.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}
