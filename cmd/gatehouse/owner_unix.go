//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// groupOrWorldWrite are the permission bits nobody but the owner may have.
const groupOrWorldWrite = 0o022

// checkOwner refuses a file that somebody else could change: it and its folder
// must belong to this user or root and be writable by the owner alone. A
// sticky folder such as /tmp passes, because nobody can replace our file in it.
func checkOwner(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	for _, p := range []string{real, filepath.Dir(real)} {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		if err := ownedByUs(p, info); err != nil {
			return err
		}
	}
	return nil
}

func ownedByUs(path string, info os.FileInfo) error {
	if info.IsDir() && info.Mode()&os.ModeSticky != 0 {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s: its owner is unknown on this system", path)
	}
	if uid := int(stat.Uid); uid != 0 && uid != os.Geteuid() {
		return fmt.Errorf("%s: owned by user %d; it must belong to you or root", path, uid)
	}
	if info.Mode().Perm()&groupOrWorldWrite != 0 {
		return fmt.Errorf("%s: others may write to it (mode %04o); run chmod go-w on it", path, info.Mode().Perm())
	}
	return nil
}
