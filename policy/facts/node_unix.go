//go:build unix

package facts

import (
	"io/fs"
	"os"
	"syscall"
)

// directoryOnly makes an open fail on anything but a folder, without waiting
// for a pipe.
const directoryOnly = syscall.O_DIRECTORY | syscall.O_NONBLOCK

// node is what is needed of a file's status; the zero value is none.
type node struct {
	mode     fs.FileMode // type bits only
	nlink    uint64
	dev, ino uint64
}

// lstat is os.Lstat without its allocations.
func lstat(path string) (node, error) {
	var st syscall.Stat_t
	for {
		err := syscall.Lstat(path, &st)
		if err == nil {
			return nodeOf(&st), nil
		}
		if err != syscall.EINTR {
			return node{}, &os.PathError{Op: "lstat", Path: path, Err: err}
		}
	}
}

func nodeOf(st *syscall.Stat_t) node {
	n := node{nlink: uint64(st.Nlink), dev: uint64(st.Dev), ino: uint64(st.Ino)}
	switch st.Mode & syscall.S_IFMT {
	case syscall.S_IFDIR:
		n.mode = fs.ModeDir
	case syscall.S_IFLNK:
		n.mode = fs.ModeSymlink
	case syscall.S_IFBLK:
		n.mode = fs.ModeDevice
	case syscall.S_IFCHR:
		n.mode = fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFIFO:
		n.mode = fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		n.mode = fs.ModeSocket
	case syscall.S_IFREG:
	default:
		n.mode = fs.ModeIrregular
	}
	return n
}

// same reports whether two nodes are one file.
func (n node) same(other node) bool {
	return n.nlink > 0 && n.dev == other.dev && n.ino == other.ino
}

// shared reports a regular file that has other names.
func (n node) shared() bool { return n.nlink > 1 && n.mode == 0 }
