//go:build unix

package engine

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByUs reports whether a file is of the user we run as.
func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Uid == uint32(os.Getuid())
}
