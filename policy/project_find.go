package policy

import (
	"crypto/sha256"
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

// Bounds of the policies of one project, of all its folders together.
const (
	maxProjectFiles   = 32
	maxProjectBytes   = 256 << 10
	maxProjectEntries = 1024 // whatever they are
)

// projectPart is the policies of one folder.
type projectPart struct {
	folder  string
	sources []source
}

// findProject reads the policies of every folder from cwd upwards that has some,
// the outermost first: a folder within cannot take the place of one above. Only
// folders within a root are looked at. No parts and no error: there are none.
func findProject(cwd string, roots []string) ([]projectPart, error) {
	if !filepath.IsAbs(cwd) {
		return nil, nil
	}
	var all []projectPart
	left := projectRoom{files: maxProjectFiles, bytes: maxProjectBytes, entries: maxProjectEntries}
	for at := filepath.Clean(cwd); withinRoot(at, roots); at = filepath.Dir(at) {
		sources, err := readProject(at, &left)
		if err != nil {
			return nil, err
		}
		if len(sources) > 0 {
			all = append(all, projectPart{at, sources})
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	slices.Reverse(all)
	return all, nil
}

// projectRoom is what the folders that are still to be read may hold together.
type projectRoom struct{ files, bytes, entries int }

// projectDigest is the digest of all folders' files together.
func projectDigest(parts []projectPart) string {
	h := sha256.New()
	var sum string
	for _, p := range parts {
		sum = layerDigest(map[string]any{}, p.sources)
		h.Write([]byte(sum))
	}
	if len(parts) == 1 {
		return sum
	}
	return shortSum(h)
}

// outermost is the widest root that holds cwd, empty where none does.
func outermost(cwd string, roots []string) (root string) {
	for _, r := range roots {
		if withinRoot(cwd, []string{r}) && (root == "" || len(r) < len(root)) {
			root = r
		}
	}
	return root
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
func readProject(folder string, left *projectRoom) ([]source, error) {
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
	return readProjectFiles(root, path, left)
}

func readProjectFiles(root *os.Root, path string, left *projectRoom) ([]source, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(left.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if left.entries -= len(entries); left.entries < 0 {
		return nil, fmt.Errorf("%s: more than %d entries, with those of the folders within", path, maxProjectEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var all []source
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".rego" || e.IsDir() {
			continue
		}
		name := filepath.Join(path, e.Name())
		if !e.Type().IsRegular() {
			return nil, fmt.Errorf("%s: no regular file; links are not followed", name)
		}
		text, err := regular.ReadIn(root, e.Name(), int64(left.bytes))
		if err != nil {
			return nil, fmt.Errorf("%s: %w (a project's policies may have %d bytes together)", name, err, maxProjectBytes)
		}
		left.bytes -= len(text)
		if left.files--; left.files < 0 {
			return nil, fmt.Errorf("%s: more than %d .rego files, with those of the folders within", path, maxProjectFiles)
		}
		all = append(all, source{name, string(text)})
	}
	return all, nil
}
