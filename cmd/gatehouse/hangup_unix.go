//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// hangups receives SIGHUP, the word for "read your files again". Until stop is
// called it no longer ends the program.
func hangups() (c <-chan os.Signal, stop func()) {
	received := make(chan os.Signal, 1) // several at once ask for one reload
	signal.Notify(received, syscall.SIGHUP)
	return received, func() { signal.Stop(received) }
}
