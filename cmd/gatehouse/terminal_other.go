//go:build !(linux || darwin || freebsd || dragonfly)

package main

// terminalWidth is not known here.
func terminalWidth(any) int { return 0 }
