package engine

import (
	"fmt"
	"os"
	"path/filepath"
)

// currentFolder is the root where none is named: the folder this program was
// started in, unless that would open the home folder, one above it or the whole
// file system to sessions.
func currentFolder() (string, error) {
	folder, err := os.Getwd()
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", fmt.Errorf("engine options: Roots is empty, and the current folder cannot be found: %w", err)
	}
	if wide := tooWide(folder, os.UserHomeDir); wide != "" {
		return "", fmt.Errorf("engine options: Roots is empty, and the current folder %s is %s, too wide to be the default; name the folders sessions may live in", folder, wide)
	}
	return folder, nil
}

// tooWide says what a resolved folder is that must not be a root by default;
// empty for one that may.
func tooWide(folder string, home func() (string, error)) string {
	if filepath.Dir(folder) == folder {
		return "the root of a file system"
	}
	own, err := home()
	if err != nil {
		return "" // no home folder is known, so it is none
	}
	if real, err := filepath.EvalSymlinks(own); err == nil {
		own = real
	}
	switch {
	case own == folder:
		return "the home folder"
	case insideAny(own, []string{folder}):
		return "above the home folder"
	}
	return ""
}
