package door

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
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

var errOwnAnswer = errors.New("refused: the process belongs to a session, and a session cannot answer its own questions; answer them from a terminal of your own")

// admit refuses a peer of another user, and one that a session started, of this
// server or another: see package lineage. With a guard all that lost its parents
// stands below it; where it is gone nobody can be told apart, and this server is
// about to end. session is the session's id where a mark tells it.
func admit(p Peer, guard int) (session string, err error) {
	if p.UID != os.Geteuid() {
		return "", fmt.Errorf("refused: user %d is not the owner of this server", p.UID)
	}
	if p.PID <= 0 {
		return "", fmt.Errorf("refused: process %d cannot be looked at", p.PID)
	}
	insiders := []int{os.Getpid()}
	if guard > 0 {
		insiders = append(insiders, guard)
	}
	session, belongs, err := lineage.Of(p.PID, insiders...)
	switch {
	case err != nil:
		return "", fmt.Errorf("refused: process %d cannot be looked at: %w", p.PID, err)
	case belongs:
		return session, errOwnAnswer
	case guard > 0 && os.Getppid() != guard:
		return "", errors.New("refused: the server's guard was killed, and the server ends")
	}
	return "", nil
}
