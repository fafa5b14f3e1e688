package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// organisationFile is below the user's own file; what its [lock] names wins. No
// variable can move it: the environment belongs to the user it restricts.
const organisationFile = "/etc/gatehouse/gatehouse.toml"

// loaded is the configuration before it is checked as a whole.
type loaded struct {
	fileConfig
	org    string   // the organisation's file, present or not
	at     places   // where each key was set; absent: the default
	files  []string // files read, absolute
	looked []string // files looked for, present or not, absolute
	locked []string // keys the organisation locked

	sums []string // of each file read and each flag that was put over them, see digest

	orgPaths, orgData []string // policies and data of the organisation, also in Policy
	detectorsAt       []string // file:line of each of Redaction.Detectors
	pluginsAt         []string // file:line of each of Plugin
	pluginFolders     []string // of the files those stand in
	serversAt         []string // file:line of each of MCPServer

	variables variables // of the environment, see overlay
	mpmFolder string    // of sessions of the MPM tools, where a flag or a variable gives one
}

// loadConfig reads the organisation's file, then the one named by --config,
// $GATEHOUSE_CONFIG or the XDG folder. A file in the current folder is never
// found by itself: a repository must not configure its own guard.
func loadConfig(org, named string, env environment) (*loaded, error) {
	l := &loaded{fileConfig: defaultConfig(), org: org, at: places{}}
	if err := l.readFile(org, false); err != nil {
		return nil, err
	}
	l.locked, l.Lock.Keys = l.Lock.Keys, nil
	for _, key := range l.locked {
		if want, ok := knownKeys[key]; !ok || want == tomlTable {
			return nil, fmt.Errorf("%s: lock.keys names %q, which is no key; the nearest known key is %q", l.at["lock.keys"], key, nearestKey(key))
		}
	}
	// Cloned, because decoding the next file reuses the arrays.
	orgPaths, orgData := slices.Clone(l.Policy.Paths), slices.Clone(l.Policy.Data)
	l.locked = slices.Clone(l.locked)
	l.lockBundle()
	delete(l.at, "lock.keys")
	orgRedaction, orgPlugins, orgServers := l.keepRedaction(), l.Plugin, l.MCPServer
	l.Plugin, l.MCPServer = nil, nil // so that the next file is decoded beside them, not over them
	l.orgPaths, l.orgData = orgPaths, orgData
	if err := l.readUserFile(named, env); err != nil {
		return nil, err
	}
	// Policies of the organisation stay in force whatever the user's file lists.
	l.Policy.Paths = union(orgPaths, l.Policy.Paths)
	l.Policy.Data = union(orgData, l.Policy.Data)
	l.addRedaction(orgRedaction)
	l.Plugin = slices.Concat(orgPlugins, l.Plugin)
	l.MCPServer = slices.Concat(orgServers, l.MCPServer)
	return l, nil
}

func (l *loaded) readUserFile(named string, env environment) error {
	path, required := userConfigFile(named, env)
	if path == "" {
		return nil
	}
	return l.readFile(path, required)
}

// userConfigFile is the user's file, empty where there is no place for one.
// required: somebody named it, so it has to be there.
func userConfigFile(named string, env environment) (path string, required bool) {
	if named == "" {
		named = env.get("GATEHOUSE_CONFIG")
	}
	if named != "" {
		return named, true
	}
	folder := env.get("XDG_CONFIG_HOME")
	if folder == "" && env.home() != "" {
		folder = filepath.Join(env.home(), ".config")
	}
	if !filepath.IsAbs(folder) { // the XDG rules: a relative one is ignored
		return "", false
	}
	return filepath.Join(folder, "gatehouse", "gatehouse.toml"), false
}

// readFile decodes one file over what is there. A file that is not required
// may be absent; any other trouble with it is an error.
func (l *loaded) readFile(name string, required bool) error {
	path, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("config %s: %w", name, err)
	}
	l.looked = append(l.looked, path)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && !required {
		return nil
	}
	if err := checkOwner(path); err != nil {
		return fmt.Errorf("config %w", err)
	}
	text, err := readBounded(path)
	if err != nil {
		return fmt.Errorf("config %s: %w", path, err)
	}
	at := places{}
	if err := l.decode(path, text, at); err != nil {
		return err
	}
	l.sums = append(l.sums, fmt.Sprintf("%q %x", path, sha256.Sum256([]byte(text))))
	return l.accept(path, at)
}

// digest names the configuration as it was read: the SHA-256, in hexadecimal, of
// files and flags in their order.
func (l *loaded) digest() string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(l.sums, "\n"))))
}

// accept takes over the keys of a decoded file unless one of them is locked.
func (l *loaded) accept(path string, at places) error {
	for key, where := range at {
		if err := l.mayOverride(key); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		if key == "lock.keys" && path != l.org {
			return fmt.Errorf("%s: [lock] belongs in the organisation's file, %s", where, l.org)
		}
		l.at[key] = where
	}
	l.placeDetectors(at)
	folder := filepath.Dir(path)
	l.placePlugins(folder, at)
	l.placeServers(folder, at)
	if _, ok := at["policy.paths"]; ok {
		l.Policy.Paths = below(folder, l.Policy.Paths)
	}
	if _, ok := at["policy.data"]; ok {
		l.Policy.Data = below(folder, l.Policy.Data)
	}
	for key, file := range map[string]*string{"policy.bundle.file": &l.Policy.Bundle.File, "policy.bundle.key": &l.Policy.Bundle.Key} {
		if _, ok := at[key]; ok {
			*file = below(folder, []string{*file})[0]
		}
	}
	if _, ok := at["decision_log.folder"]; ok && !l.DecisionLog.standard() {
		l.DecisionLog.Folder = below(folder, []string{l.DecisionLog.Folder})[0]
	}
	if _, ok := at["store.dir"]; ok && !l.Store.standard() {
		l.Store.Dir = below(folder, []string{l.Store.Dir})[0]
	}
	for key, path := range map[string]*string{"audit.dir": &l.Audit.Dir, "audit.key": &l.Audit.Key} {
		if _, ok := at[key]; ok && *path != "" {
			*path = below(folder, []string{*path})[0]
		}
	}
	if _, ok := at["cli.executable"]; ok && strings.ContainsRune(l.CLI.Executable, filepath.Separator) {
		l.CLI.Executable = below(folder, []string{l.CLI.Executable})[0]
	}
	l.files = append(l.files, path)
	return nil
}

// mayOverride refuses a key that the organisation locked.
func (l *loaded) mayOverride(key string) error {
	if slices.Contains(l.locked, key) {
		return fmt.Errorf("key %q is locked by %s; remove it here or ask who keeps that file", key, l.org)
	}
	return nil
}

func readBounded(path string) (string, error) {
	data, err := regular.Read(path, maxConfigBytes)
	return string(data), err
}

// below makes relative paths relative to the folder of their file.
func below(folder string, paths []string) []string {
	out := make([]string, len(paths))
	for i, p := range paths {
		if out[i] = p; !filepath.IsAbs(p) && !strings.HasPrefix(p, "~") {
			out[i] = filepath.Join(folder, p)
		}
	}
	return out
}

func union(first, second []string) []string {
	out := slices.Clone(first)
	for _, s := range second {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
