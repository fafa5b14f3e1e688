package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A bundle holds data as OPA's bundles do: in files called data.json or
// data.yaml. What the configuration names in policy.data is put in with --data.

// bundleTaken are the names of files that go into a bundle, besides .rego files.
var bundleTaken = []string{"data.json", "data.yaml", "data.yml", ".manifest", ".signatures.json"}

// bundleData are the ends of files that hold data elsewhere.
var bundleData = []string{".toml", ".json", ".yaml", ".yml"}

// bundleFolder returns a folder to pack: dir itself, or a copy of it with the
// data files as cfg/data.json. done removes the copy.
func bundleFolder(dir string, data []string) (folder string, done func(), err error) {
	files, err := bundleFiles(dir, data)
	if err != nil || len(data) == 0 {
		return dir, func() {}, err
	}
	cfg, err := readData(data)
	if err != nil {
		return "", nil, err
	}
	encoded, err := json.Marshal(cfg)
	if err != nil {
		return "", nil, err
	}
	top, err := os.MkdirTemp("", "gatehouse-bundle-")
	if err != nil {
		return "", nil, err
	}
	done = func() { os.RemoveAll(top) }
	if err = copyFiles(dir, top, files); err == nil {
		err = addData(top, encoded)
	}
	if err != nil {
		done()
		return "", nil, err
	}
	return top, done, nil
}

// bundleFiles lists what is packed of dir, relative to it. Data that would be
// left out without a word is an error.
func bundleFiles(dir string, data []string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		name := d.Name()
		switch {
		case err != nil:
			return err
		case path != dir && d.IsDir() && strings.HasPrefix(name, "."):
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		case slices.Contains(bundleTaken, name) || filepath.Ext(name) == ".rego":
			rel, err := filepath.Rel(dir, path)
			files = append(files, rel)
			return err
		case slices.Contains(bundleData, filepath.Ext(name)) && !strings.HasPrefix(name, ".") && !containsPath(data, path):
			return fmt.Errorf("%s would be left out: a bundle holds data of the name data.json only; repeat with --data %s, which puts it in as data.cfg, or move it out of %s",
				path, shellWord(path), dir)
		}
		return nil
	})
	if len(files) > maxBundleFiles {
		err = fmt.Errorf("%s holds over %d files", dir, maxBundleFiles)
	}
	return files, err
}

// maxBundleFiles bounds what is copied; a bundle may hold no more.
const maxBundleFiles = 2000

func copyFiles(from, to string, files []string) error {
	for _, name := range files {
		text, err := readBounded(filepath.Join(from, name))
		if err != nil {
			return err
		}
		target := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(target, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// addData writes cfg/data.json, unless the folder has data of its own there.
func addData(top string, encoded []byte) error {
	for _, place := range []string{"", "cfg"} {
		for _, name := range bundleTaken[:3] {
			if _, err := os.Lstat(filepath.Join(top, place, name)); err == nil {
				return fmt.Errorf("%s: there is data in the folder already, so --data cannot be put in; keep one of the two", filepath.Join(place, name))
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(top, "cfg"), 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(top, "cfg", "data.json"), encoded, 0o600)
}

// inFolder names the folder that was given, not the copy of it.
func inFolder(err error, copied, dir string) error {
	if err == nil || copied == dir {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), copied, strings.TrimSuffix(dir, "/")))
}
