//go:build unix

package regular

import "syscall"

// doNotWait opens a FIFO at once, and makes no terminal ours.
const doNotWait = syscall.O_NONBLOCK | syscall.O_NOCTTY
