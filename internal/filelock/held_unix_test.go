//go:build unix && !solaris && !illumos && !aix

package filelock

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Who looks does not take another who looks for the holder.
func TestHeldDisturbsNobody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil { // as Held does
		t.Fatal(err)
	}
	if Held(path) {
		t.Error("held by one who only looks")
	}
}
