package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Where the CLI keeps what is its owner's, and what is the machine's.

// ManagedFolders are where an administrator's settings of the CLI lie on this
// system: managed-settings.json, and further files in managed-settings.d. Those
// of a server or of device management lie elsewhere.
func ManagedFolders() []string { return slices.Clone(managedSettings[runtime.GOOS]) }

// UserFolder is where the owner's settings, commands and skills lie, by an
// environment of "name=value" lines: $CLAUDE_CONFIG_DIR, else .claude in the
// home folder. The error is fs.ErrNotExist without a home; a relative path is an
// error too, because the CLI would take it from its own folder.
func UserFolder(environ []string) (string, error) {
	own, err := userPlaces(environ)
	return own.folder, err
}

// ownPlaces are the places of the owner's configuration of the CLI.
type ownPlaces struct {
	folder string // of settings, commands and skills
	global string // the file that holds a history of every folder
}

// settings is the owner's settings file, "" without a home.
func (o ownPlaces) settings() string {
	if o.folder == "" {
		return ""
	}
	return filepath.Join(o.folder, "settings.json")
}

func userPlaces(environ []string) (ownPlaces, error) {
	if dir := variableIn(environ, "CLAUDE_CONFIG_DIR", foldsNames); dir != "" {
		if !filepath.IsAbs(dir) {
			return ownPlaces{}, errors.New("CLAUDE_CONFIG_DIR is not an absolute path")
		}
		return ownPlaces{dir, filepath.Join(dir, ".claude.json")}, nil
	}
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home := variableIn(environ, name, foldsNames)
	switch {
	case home == "":
		return ownPlaces{}, fs.ErrNotExist
	case !filepath.IsAbs(home):
		return ownPlaces{}, fmt.Errorf("%s is not an absolute path", name)
	}
	return ownPlaces{filepath.Join(home, ".claude"), filepath.Join(home, ".claude.json")}, nil
}

// variableIn looks into an environment; the last one counts. fold takes the name
// in any case, as Windows does.
func variableIn(environ []string, name string, fold bool) (value string) {
	for _, kv := range environ {
		n, v, _ := strings.Cut(kv, "=")
		if n == name || fold && strings.EqualFold(n, name) {
			value = v
		}
	}
	return value
}

// foldsNames says whether this system takes names of variables in any case.
const foldsNames = runtime.GOOS == "windows"

// variable looks into the owner's environment.
func (e *Engine) variable(name string) string { return variableIn(e.o.Environ, name, foldsNames) }
