//go:build !linux

package door

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
)

// maxAddress is the longest path a socket's address holds, in bytes.
const maxAddress = 103

func address(path string) (name string, done func(), err error) {
	if len(path) > maxAddress {
		return "", nil, fmt.Errorf("door %s: the path has more than %d bytes, which a socket's address does not hold; set XDG_STATE_HOME to a shorter folder", path, maxAddress)
	}
	return path, func() {}, nil
}

// peerOf knows nothing here: the modes of folder and socket guard the door.
func peerOf(*net.UnixConn) (Peer, error) { return Peer{os.Geteuid(), -1}, nil }

func admit(Peer, int) (session string, err error) { return "", nil }

// refused reports that nobody listens; Windows has a number of its own for it.
func refused(err error) bool {
	const wsaRefused = syscall.Errno(10061)
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, wsaRefused)
}
