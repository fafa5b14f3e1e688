//go:build unix

package main

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a new file the owner and the group of another.
func keepOwner(f *os.File, was fs.FileInfo) error {
	old, ok := was.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if now, ok := info.Sys().(*syscall.Stat_t); ok && now.Uid == old.Uid && now.Gid == old.Gid {
		return nil
	}
	return f.Chown(int(old.Uid), int(old.Gid))
}

// namesOf counts the names of a file; 0 where nobody can tell.
func namesOf(info fs.FileInfo) int {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Nlink)
	}
	return 0
}
