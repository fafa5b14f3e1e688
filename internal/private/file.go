package private

import (
	"fmt"
	"os"
)

// File refuses what is no regular file, another user's, or open to others. info
// is of the name itself, as [os.Lstat] returns it.
func File(path string, info os.FileInfo) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("file %s: a link or a folder stands there; remove it", path)
	}
	return ownedFile(path, info)
}

// CheckInfo is [Check] for a folder that was looked at, by [os.Lstat].
func CheckInfo(path string, info os.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("folder %s: a link or a file stands there; remove it", path)
	}
	return owned(path, info, false)
}
