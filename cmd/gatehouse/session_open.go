package main

import (
	"errors"
	"io/fs"
	"os"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
)

// openSessions opens the journal for reading: nothing is made, and nothing old is
// removed.
func openSessions(s storeSettings) (event.Store, error) {
	if _, err := os.Lstat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return noSessions{}, nil
	}
	return journal.Open(journal.Options{Folder: s.dir, MaxBytes: -1, MaxAge: -1, SessionBytes: -1})
}

// noSessions is the store before the first session.
type noSessions struct{ event.Store }

func (noSessions) Sessions() ([]event.SessionRecord, error) { return nil, nil }
func (noSessions) Session(string) (event.SessionRecord, error) {
	return event.SessionRecord{}, event.ErrNotStored
}
func (noSessions) Close() error { return nil }
