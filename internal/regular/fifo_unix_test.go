//go:build unix && !solaris && !illumos && !aix

package regular

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A hang here is what the package is against; the test run's own limit ends it.
func TestOthersAreRefusedAtOnce(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("fifo", filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fifo", "link"} {
		both(t, folder, name, 10, func(t *testing.T, _ string, err error) {
			if !errors.Is(err, ErrNotRegular) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	// The file behind a name can change after it was looked at: the open itself
	// must not wait either.
	f, err := os.OpenFile(filepath.Join(folder, "fifo"), os.O_RDONLY|doNotWait, 0)
	if f, err = checked(f, "fifo", err); !errors.Is(err, ErrNotRegular) || f != nil {
		t.Errorf("a FIFO that came late: %v, %v", f, err)
	}
	if _, err := Read("/dev/zero", 10); !errors.Is(err, ErrNotRegular) {
		t.Errorf("a device: %v", err)
	}
}
