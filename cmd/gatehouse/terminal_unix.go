//go:build linux || darwin || freebsd || dragonfly

package main

import (
	"os"
	"syscall"
	"unsafe"
)

// terminalWidth is how many characters a line of a terminal holds; 0: not known,
// or stream is none.
func terminalWidth(stream any) int {
	if o, ok := stream.(*output); ok {
		stream = o.Writer
	}
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	var size struct{ rows, columns, x, y uint16 }
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	if errno != 0 {
		return 0
	}
	return int(size.columns)
}
