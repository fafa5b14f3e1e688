//go:build !unix

package main

import "os"

// hangups receives nothing: this system has no SIGHUP. Changed files are seen all
// the same.
func hangups() (c <-chan os.Signal, stop func()) { return nil, func() {} }
