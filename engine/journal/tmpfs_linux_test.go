package journal

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestTmpfs fills a small disk, makes room and goes on.
func TestTmpfs(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=256k,mode=0700"); err != nil {
		t.Skip("a disk cannot be mounted here: ", err)
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(disk, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	j := opened(t, Options{Folder: filepath.Join(disk, "journal")})
	defer j.Close()
	h := begun(t, j, 1)
	defer h.Close()
	n := int64(0)
	var full error
	for ; full == nil; n++ {
		full = h.Append(sized(n))
	}
	n-- // was not appended
	if !errors.Is(full, syscall.ENOSPC) {
		t.Fatal(full)
	}
	for range 3 {
		if err := h.Append(sized(n)); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("append to a full disk: %v", err)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	for end := n + 50; n < end; n++ {
		if err := h.Append(sized(n)); err != nil {
			t.Fatal(err)
		}
	}
	whole(t, h, n)
}
