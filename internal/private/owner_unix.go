//go:build unix

package private

import (
	"fmt"
	"os"
	"syscall"
)

func owned(path string, info os.FileInfo, repair bool) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("folder %s: owned by another user; name one of your own", path)
	case info.Mode().Perm()&0o077 == 0:
		return nil
	case !repair:
		return fmt.Errorf("folder %s: others may enter it (mode %04o); run chmod 700 on it", path, info.Mode().Perm())
	}
	if err := os.Chmod(path, 0o700); err != nil {
		return fmt.Errorf("folder %s: others may enter it: %w", path, err)
	}
	return nil
}

func ownedFile(path string, info os.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(stat.Uid) != os.Geteuid():
		return fmt.Errorf("file %s: owned by another user; remove it", path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("file %s: others may open it (mode %04o); run chmod 600 on it", path, info.Mode().Perm())
	}
	return nil
}
