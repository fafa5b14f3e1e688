package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// projectFolder is where a repository keeps its policies.
const projectFolder = ".gatehouse"

// Bounds of the policies of one project.
const (
	maxProjectFiles   = 32
	maxProjectBytes   = 256 << 10
	maxProjectEntries = 1024 // of its folder, whatever they are
)

// findProject reads the policies of the nearest folder, from cwd upwards, that
// has some. Only folders within a root are looked at. No sources and no error:
// there are none.
func findProject(cwd string, roots []string) (folder string, all []source, err error) {
	if !filepath.IsAbs(cwd) {
		return "", nil, nil
	}
	for at := filepath.Clean(cwd); withinRoot(at, roots); at = filepath.Dir(at) {
		if all, err = readProject(at); err != nil || len(all) > 0 {
			return at, all, err
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return "", nil, nil
}

// withinRoot tells by path segment.
func withinRoot(path string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// readProject reads .gatehouse/*.rego of one folder. What is a link, no regular
// file or too much is an error: leaving it out would loosen something.
func readProject(folder string) ([]source, error) {
	path := filepath.Join(folder, projectFolder)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s: no folder; links are not followed", path)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if opened, err := root.Stat("."); err != nil || !os.SameFile(info, opened) {
		return nil, fmt.Errorf("%s: changed while it was opened", path)
	}
	return readProjectFiles(root, path)
}

func readProjectFiles(root *os.Root, path string) ([]source, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxProjectEntries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(entries) > maxProjectEntries {
		return nil, fmt.Errorf("%s: more than %d entries", path, maxProjectEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var all []source
	size := 0
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".rego" || e.IsDir() {
			continue
		}
		name := filepath.Join(path, e.Name())
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s: no regular file; links are not followed", name)
		}
		text, err := regular.ReadIn(root, e.Name(), int64(maxProjectBytes-size))
		if err != nil {
			return nil, fmt.Errorf("%s: %w (a project's policies may have %d bytes together)", name, err, maxProjectBytes)
		}
		if size += len(text); len(all) == maxProjectFiles {
			return nil, fmt.Errorf("%s: more than %d .rego files", path, maxProjectFiles)
		}
		all = append(all, source{name, string(text)})
	}
	return all, nil
}
