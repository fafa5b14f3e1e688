package engine

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestSlowVersion: an executable that does not tell its version is no CLI that is
// too old, and the refusal says what it is.
func TestSlowVersion(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("this machine has no sh to play a program that does not answer")
	}
	l := newTurnsLab(t, `{}`, func(o *Options) { o.Executable, o.Args = shell, []string{"-c", "exec sleep 600"} })
	l.versionWithin = 50 * time.Millisecond
	_, err = l.Start(context.Background(), StartParams{Prompt: "go"})
	if CodeOf(err) != Timeout || !strings.Contains(err.Error(), "--version did not answer within 50ms") {
		t.Errorf("start: %v", err)
	}
}
