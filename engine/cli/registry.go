package cli

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

// Bounds of a registry's file: it is rewritten when it has more rows than twice
// the living and spareRows; a longer one than maxRegistry bytes is not read.
const (
	spareRows   = 256
	maxRegistry = 16 << 20
)

// RunEnv names the variable that holds a value of its own for each start of a
// process, so that a sweep after a crash ends what that start left behind and not
// the same session where it lives again.
const RunEnv = "GATEHOUSE_RUN"

func newRun() string { return rand.Text() }

// Registry keeps on disk which processes of sessions live, so that those a crash
// left behind can be found by id, start time and marker and ended: [Sweep]. It is
// safe for concurrent use; a nil Registry keeps nothing.
//
// The file holds a line of JSON for each process that started, an [Entry], and one
// more when it is gone with all it started: the same with "ended". A line is one
// write; it is on disk, not synced, when the process gets its first input.
type Registry struct {
	path string

	mu     sync.Mutex
	file   *os.File // nil: closed, or to be opened again
	size   int64    // bytes of whole rows
	rows   int
	stale  bool // the file could not be written and does not tell what is
	closed bool
	living []Entry // oldest first
}

// Entry is one process as the registry knows it.
type Entry struct {
	PID     int    `json:"pid"`
	Start   string `json:"start"` // as the system tells it, so that a reused pid is not mistaken for it
	Boot    string `json:"boot"`  // id of the machine's run; pids of another mean nothing
	Group   int    `json:"pgid"`
	Session string `json:"session"`       // the marker in its environment, see MarkerEnv
	Run     string `json:"run,omitempty"` // the other one, see RunEnv
}

// row is a line of the file.
type row struct {
	Entry
	Ended bool `json:"ended,omitempty"`
}

// OpenRegistry begins the file at path (0600), which must not exist.
func OpenRegistry(path string) (*Registry, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("process registry: %w", err)
	}
	return &Registry{path: path, file: f}, nil
}

// Close ends the registry; the file is removed when no process is left in it.
func (r *Registry) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var err error
	if len(r.living) > 0 && r.stale {
		err = r.compact()
	}
	if r.file != nil {
		err = errors.Join(err, r.file.Close())
	}
	if len(r.living) == 0 {
		err = errors.Join(err, os.Remove(r.path))
	}
	if err != nil {
		return fmt.Errorf("process registry: close: %w", err)
	}
	return nil
}

// add notes a process that started.
func (r *Registry) add(e Entry) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("process registry: closed")
	}
	if r.stale || r.rows > 2*len(r.living)+spareRows {
		if err := r.compact(); err != nil && (r.stale || r.size > maxRegistry/2) {
			return fmt.Errorf("process registry: %w", err)
		}
	}
	if err := r.append(row{Entry: e}); err != nil {
		return fmt.Errorf("process registry: %w", err)
	}
	r.living = append(r.living, e)
	return nil
}

// remove notes that a process and all it started is gone. A row that cannot be
// written is made up for by the next: at worst a later sweep looks in vain.
func (r *Registry) remove(e Entry) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.living {
		if r.living[i] == e {
			r.living = append(r.living[:i], r.living[i+1:]...)
			if !r.closed && r.append(row{Entry: e, Ended: true}) != nil {
				r.stale = true
			}
			return
		}
	}
}

// append writes one row, or nothing.
func (r *Registry) append(line row) error {
	if r.file == nil {
		f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return err
		}
		r.file = f
	}
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	raw = append(raw, '\n')
	if _, err := r.file.Write(raw); err != nil {
		if r.file.Truncate(r.size) != nil {
			r.stale = true // half a row stands there
		}
		return err
	}
	r.size += int64(len(raw))
	r.rows++
	return nil
}

// compact writes the living to a new file and puts it in the old one's place.
func (r *Registry) compact() error {
	var all []byte
	for _, e := range r.living {
		raw, err := json.Marshal(row{Entry: e})
		if err != nil {
			return err
		}
		all = append(append(all, raw...), '\n')
	}
	next := r.path + ".new"
	if err := os.WriteFile(next, all, 0o600); err != nil {
		os.Remove(next)
		return err
	}
	if r.file != nil {
		r.file.Close() // some systems rename only over a closed file
		r.file = nil
	}
	if err := os.Rename(next, r.path); err != nil {
		os.Remove(next)
		return err
	}
	r.size, r.rows, r.stale = int64(len(all)), len(r.living), false
	return nil
}
