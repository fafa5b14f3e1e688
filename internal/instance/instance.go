// Package instance gives each server of a user a folder of its own, locked for
// as long as the server lives.
//
// Two MCP clients start two servers; both keep an audit log and a list of their
// processes, and neither may write to the other's. [Open] makes such a folder,
// [Dead] finds those whose server ended without [Instance.Close], for whoever
// cleans up after it.
package instance

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

// Instance is one server's folder.
type Instance struct {
	ID     string // START-RANDOM: the start in UTC, so that names sort by age
	Dir    string
	unlock func()
}

// Names in such a folder.
const (
	lockName  = "lock"
	Processes = "processes.jsonl" // the list of the server's processes, see engine/cli
)

var idForm = regexp.MustCompile(`^\d{8}T\d{6}Z-[0-9a-f]{8}$`)

// servers is the folder of all instances below the state folder.
func servers(state string) string { return filepath.Join(state, "servers") }

// Open makes a folder below state/servers and locks it.
func Open(state string) (*Instance, error) {
	if err := private.Folder(state); err != nil {
		return nil, fmt.Errorf("server's folder: %w", err)
	}
	if err := private.Folder(servers(state)); err != nil {
		return nil, fmt.Errorf("server's folder: %w", err)
	}
	for range maxTries {
		i, err := create(state)
		// Who looks for dead servers may have locked the folder before us, and
		// removed it again: it was empty.
		if err == nil || !errors.Is(err, filelock.ErrHeld) && !errors.Is(err, fs.ErrNotExist) {
			return i, err
		}
	}
	return nil, fmt.Errorf("server's folder below %s: taken away %d times", servers(state), maxTries)
}

// maxTries bounds how many folders are made for one server.
const maxTries = 100

func create(state string) (*Instance, error) {
	var random [4]byte
	rand.Read(random[:]) // never fails
	i := &Instance{ID: time.Now().UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(random[:])}
	i.Dir = filepath.Join(servers(state), i.ID)
	if err := os.Mkdir(i.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("server's folder: %w", err)
	}
	if err := i.Lock(); err != nil {
		return nil, err
	}
	return i, nil
}

// Lock takes the folder of a server that is gone, until Close. The error is
// [filelock.ErrHeld] while the server lives, or somebody cleans up after it.
func (i *Instance) Lock() error {
	unlock, err := filelock.Take(filepath.Join(i.Dir, lockName), neverStale)
	if err != nil {
		return fmt.Errorf("server's folder %s: %w", i.Dir, err)
	}
	i.unlock = unlock
	return nil
}

// neverStale is for locks that are held for a server's life, where locks are files.
const neverStale = 10 * 365 * 24 * time.Hour

// Close unlocks the folder; further calls do nothing. What is in it stays; an
// empty one is removed.
func (i *Instance) Close() {
	if i.unlock == nil {
		return
	}
	i.unlock()
	i.unlock = nil
	os.Remove(i.Dir) // fails unless it is empty, as it should
}

// Running reports whether the server of a folder that [All] returned lives.
func (i *Instance) Running() bool {
	return i.unlock != nil || filelock.Held(filepath.Join(i.Dir, lockName))
}

// All lists the folders of all servers, dead ones included, oldest first.
func All(state string) ([]*Instance, error) {
	entries, err := os.ReadDir(servers(state))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("servers' folders: %w", err)
	}
	var all []*Instance
	for _, e := range entries {
		if e.IsDir() && idForm.MatchString(e.Name()) {
			all = append(all, &Instance{ID: e.Name(), Dir: filepath.Join(servers(state), e.Name())})
		}
	}
	return all, nil
}

// Dead returns those whose server is gone, each locked until its Close, so that
// two servers that start at once do not clean up the same one.
func Dead(state string) ([]*Instance, error) {
	all, err := All(state)
	var dead []*Instance
	for _, i := range all {
		if i.Lock() == nil {
			dead = append(dead, i)
		}
	}
	return dead, err
}
