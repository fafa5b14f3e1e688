package engine

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// checkExecutable refuses a CLI that is missing or older than the minimum; the
// answer is kept for the executable.
func (e *Engine) checkExecutable(ctx context.Context, path string) error {
	e.mu.Lock()
	version, known := e.versions[path]
	e.mu.Unlock()
	if !known {
		var err error
		if version, err = e.askVersion(ctx, path); err != nil {
			return err
		}
		e.mu.Lock()
		e.versions[path] = version
		e.mu.Unlock()
	}
	if older(version, e.o.MinVersion) {
		return Errorf(InvalidArgument, "executable %s is version %s; at least %s is needed: npm install -g @anthropic-ai/claude-code, or set [cli] executable", path, version, e.o.MinVersion)
	}
	return nil
}

// versionWithin bounds the wait for an executable's version. The first start of the
// CLI on a busy machine has taken more than ten seconds; later ones are not asked.
const versionWithin = time.Minute

var errSlowVersion = errors.New("version was not told in time")

func (e *Engine) askVersion(ctx context.Context, path string) (string, error) {
	if ext := strings.ToLower(filepath.Ext(path)); ext == ".bat" || ext == ".cmd" {
		return "", Errorf(InvalidArgument, "executable %s: batch files are refused, since their arguments cannot be quoted safely; name the .exe", path)
	}
	if _, err := exec.LookPath(path); err != nil {
		return "", Errorf(InvalidArgument, "executable %s not found: install it (npm install -g @anthropic-ai/claude-code) or set [cli] executable: %w", path, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, e.versionWithin, errSlowVersion)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(slices.Clone(e.o.Args), "--version")...)
	cmd.Env = e.environment(nil)
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil && errors.Is(context.Cause(ctx), errSlowVersion) {
		return "", Errorf(Timeout, "executable %s --version did not answer within %s; run it by hand to see why", path, e.versionWithin)
	}
	if err != nil {
		return "", Errorf(InvalidArgument, "executable %s --version: %w%s", path, err, e.stderrOf(ctx, err))
	}
	version, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if _, ok := parseVersion(version); !ok {
		return "", Errorf(InvalidArgument, "executable %s --version: %.80q is no version; is it the Claude Code CLI?", path, e.redactVersion(ctx, string(out)))
	}
	return version, nil
}

func (e *Engine) stderrOf(ctx context.Context, err error) string {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || len(exit.Stderr) == 0 {
		return ""
	}
	return fmt.Sprintf("; stderr: %.400q%s", strings.TrimSpace(e.redactVersion(ctx, string(exit.Stderr))), gitBashHint(string(exit.Stderr)))
}

func parseVersion(s string) ([3]int, bool) {
	var v [3]int
	n, _ := fmt.Sscanf(s, "%d.%d.%d", &v[0], &v[1], &v[2])
	return v, n == 3
}

// older reports whether version a is below b; what cannot be read is old.
func older(a, b string) bool {
	va, ok := parseVersion(a)
	if !ok {
		return true
	}
	vb, _ := parseVersion(b)
	return slices.Compare(va[:], vb[:]) < 0
}
