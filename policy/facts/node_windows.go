package facts

import (
	"io/fs"
	"os"
	"syscall"
)

// directoryOnly has no counterpart here; pipes do not lie in folders.
const directoryOnly = 0

// node is what is needed of a file's status; the zero value is none.
type node struct {
	mode      fs.FileMode // type bits only
	nlink     uint64
	volume    uint32
	high, low uint32
}

// lstat reads a file's kind and, for a regular file, its identity.
func lstat(path string) (node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return node{}, err
	}
	n := node{mode: info.Mode().Type(), nlink: 1}
	if !info.Mode().IsRegular() {
		return n, nil
	}
	return n.identify(path), nil
}

// identify asks for the number of names; a file that cannot be asked keeps
// none, which says that nobody can tell.
func (n node) identify(path string) node {
	n.nlink = 0
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return n
	}
	const anyShare = syscall.FILE_SHARE_READ | syscall.FILE_SHARE_WRITE | syscall.FILE_SHARE_DELETE
	h, err := syscall.CreateFile(name, 0, anyShare, nil, syscall.OPEN_EXISTING, syscall.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return n
	}
	defer syscall.CloseHandle(h)
	var info syscall.ByHandleFileInformation
	if syscall.GetFileInformationByHandle(h, &info) == nil {
		n.nlink, n.volume = uint64(info.NumberOfLinks), info.VolumeSerialNumber
		n.high, n.low = info.FileIndexHigh, info.FileIndexLow
	}
	return n
}

// same reports whether two nodes are one file.
func (n node) same(other node) bool {
	return n.nlink > 0 && n.volume == other.volume && n.high == other.high && n.low == other.low
}

// shared reports a regular file that has other names.
func (n node) shared() bool { return n.nlink > 1 && n.mode == 0 }
