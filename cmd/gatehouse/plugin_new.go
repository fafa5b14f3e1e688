package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

// newPlugin is the object of --json.
type newPlugin struct {
	OK     bool     `json:"ok"`
	Name   string   `json:"name"`
	Folder string   `json:"folder"`
	Files  []string `json:"files"`
	Build  string   `json:"build"` // a shell command, to be run in the folder
	Next   nextStep `json:"next"`
}

// pluginNew writes the files of a new plugin. What it needs is among them, so
// nothing is fetched.
func (c *command) pluginNew(_ context.Context, args []string) int {
	o := c.pluginFlagSet("new", "new NAME [FOLDER]", "Writes a plugin with a test into FOLDER (default: NAME), which must be new or empty.")
	lang := o.flags.String("lang", "go", "`language`: "+strings.Join(pdk.Languages, ", ")+" (as is AssemblyScript)")
	err := c.parsePlugin(o, args)
	if errors.Is(err, flag.ErrHelp) {
		return pluginDone
	}
	if err == nil && (len(o.rest) < 1 || len(o.rest) > 2) {
		err = fmt.Errorf("plugin new takes a name and perhaps a folder, got %s", plural(len(o.rest), "word"))
	}
	if err != nil {
		return c.failUsage(err)
	}
	name := o.rest[0]
	folder := o.rest[len(o.rest)-1]
	files, err := pdk.Scaffold(*lang, name)
	if err == nil {
		err = writeNew(folder, files)
	}
	if err != nil {
		return c.failUsage(fmt.Errorf("plugin new: %w", err))
	}
	out := newPlugin{
		OK: true, Name: name, Folder: folder, Files: slices.Sorted(maps.Keys(files)), Build: pdk.BuildLine(*lang, name),
		Next: nextStep{Command: "cd " + shellWord(folder) + " && " + pdk.BuildLine(*lang, name) + " && gatehouse plugin check " + name + ".wasm"},
	}
	if o.json {
		if err := c.printJSON(out); err != nil {
			return c.fail(pluginWrong, err)
		}
		return pluginDone
	}
	c.say("%s  wrote %s to %s", c.mark(true), plural(len(out.Files), "file"), folder)
	for _, f := range out.Files {
		c.say("  %s", f)
	}
	c.next("%s", out.Next)
	return pluginDone
}

// writeNew writes files, by path with slashes, into a folder that is new or empty.
func writeNew(folder string, files map[string][]byte) error {
	there, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(there) > 0 {
		return fmt.Errorf("folder %s is not empty (%s); name another one", folder, there[0].Name())
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil {
			return err
		}
		_, err = f.Write(files[name])
		if err := errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}
