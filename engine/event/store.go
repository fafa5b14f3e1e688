package event

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Store keeps sessions beyond the process that runs them. It is the port between
// an engine and whatever holds its histories; the package storetest holds the
// tests every store has to pass. A Store is safe for concurrent use.
type Store interface {
	// Create begins the history of a new session and is its writer until Close.
	// The record is durable when it returns. ErrLocked: somebody writes it;
	// ErrStored: it is there already.
	Create(r SessionRecord) (History, error)
	// Open goes on with a history that is kept, as its writer. ErrLocked, ErrNotStored.
	Open(id string) (History, error)
	// Session returns what is known of a session; ErrNotStored.
	Session(id string) (SessionRecord, error)
	// Sessions lists what is kept, newest first. What cannot be read is left out,
	// and the error tells of it beside the rest.
	Sessions() ([]SessionRecord, error)
	// Read returns events of a session, as History.Read does, also while somebody
	// writes them. ErrNotStored.
	Read(id string, w Window) (Page, error)
	// Close ends what the store does by itself. Histories are closed by their writers.
	Close() error
}

// History is the one open history of a session, for its writer. It is safe for
// concurrent use.
type History interface {
	// Append writes an event, whose ID is Next() or more: ids left out are lost,
	// and readers are told. When it returns nil the event outlives this process;
	// after a power failure the last second may be missing, see Sync. An error
	// (a full disk) means that nothing of it was written; it may be tried again,
	// unless it is ErrUnfit.
	Append(e Event) error
	// Put replaces the session's record; as durable as Append.
	Put(r SessionRecord) error
	// Sync returns when everything written so far outlives a power failure.
	Sync(ctx context.Context) error
	// Read returns events, also those just appended, and also after Close. A page
	// has no hole: it ends before one, and the page that begins in a hole tells it by
	// ResetTo.
	Read(w Window) (Page, error)
	// Bounds returns the lowest id that is kept and the next one.
	Bounds() (first, next int64)
	// Close gives the session back, durable: another writer may open it. Append and
	// Put fail from then on; a second Close does nothing.
	Close() error
}

// Window asks for a part of a history.
type Window struct {
	From     *int64 // first id wanted; nil: the oldest kept
	Max      int    // events at most; <= 0: as many as MaxBytes allows
	MaxBytes int64  // of their data, one event at least; <= 0: 1 MiB
}

// SessionRecord is what a store knows of a session besides its events.
type SessionRecord struct {
	ID       string    `json:"id"`
	Parent   string    `json:"parent,omitempty"` // the session it was forked from
	Server   string    `json:"server,omitempty"` // id of the server that wrote the record
	State    string    `json:"state"`            // wire name, when the record was written
	Final    bool      `json:"final,omitempty"`  // cancelled for good
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Cwd      string    `json:"cwd"`
	Client   string    `json:"client,omitempty"` // that started it
	Title    string    `json:"title,omitempty"`  // beginning of its first prompt, redacted
	Turns    int       `json:"turns"`
	CostUSD  float64   `json:"costUsd"`
	LastTool string    `json:"lastTool,omitempty"`

	// Engine is what the engine needs to show the session again, redacted; other
	// readers leave it alone.
	Engine json.RawMessage `json:"engine,omitempty"`

	Next int64 `json:"-"` // id the next event will have
	Live bool  `json:"-"` // a writer has it open, in this process or another
}

// Errors of stores.
var (
	ErrLocked    = errors.New("session is open in another server")
	ErrStored    = errors.New("session is kept already")
	ErrNotStored = errors.New("session is not kept")
	ErrUnfit     = errors.New("cannot be kept") // an event or a record, whatever is tried
)
