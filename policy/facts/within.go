package facts

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Within reports whether path is root or below it, by path segment. A relative
// or empty one is not within anything.
func Within(root, path string) bool {
	if root == "" || path == "" {
		return false
	}
	return within(filepath.Clean(root), filepath.Clean(path))
}

// within is [Within] for cleaned paths.
func within(root, path string) bool {
	if !filepath.IsAbs(root) || !filepath.IsAbs(path) {
		return false
	}
	if runtime.GOOS == "windows" { // letters of either case name the same folder
		rel, err := filepath.Rel(root, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	if !strings.HasPrefix(path, root) {
		return false
	}
	return len(path) == len(root) || path[len(root)] == filepath.Separator || root[len(root)-1] == filepath.Separator
}

// climbs reports a ".." segment.
func climbs(path string) bool {
	for i := strings.Index(path, ".."); i >= 0; {
		before := i == 0 || os.IsPathSeparator(path[i-1])
		after := i+2 == len(path) || os.IsPathSeparator(path[i+2])
		if before && after {
			return true
		}
		next := strings.Index(path[i+1:], "..")
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

// segments splits a path; "." and empty segments go, ".." stays.
func segments(path string) []string { return appendSegments(nil, path) }

func appendSegments(to []string, path string) []string {
	for start := 0; start <= len(path); {
		end := start
		for end < len(path) && !os.IsPathSeparator(path[end]) {
			end++
		}
		if s := path[start:end]; s != "" && s != "." {
			to = append(to, s)
		}
		start = end + 1
	}
	return to
}
