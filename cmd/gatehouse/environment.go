package main

import (
	"os/user"
	"path/filepath"
	"runtime"
	"strings"
)

// environment is the process environment as "name=value" lines.
type environment []string

// get returns the value of name, the last one when it is set twice.
func (e environment) get(name string) string {
	value := ""
	for _, line := range e {
		n, v, ok := strings.Cut(line, "=")
		if ok && (n == name || runtime.GOOS == "windows" && strings.EqualFold(n, name)) {
			value = v
		}
	}
	return value
}

// home returns the home folder, or "" when there is none.
func (e environment) home() string {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	if home := e.get(name); home != "" {
		return home
	}
	if u, err := user.Current(); err == nil {
		return u.HomeDir
	}
	return ""
}

// expand replaces a leading ~ by the home folder.
func (e environment) expand(path string) string {
	if path == "~" {
		return e.home()
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(e.home(), rest)
	}
	return path
}
