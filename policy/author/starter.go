package author

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

//go:embed starter/*
var starterFiles embed.FS

// Starter writes the starter policies into folder, which is made if it is not
// there, and returns the files' paths. It writes nothing when one of them exists;
// the error then wraps [fs.ErrExist].
func Starter(folder string) ([]string, error) {
	entries, err := starterFiles.ReadDir("starter")
	if err != nil {
		return nil, fmt.Errorf("starter: %w", err)
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("starter %s: %w; nothing was written", path, fs.ErrExist)
		}
		paths = append(paths, path)
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("starter: %w", err)
	}
	for i, e := range entries {
		text, err := starterFiles.ReadFile("starter/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("starter: %w", err)
		}
		if err := write(paths[i], text); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// write makes a file that was not there a moment ago: what came in between stays.
func write(path string, text []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("starter: %w", err)
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Close())
}
