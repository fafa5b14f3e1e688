//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package guard

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// adopt reports whether this process is a server with a guard. The variable goes
// in any case: a session must not learn it, and one that was inherited from
// elsewhere says nothing.
func adopt() bool {
	value, ok := os.LookupEnv(Variable)
	if !ok {
		return false
	}
	os.Unsetenv(Variable)
	parent, number, _ := strings.Cut(value, ":")
	fd, err := strconv.Atoi(number)
	if err != nil || parent != strconv.Itoa(os.Getppid()) || !isLine(fd, os.Getppid()) {
		return false
	}
	guardian = os.Getppid()
	name(os.Args[0])
	syscall.CloseOnExec(fd)
	syscall.SetNonblock(fd, true) // so that waiting for its end takes no thread
	guards = os.NewFile(uintptr(fd), "guard")
	go mourn(guards, func() { syscall.Kill(os.Getpid(), syscall.SIGTERM) }) // ends with the guard or this process
	return true
}

// mourn calls ended when the guard is gone. On Linux the kernel sends the same
// signal, except to a program with capabilities of its own.
func mourn(line io.Reader, ended func()) {
	io.Copy(io.Discard, line)
	ended()
}

// TellRegistry tells the guard in which file the server registers its processes;
// where the guard cannot adopt them it finds them there. Without a guard it does
// nothing.
func TellRegistry(path string) error {
	if guards == nil {
		return nil
	}
	if _, err := io.WriteString(guards, path+"\n"); err != nil {
		return fmt.Errorf("tell the guard of %s: %w", path, err)
	}
	return nil
}
