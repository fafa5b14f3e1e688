//go:build !unix

package door

import (
	"fmt"
	"os"
)

// private looks for a folder only: its access list is the home folder's.
func private(dir string, _ bool) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("door %s: %w", dir, err)
	case !info.IsDir():
		return fmt.Errorf("door %s: not a folder", dir)
	}
	return nil
}
