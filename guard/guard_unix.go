//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package guard

import (
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// sweepTime bounds how long the guard tries to end what is left; a process that
// the kernel holds, or one of another user, may not end.
const sweepTime = 10 * time.Second

// sweepPause is the pause between two looks at what is left.
const sweepPause = 5 * time.Millisecond

// stand is the life of a guard; it returns the exit code. An error means that
// there is no guard and nothing was started.
func stand(terminal bool) (code int, err error) {
	before, err := prepare()
	if err != nil {
		return 0, fmt.Errorf("guard: %w", err)
	}
	signals := listen(terminal) // before there is a server: none may be lost
	server, line, err := start(!terminal)
	if err != nil {
		release()
		signal.Reset()
		return 0, fmt.Errorf("guard: %w", err)
	}
	go pass(signals, server, terminal) // lives as long as the guard
	leaveStreams()
	status := await(server)
	ended, left := sweep(before, registry(line))
	lastWords(report(status, ended, left))
	return exitCode(status), nil
}

// start starts this program again. In a group of its own the server survives a
// kill of the client's group and cleans up; at a terminal it has to stay in the
// group that may read there. Init runs on the main thread, which lives as long
// as the process, as the parent-death signal needs.
func start(ownGroup bool) (pid, line int, err error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, -1, fmt.Errorf("line to the server: %w", err)
	}
	defer syscall.Close(pair[1])
	syscall.CloseOnExec(pair[0]) // nothing else is started meanwhile
	path, err := program()
	if err == nil {
		pid, err = syscall.ForkExec(path, os.Args, &syscall.ProcAttr{
			Env: environ(pair[1]), Files: []uintptr{0, 1, 2}, Sys: attributes(ownGroup),
		})
	}
	if err != nil {
		syscall.Close(pair[0])
		return 0, -1, fmt.Errorf("start %s: %w", path, err)
	}
	return pid, pair[0], nil
}

func environ(line int) []string {
	return append(slices.Clip(os.Environ()), Variable+"="+strconv.Itoa(os.Getpid())+":"+strconv.Itoa(line))
}

// leaveStreams lets go of the client's streams: it must see the end of output
// when the server closes it, and nobody else's reading. Messages need stderr.
func leaveStreams() {
	for fd, mode := range []int{syscall.O_RDONLY, syscall.O_WRONLY} {
		syscall.Close(fd)
		syscall.Open(os.DevNull, mode, 0) // takes the lowest number, which is free now
	}
}

// await waits for the server, and collects what else ends meanwhile.
func await(server int) (status syscall.WaitStatus) {
	for {
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if pid == server || err != nil && err != syscall.EINTR {
			return status
		}
	}
}

// registry is the file the server told of, "" for none.
func registry(line int) string {
	defer syscall.Close(line)
	var text []byte
	for buf := make([]byte, 4096); len(text) < 64<<10; {
		n, err := syscall.Read(line, buf) // ends at once: the server was the other end
		if err == syscall.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			break
		}
		text = append(text, buf[:n]...)
	}
	path, _, whole := strings.Cut(string(text), "\n")
	if !whole {
		return ""
	}
	return path
}

// lastWords waits a moment at most: nobody may be reading.
func lastWords(text string) {
	if text == "" {
		return
	}
	written := make(chan struct{})
	go func() { // ends with the write, or with the process
		defer close(written)
		fmt.Fprintln(os.Stderr, text)
	}()
	select {
	case <-written:
	case <-time.After(time.Second):
	}
}

func exitCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// report is what the guard has to tell, "" where the server ended by itself and
// left nothing.
func report(status syscall.WaitStatus, ended, left int) string {
	var parts []string
	if status.Signaled() {
		parts = append(parts, fmt.Sprintf("the server was ended by a signal (%v)", status.Signal()))
	}
	if ended > 0 || status.Signaled() {
		parts = append(parts, fmt.Sprintf("%d processes that were left of its sessions were ended", ended))
	}
	if left > 0 {
		parts = append(parts, fmt.Sprintf("%d could not be ended in %s", left, sweepTime))
	}
	if len(parts) == 0 {
		return ""
	}
	return "gatehouse: " + strings.Join(parts, "; ")
}
