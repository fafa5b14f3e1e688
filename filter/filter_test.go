//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package filter

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// The test binary imports the package, so a link to it is the filter.
func program(t testing.TB) string {
	t.Helper()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), Name)
	if err := os.Symlink(own, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// planned are the variables of a filter with a plan.
func planned(spec string) []string {
	sum := sha256.Sum256([]byte(spec))
	return []string{SpecVariable + "=" + spec, SumVariable + "=" + hex.EncodeToString(sum[:])}
}

const vendors = `{"options":{}}`

// filtered is a command under the filter.
func filtered(t testing.TB, line string, more ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(program(t), line)
	cmd.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0"), planned(vendors)...)
	cmd.Env = append(cmd.Env, more...)
	return cmd
}

// fake is a secret, made here so that no file holds one.
var (
	fake    = "gh" + "p_" + strings.Repeat("aB3", 12)
	covered = "[REDACTED:github]"

	keyBegin = "-----BEGIN PRIV" + "ATE KEY-----\n"
	keyLine  = strings.Repeat("MIIEvQIBADANBgkq", 4) + "\n"
	keyEnd   = "-----END PRIV" + "ATE KEY-----\n"
)

// result runs a command and returns what it printed and its exit code.
func result(t testing.TB, cmd *exec.Cmd) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

func TestCommand(t *testing.T) {
	t.Setenv("FAKE", fake)
	for _, tt := range []struct {
		name, line, stdout, stderr string
		code                       int
	}{
		{"clean", "echo hello", "hello\n", "", 0},
		{"secret", `echo "key $FAKE."`, "key " + covered + ".\n", "", 0},
		{"failing", `echo "$FAKE"; exit 3`, covered + "\n", "", 3},
		{"both outputs", `echo "$FAKE"; echo "e $FAKE" >&2; false`, covered + "\n", "e " + covered + "\n", 1},
		{"cut in two", `printf %s "${FAKE%aB3aB3}"; sleep 0.05; printf 'aB3aB3 end'`, covered + " end", "", 0},
		{"no newline", `printf %s "$FAKE"`, covered, "", 0},
		{"held back, then nothing", `printf 'gh` + `p_'`, "gh" + "p_", "", 0},
		{"key over lines", "printf '%s' '" + keyBegin + "'; sleep 0.05; for i in 1 2 3 4 5 6 7 8 9 0 1 2; do printf '%s' '" + keyLine + "'; sleep 0.01; done; printf '%s' '" + keyEnd + "'; echo after", "[REDACTED:private-key]\nafter\n", "", 0},
		{"not found", "no-such-program-here 2>/dev/null", "", "", 127},
		{"input", "cat", "from stdin", "", 0},
		{"variables of the filter are gone", `echo "${GATEHOUSE_FILTER-a}${GATEHOUSE_FILTER_SUM-b}${GATEHOUSE_FILTER_MODE-c}${CLAUDE_CODE_SHELL_PREFIX-d}"`, "abcd\n", "", 0},
		{"the session's mark stays", `echo "$GATEHOUSE_SESSION"`, "mark\n", "", 0},
		{"option-like", "drain", "", "sh", 127},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := filtered(t, tt.line, "CLAUDE_CODE_SHELL_PREFIX=x", "GATEHOUSE_SESSION=mark", "FAKE="+fake)
			cmd.Stdin = strings.NewReader("from stdin")
			stdout, stderr, code := result(t, cmd)
			if tt.stderr == "sh" && stderr != "" {
				tt.stderr = stderr // the words are the shell's
			}
			if stdout != tt.stdout || stderr != tt.stderr || code != tt.code {
				t.Errorf("stdout %q, stderr %q, code %d; want %q, %q, %d", stdout, stderr, code, tt.stdout, tt.stderr, tt.code)
			}
		})
	}
}

// Without a plan nothing runs, and the message says why.
func TestRefusal(t *testing.T) {
	good := planned(vendors)
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{"no plan", nil, "GATEHOUSE_FILTER is not set"},
		{"empty", planned(""), "GATEHOUSE_FILTER is not set"},
		{"no JSON", planned("{"), "holds no plan"},
		{"two plans", planned(vendors + vendors), "more than a plan"},
		{"unknown member", planned(`{"options":{},"cover":"all"}`), "unknown field"},
		{"no sum", good[:1], "is not the plan that GATEHOUSE_FILTER_SUM is the sum of"},
		{"another plan", []string{SpecVariable + "={}", good[1]}, "is not the plan"},
		{"huge", planned(vendors + strings.Repeat(" ", MaxSpec)), "at most 98304 are read"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			mark := filepath.Join(t.TempDir(), "ran")
			cmd := filtered(t, "touch "+mark)
			cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "GORACE=atexit_sleep_ms=0"}, tt.env...)
			stdout, stderr, code := result(t, cmd)
			if _, err := os.Stat(mark); err == nil {
				t.Error("the command ran")
			}
			if code != 126 || stdout != "" || !strings.Contains(stderr, tt.want) || !strings.Contains(stderr, "was not run") {
				t.Errorf("code %d, stdout %q, stderr %q; want 126 and %q", code, stdout, stderr, tt.want)
			}
		})
	}
}

func TestSpecOfTheSession(t *testing.T) {
	cmd := filtered(t, "echo code abc-1234 end")
	cmd.Env = append(os.Environ(), planned(`{"options":{"custom":[{"name":"badge","pattern":"abc-[0-9]{4}"}]}}`)...)
	if stdout, stderr, _ := result(t, cmd); stdout != "code [REDACTED:badge] end\n" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

// Values of variables are covered where the plan names the variables.
func TestVariables(t *testing.T) {
	spec := planned(`{"options":{},"variables":{"env-token":"TOKEN","env-short":"SHORT","env-none":"NO_SUCH_VARIABLE"}}`)
	cmd := filtered(t, `echo "$TOKEN $SHORT"`, append(spec, "TOKEN=quiet words", "SHORT=abc")...)
	if stdout, stderr, _ := result(t, cmd); stdout != "[REDACTED:env-token] abc\n" {
		t.Errorf("stdout %q, stderr %q", stdout, stderr)
	}
}

// A command that a signal ended looks so from outside, too.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		name, line string
		send       syscall.Signal // to the filter; 0: none
		signal     syscall.Signal // that ended it; 0: none
		code       int
	}{
		{"killed", "kill -KILL $$", 0, syscall.SIGKILL, -1},
		{"terminated", "kill -TERM $$", 0, syscall.SIGTERM, -1},
		{"aborted", "kill -ABRT $$", 0, 0, 128 + int(syscall.SIGABRT)},
		{"forwarded", "echo up; exec sleep 60", syscall.SIGTERM, syscall.SIGTERM, -1},
		{"interrupt", "echo up; exec sleep 60", syscall.SIGINT, syscall.SIGINT, -1},
		{"trapped", "trap 'echo got it; exit 7' TERM; echo up; while :; do sleep 0.02; done", syscall.SIGTERM, 0, 7},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := filtered(t, tt.line)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if tt.send != 0 {
				up := make([]byte, 3)
				if _, err := out.Read(up); err != nil {
					t.Fatal(err)
				}
				if err := cmd.Process.Signal(tt.send); err != nil {
					t.Fatal(err)
				}
			}
			cmd.Wait() // told by the state
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			if tt.signal != 0 && (!status.Signaled() || status.Signal() != tt.signal) || tt.signal == 0 && cmd.ProcessState.ExitCode() != tt.code {
				t.Errorf("ended with %v", cmd.ProcessState)
			}
		})
	}
}
