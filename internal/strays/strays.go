// Package strays ends what servers that were killed left running.
//
// Where a guard outlived its server nothing is left. [SweepDead] is for all else:
// guard and server killed together, no guard, a system without sub-reapers.
package strays

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/internal/instance"
)

// SweepDead ends the processes of sessions whose server is gone, as the lists in
// the servers' folders below state tell, and removes those lists. A list whose
// processes live on is kept for the next start. Call it before the first session:
// with nothing to do it costs two looks at the disk for each folder, else up to
// about two seconds for each server that left something. Problems are logged.
func SweepDead(state string, logger *slog.Logger) {
	if state == "" {
		return
	}
	all, err := instance.All(state)
	if err != nil {
		logger.Warn("processes of earlier servers were not looked for", "error", err)
	}
	for _, i := range all {
		if looksLeft(i.Dir) && i.Lock() == nil { // else its server lives, or somebody else cleans up
			sweep(i, logger)
			i.Close()
		}
	}
}

// looksLeft reports whether there is something to do in a folder: most hold
// nothing but an audit log.
func looksLeft(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, instance.Processes)); err == nil {
		return true
	}
	_, err := os.Lstat(filepath.Join(dir, "audit"))
	return errors.Is(err, fs.ErrNotExist) // empty: closing removes it
}

func sweep(i *instance.Instance, logger *slog.Logger) {
	path := filepath.Join(i.Dir, instance.Processes)
	entries, err := cli.ReadRegistry(path)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil { // what could be read is swept all the same
		logger.Warn("the list of an earlier server's processes is damaged; what it no longer names may still run", "server", i.ID, "error", err)
	}
	ended, err := cli.Sweep(entries)
	if ended > 0 {
		logger.Warn("an earlier server was killed; processes of its sessions were ended", "server", i.ID, "ended", ended, "sessions", sessions(entries))
	}
	if err != nil {
		logger.Error("processes of an earlier server live on; the next start tries again", "server", i.ID, "error", err)
		return
	}
	if err := os.Remove(path); err != nil {
		logger.Warn("the list of an earlier server's processes was not removed", "server", i.ID, "error", err)
	}
}

// namedSessions bounds the sessions that a line of the log names.
const namedSessions = 20

func sessions(entries []cli.Entry) (ids []string) {
	known := make(map[string]bool)
	for _, e := range entries {
		if !known[e.Session] && len(ids) < namedSessions {
			known[e.Session] = true
			ids = append(ids, e.Session)
		}
	}
	return ids
}
