//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package guard

import (
	"os"
	"syscall"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

func name(string) {}

func program() (string, error) { return os.Executable() }

// There is no parent-death signal here; the server sees the end of its line to
// the guard.
func attributes(ownGroup bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: ownGroup}
}

func prepare() (map[int]string, error) { return nil, nil }

func release() {}

// sweep ends what the server's registry holds: a server that ended in order has
// removed it.
func sweep(_ map[int]string, registry string) (ended, left int) {
	if registry == "" {
		return 0, 0
	}
	entries, err := cli.ReadRegistry(registry)
	if err != nil {
		return 0, 0
	}
	ended, err = cli.Sweep(entries)
	if err != nil {
		left = 1
	}
	return ended, left
}

// isLine takes the variable's word for it: not every system here tells who made a
// socket.
func isLine(int, int) bool { return true }
