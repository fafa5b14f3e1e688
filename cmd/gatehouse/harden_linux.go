package main

import (
	"fmt"
	"syscall"
)

// hide keeps other processes of this user from reading this one's memory and
// /proc/PID/environ, where the secret of resume tokens and the owner's keys
// stand: a session's commands run as the same user. An administrator still can.
func hide() error {
	const setDumpable = 4 // PR_SET_DUMPABLE, linux/prctl.h
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, setDumpable, 0, 0); errno != 0 {
		return fmt.Errorf("hide this process from others of the same user: %w", errno)
	}
	return nil
}
