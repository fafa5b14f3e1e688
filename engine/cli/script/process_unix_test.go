//go:build unix

package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killChild ends the child a script left behind, which must be alive.
func killChild(t *testing.T, pidFile string) {
	t.Helper()
	data, err := os.ReadFile(pidFile)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("child %d is gone: %v", pid, err)
	}
}

// TestSignals obeys SIGINT and SIGTERM as the real CLI does.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name string
		sc   Scenario
		sig  os.Signal
		code int
	}{
		{"SIGTERM idle", Scenario{}, syscall.SIGTERM, codeSIGTERM},
		{"SIGINT idle", Scenario{}, syscall.SIGINT, 0},
		{"SIGTERM in a turn", oneTool(Tool{Name: "Bash", Input: map[string]any{"command": "ls"}, WaitInterrupt: true}), syscall.SIGTERM, codeSIGTERM},
		{"SIGINT in a turn", oneTool(Tool{Name: "Bash", Input: map[string]any{"command": "ls"}, WaitInterrupt: true}), syscall.SIGINT, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inTurn := tt.sc.Turns != nil
			p, h := startProcess(t, tt.sc)
			h.initialize()
			if inTurn {
				h.say("go")
				h.until("assistant")
			}
			p.signal(tt.sig)
			if code := h.wait(); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if result := drained(h, "result"); result != (inTurn && tt.sig == syscall.SIGINT) {
				t.Errorf("result frame: %v", result)
			}
		})
	}
}

// TestIgnoredSignals: only a kill ends a process that ignores everything.
func TestIgnoredSignals(t *testing.T) {
	p, h := startProcess(t, Scenario{IgnoreSIGTERM: true, IgnoreSIGINT: true, IgnoreStdinClose: true, NoReadStdin: true})
	h.say("go")
	h.until("result/success")
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p.signal(s)
	}
	h.close()
	select {
	case f := <-h.frames:
		t.Fatalf("got %v, want a process that stays", f)
	case <-time.After(50 * time.Millisecond):
	}
	p.kill(137)
	if code := h.wait(); code != 137 {
		t.Errorf("exit code %d", code)
	}
}

// TestProcess runs the test binary as the CLI, the way an engine does.
func TestProcess(t *testing.T) {
	dir := t.TempDir()
	scenario := filepath.Join(dir, "scenario.json")
	text := `{"turns":[[{"spawn_child":{"pid_file":"${CWD}/pid"}},{"text":"in ${CWD}"}]]}`
	if err := os.WriteFile(scenario, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], append([]string{"scripted-cli", "--scenario", scenario}, pipeArgs...)...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(`{"type":"user","message":{"role":"user","content":"x"}}` + "\n")
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), filepath.Base(dir)) {
		t.Fatalf("output %s, %v", out, err)
	}
	killChild(t, filepath.Join(dir, "pid"))
}
