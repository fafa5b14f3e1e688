package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

// checkedState is what serve and run would keep on disk.
type checkedState struct {
	Folder       string        `json:"folder,omitempty"` // the state folder; empty: there is none
	Store        checkedFolder `json:"store"`
	Audit        checkedFolder `json:"audit"`
	MaxProcesses int           `json:"maxProcesses"` // of Claude Code at once, under the limit on open files
	Guard        string        `json:"guard"`        // what ends the processes of a server that is killed
}

// checkedFolder is a folder as serve would use it; nothing in it was changed.
type checkedFolder struct {
	Off       bool   `json:"off,omitempty"`
	Dir       string `json:"dir,omitempty"`
	Missing   bool   `json:"missing,omitempty"` // it will be made
	FreeBytes int64  `json:"freeBytes,omitempty"`
	Error     string `json:"error,omitempty"`
}

// state looks at the folders that serve and run need; an error is one they would
// refuse to start with.
func (k *check) state() error {
	s := k.settings
	if err := s.homeless(); err != nil {
		return err
	}
	r := &checkedState{
		Folder: s.stateFolder, MaxProcesses: cli.MaxProcesses(), Guard: guardWord(),
		Store: lookAt(s.store.off, s.store.dir), Audit: lookAt(s.audit.off, s.auditRoot()),
	}
	k.report.State = r
	k.show(k.stateText)
	for _, f := range []checkedFolder{r.Store, r.Audit} {
		if f.Error != "" {
			return errors.New(f.Error)
		}
	}
	return nil
}

func lookAt(off bool, dir string) checkedFolder {
	if off {
		return checkedFolder{Off: true}
	}
	f := checkedFolder{Dir: dir}
	there := dir // or the first folder above it that is
	for {
		_, err := os.Lstat(there)
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(there) == there {
			break
		}
		there, f.Missing = filepath.Dir(there), true
	}
	if !f.Missing {
		if err := private.Check(dir); err != nil {
			f.Error = err.Error()
		}
	}
	if err := writable(there); err != nil && f.Error == "" {
		f.Error = fmt.Sprintf("folder %s: %v", there, err)
	}
	f.FreeBytes = freeBytes(there)
	return f
}

// guardWord says what ends the processes of a server that is killed.
func guardWord() string {
	switch runtime.GOOS {
	case "linux":
		return "a guard process, which adopts what loses its parent"
	case "windows":
		return "a Job Object"
	case "darwin", "dragonfly", "freebsd", "netbsd", "openbsd":
		return "a guard process, which finds them by group and marker"
	}
	return "the next start"
}

// lowSpace is the free space below which check warns.
const lowSpace = 256 << 20

func (k *check) stateText() {
	r := k.report.State
	k.title("What is kept")
	k.folderRow("sessions", "they live and end in memory ([store] dir is \"off\")", r.Store)
	k.folderRow("audit", "nothing is recorded ([audit] mode is \"off\")", r.Audit)
	if r.MaxProcesses > 0 {
		k.row("limit", fmt.Sprintf("%d processes of Claude Code at once, by the limit on open files", r.MaxProcesses))
	}
	k.row("guard", "when a server is killed, its processes are ended by "+r.Guard)
}

func (k *check) folderRow(name, off string, f checkedFolder) {
	text := f.Dir
	switch {
	case f.Off:
		text = off
	case f.Error != "":
		k.row("FAILED", name+": "+f.Error)
		return
	case f.Missing:
		text += " (will be made)"
	}
	if f.FreeBytes > 0 {
		text += fmt.Sprintf(", %d MiB free", f.FreeBytes>>20)
	}
	k.row(name, text)
	if f.FreeBytes > 0 && f.FreeBytes < lowSpace {
		k.row("warning", "calls are denied while nothing can be written there")
	}
}
