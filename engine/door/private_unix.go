//go:build unix

package door

import (
	"fmt"
	"os"
	"syscall"
)

// private refuses a folder that is a link, or another user's, or open to others;
// repair closes one of our own.
func private(dir string, repair bool) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("door %s: %w", dir, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return fmt.Errorf("door %s: not a folder", dir)
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("door %s: not owned by you; remove it", dir)
	case info.Mode().Perm()&0o077 == 0:
		return nil
	case !repair:
		return fmt.Errorf("door %s: others may enter it (mode %04o); run chmod 700 on it", dir, info.Mode().Perm())
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("door %s: %w", dir, err)
	}
	return nil
}
