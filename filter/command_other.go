//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package filter

import (
	"fmt"
	"os"
)

func (f *filter) command(string) int {
	fmt.Fprintf(os.Stderr, "%s: the command was not run: there is no filter for this system\n", Name)
	return exitRefused
}

func (f *filter) drain() int { return exitRefused }
