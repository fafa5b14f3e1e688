package cli_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// terminal opens a pseudo terminal.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	t.Cleanup(func() { master.Close() })
	var number, unlocked uint32
	for request, value := range map[uintptr]*uint32{syscall.TIOCSPTLCK: &unlocked, syscall.TIOCGPTN: &number} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), request, uintptr(unsafe.Pointer(value))); errno != 0 {
			t.Fatal(errno)
		}
	}
	slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// A program asks for a password at /dev/tty, whatever its pipes are.
func TestNoTerminal(t *testing.T) {
	t.Parallel()
	need(t, "sh")
	_, slave := terminal(t)
	cmd := exec.Command(os.Args[0], "misbehave", "on-terminal")
	cmd.Stdin = slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	out, err := cmd.Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != "itself true, otherwise yes, without no" {
		t.Errorf("%v: %q", err, got)
	}
}

// onTerminal is a server that was started at a terminal.
func onTerminal() int {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err == nil {
		tty.Close()
	}
	fmt.Printf("itself %v", err == nil)
	for _, c := range []cli.Command{{Marker: "otherwise"}, {Marker: "without", NoTerminal: true}} {
		c.Path, c.Args, c.Env = "/bin/sh", []string{"-c", `if (: >/dev/tty) 2>/dev/null; then echo yes; else echo no; fi; read -r line`}, os.Environ()
		p, err := cli.Start(c)
		if err != nil {
			fmt.Println(err)
			return 1
		}
		line, err := p.Read()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		fmt.Printf(", %s %s", c.Marker, line)
		if err := p.Stop(); err != nil {
			fmt.Println(err)
			return 1
		}
	}
	return 0
}
