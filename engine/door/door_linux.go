package door

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// maxAddress is the longest path a socket's address holds, in bytes.
const maxAddress = 107

// address is path in a form that fits a socket's address: a longer one is
// reached through its folder, opened. done closes the folder.
func address(path string) (name string, done func(), err error) {
	if len(path) <= maxAddress {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, fmt.Errorf("door %s: %w", path, err)
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}

func refused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// peerOf asks the kernel who connected.
func peerOf(conn *net.UnixConn) (Peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Peer{-1, -1}, fmt.Errorf("peer: %w", err)
	}
	var cred *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	if err = errors.Join(err, failed); err != nil {
		return Peer{-1, -1}, fmt.Errorf("peer: %w", err)
	}
	return Peer{int(cred.Uid), int(cred.Pid)}, nil
}

// marker is set in everything that a session starts.
const marker = "GATEHOUSE_SESSION"

// maxLineage bounds the walk up a process's parents.
const maxLineage = 64

var errOwnAnswer = errors.New("refused: the process belongs to a session, and a session cannot answer its own questions; answer them from a terminal of your own")

// admit refuses a peer of another user, and one that a session started: a
// descendant of this server, or marked as a session's itself or by a parent.
// session is the session's id where a mark tells it.
func admit(p Peer) (session string, err error) {
	if p.UID != os.Geteuid() {
		return "", fmt.Errorf("refused: user %d is not the owner of this server", p.UID)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID)); p.PID <= 0 || err != nil {
		return "", fmt.Errorf("refused: process %d cannot be looked at", p.PID)
	}
	belongs := false
	pid := p.PID
	for range maxLineage {
		if id, marked := mark(pid); marked {
			belongs = true
			if session == "" {
				session = id
			}
		}
		if pid == os.Getpid() && pid != p.PID {
			belongs = true
		}
		if pid = parent(pid); pid <= 1 {
			break
		}
	}
	if belongs {
		return session, errOwnAnswer
	}
	return "", nil
}

// mark reads a session's id out of a process's environment. One that hides its
// environment, as our own commands do, shows no mark; its parents still may.
func mark(pid int) (session string, marked bool) {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return "", false
	}
	for v := range bytes.SplitSeq(env, []byte{0}) {
		if name, value, ok := strings.Cut(string(v), "="); ok && name == marker {
			return value, true
		}
	}
	return "", false
}

// parent is the id of a process's parent, 0 when there is none to see.
func parent(pid int) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:])) // a name may hold anything
	if len(fields) < 2 {
		return 0
	}
	id, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return id
}
