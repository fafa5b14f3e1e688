package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// The canaries have a home of their own, so a key that refuses every start in
// the owner's is looked for by reading. The rest of those settings is not tried.

// maxSettingsBytes bounds a settings file of the CLI that is read.
const maxSettingsBytes = 1 << 20

// ownerSettings reads the owner's and the machine's settings of the CLI.
func (k *check) ownerSettings() gateResult {
	file, off, err := hooksOff(managedFiles(engine.ManagedFolders()), k.env)
	switch {
	case errors.Is(err, regular.ErrNotRegular): // the CLI may wait for it
		return verdict(checkSettings, err.Error()+"; put a file there, or remove it")
	case err != nil:
		return gateResult{Check: checkSettings, Status: gateSkipped, Detail: checkTitles[checkSettings] + ": not read: " + err.Error()}
	case off:
		k.hooksOff = file
		return verdict(checkSettings, file+": disableAllHooks is true, so no tool output could be redacted and every start is refused; remove it there")
	}
	return verdict(checkSettings, "")
}

// hooksOff reports whether disableAllHooks is in force, and the file that says
// so: an administrator's word beats the owner's, a later file an earlier one.
func hooksOff(managed []string, env environment) (file string, off bool, err error) {
	own, err := ownSettingsFile(env)
	for _, files := range [][]string{managed, {own}} {
		said := false
		for _, name := range files {
			if name == "" {
				continue
			}
			value, readErr := disableAllHooks(name)
			if readErr != nil {
				return "", false, readErr
			}
			if value != nil {
				file, off, said = name, *value, true
			}
		}
		if said {
			return file, off, nil
		}
	}
	return "", false, err
}

// disableAllHooks is nil where the file does not say, or is not there. No error
// holds what stands in the file.
func disableAllHooks(path string) (*bool, error) {
	text, err := regular.Read(path, maxSettingsBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var settings struct {
		DisableAllHooks *bool `json:"disableAllHooks"`
	}
	switch err := json.Unmarshal(text, &settings).(type) {
	case nil:
		return settings.DisableAllHooks, nil
	case *json.SyntaxError:
		return nil, fmt.Errorf("%s: not valid JSON at byte %d", path, err.Offset)
	default:
		return nil, fmt.Errorf("%s: not an object, or disableAllHooks is no boolean", path)
	}
}

// managedFiles are an administrator's files, in the order the CLI lays them
// over each other.
func managedFiles(folders []string) []string {
	var files []string
	for _, folder := range folders {
		more, _ := filepath.Glob(filepath.Join(folder, "managed-settings.d", "*.json")) // the pattern is well formed
		slices.Sort(more)
		files = append(append(files, filepath.Join(folder, "managed-settings.json")), more...)
	}
	return files
}

// ownSettingsFile is empty when there is no home.
func ownSettingsFile(env environment) (string, error) {
	folder, err := engine.UserFolder(env)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	}
	return filepath.Join(folder, "settings.json"), nil
}
