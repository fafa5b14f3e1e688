//go:build !unix

package upstream

import (
	"fmt"
	"os"
	"testing"
)

func mustBeGone(t testing.TB, pid int) {
	t.Helper()
	waitFor(t, fmt.Sprintf("process %d has ended", pid), func() bool {
		p, err := os.FindProcess(pid)
		if err == nil {
			p.Release()
		}
		return err != nil
	})
}
