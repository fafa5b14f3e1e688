package main

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/internal/instance"
)

// sweepDead ends what servers that were killed, and whose guard was too, left
// behind. It runs beside the server: processes are found by their number, start and
// marker, so those of sessions that were resumed meanwhile are not among them.
func sweepDead(stateFolder string, logger *slog.Logger) {
	all, err := instance.All(stateFolder)
	if err != nil {
		logger.Warn("servers that were killed", "error", err)
	}
	for _, i := range all {
		list := filepath.Join(i.Dir, instance.Processes)
		if _, err := os.Lstat(list); errors.Is(err, fs.ErrNotExist) || i.Lock() != nil {
			continue // it ended in order, or lives, or another server cleans up after it
		}
		if err := sweepOne(i, list, logger); err != nil {
			logger.Error("processes of a server that was killed may be left", "server", i.ID, "error", err)
		}
		i.Close()
	}
}

// sweepOne removes the list once nothing in it lives.
func sweepOne(i *instance.Instance, list string, logger *slog.Logger) error {
	entries, err := cli.ReadRegistry(list)
	if err != nil {
		return err
	}
	ended, err := cli.Sweep(entries)
	if ended > 0 {
		logger.Warn("ended processes of a server that was killed", "server", i.ID, "processes", ended)
	}
	if err != nil {
		return err
	}
	return os.Remove(list)
}
