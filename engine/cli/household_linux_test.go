package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// What cleared its environment, left its group, lost its parents and its brand is
// ended with the last session: it may be of any, and of none that does not live.
func TestUnderGuard(t *testing.T) {
	t.Parallel()
	need(t, "sh", "setsid", "sleep", "env", "prlimit")
	dir := t.TempDir()
	out, err := exec.Command(os.Args[0], "misbehave", "guard", dir).CombinedOutput()
	if want := "with another session: true\nwith none: false\na helper: true"; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf("%v: %s; want\n%s", err, out, want)
	}
}

// guarding plays a guard.
func guarding(dir string) int {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		fmt.Println(errno)
		return 1
	}
	server := exec.Command(os.Args[0], "misbehave", "guarded", dir)
	server.Stdout, server.Stderr = os.Stdout, os.Stderr
	if err := server.Run(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// guarded plays its server.
func guarded(dir string) int {
	if err := cli.UnderGuard(os.Getppid()); err != nil {
		fmt.Println(err)
		return 1
	}
	helper := exec.Command("sleep", "600") // the server's own
	if err := helper.Start(); err != nil {
		fmt.Println(err)
		return 1
	}
	defer helper.Process.Kill()
	start := func(marker, script string) *cli.Process {
		p, err := cli.Start(cli.Command{Path: "/bin/sh", Args: []string{"-c", script}, Dir: dir, Env: os.Environ(), Marker: marker + dir})
		if err != nil {
			panic(err)
		}
		if _, err := p.Read(); err != nil {
			fmt.Println(err, p.Exit(), p.Stderr())
		}
		return p
	}
	adopted := fmt.Sprintf("until grep -q '^PPid:.%d$' /proc/$$/status; do sleep 0.02; done; echo $$ >child.new; mv child.new child; exec sleep 600\n", os.Getppid())
	if err := os.WriteFile(dir+"/adopted", []byte(adopted), 0o600); err != nil {
		fmt.Println(err)
		return 1
	}
	other := start("other", `echo '{}'; read -r line`)
	escaping := start("escaping", branded+`(env -i prlimit --locks=7:7 setsid sh -c '(sh ./adopted >/dev/null 2>&1 &) ; exit' &); until [ -s child ]; do sleep 0.02; done; echo '{}'; read -r line`)
	child, err := os.ReadFile(dir + "/child")
	var pid int
	if _, err2 := fmt.Sscan(string(child), &pid); err != nil || err2 != nil {
		fmt.Println(err, err2)
		return 1
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	if err := escaping.Stop(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("with another session:", alive(pid))
	if err := other.Stop(); err != nil {
		fmt.Println(err)
	}
	fmt.Println("with none:", alive(pid))
	fmt.Println("a helper:", alive(helper.Process.Pid))
	return 0
}
