//go:build unix

package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// An interrupt ends a command that waits for documents; no session is talked of.
func TestPluginRunInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.wasm")
	if err := os.WriteFile(file, testwasm.Deny("pre_permission", "no"), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.CommandContext(t.Context(), "gatehouse", "plugin", "run", "--timeout", "10s", file, "pre_permission")
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, "{}\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.Contains(line, "deny") {
		t.Errorf("answered %q, %v", line, err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if cmd.Wait(); cmd.ProcessState.ExitCode() != exitInterrupted || errs.String() != "gatehouse: interrupted\n" {
		t.Errorf("exit code %d, said %q", cmd.ProcessState.ExitCode(), errs.String())
	}
}
