package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestServerHidesItself: an ordinary user's other processes cannot read a
// server's environment; root, as whom these tests may run, always can, so what
// is looked at is the mark of the kernel: such files belong to root.
func TestServerHidesItself(t *testing.T) {
	if os.Getuid() == 0 {
		if err := hide(); err != nil {
			t.Fatal(err)
		}
		const getDumpable, setDumpable = 3, 4
		value, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, getDumpable, 0, 0)
		syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 1, 0)
		if errno != 0 || value != 0 {
			t.Errorf("dumpable = %d, %v", value, errno)
		}
		return
	}
	own := exec.Command("gatehouse", "serve", "--cwd", t.TempDir())
	in, err := own.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := own.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Start(); err != nil {
		t.Fatal(err)
	}
	defer own.Wait()
	defer in.Close()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", own.Process.Pid)); err == nil {
		t.Error("another process of the user read the server's environment")
	}
}
