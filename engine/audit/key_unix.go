//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func checkPrivate(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
		return errors.New("it belongs to another user")
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("others may read it (mode %04o); run chmod 600 on it", mode)
	}
	return nil
}
