package journal

import (
	"os"
	"runtime"
)

// syncFolder makes new names in a folder outlive a power failure.
func syncFolder(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil // a folder cannot be synced there
	}
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
