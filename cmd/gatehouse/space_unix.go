//go:build linux || darwin || freebsd || dragonfly

package main

import (
	"errors"
	"syscall"
)

// freeBytes is what this user may still write where path is; 0: not known.
func freeBytes(path string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(path, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

// writable refuses a folder in which nothing can be made.
func writable(path string) error {
	const write, enter = 2, 1 // W_OK, X_OK
	if err := syscall.Access(path, write|enter); err != nil {
		return errors.New("nothing can be written there: " + err.Error())
	}
	return nil
}
