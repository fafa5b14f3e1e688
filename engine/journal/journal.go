// Package journal keeps the histories of sessions on disk, for every server of a
// user at once: what a session did survives its server, however that ends.
//
// A [Journal] is an [event.Store]:
//
//	j, err := journal.Open(journal.Options{Folder: filepath.Join(state, "journal")})
//	h, err := j.Create(event.SessionRecord{ID: id, State: "running"}) // this server writes it now
//	err = h.Append(e)                                                 // survives kill -9 when it returns
//	err = h.Sync(ctx)                                                 // and now a power failure, too
//	page, err := j.Read(id, event.Window{})                           // any server may, meanwhile
//
// Whoever creates or opens a [event.History] closes it; Close ends only what the
// journal does by itself: syncing what was written, and removing what is
// old.
//
// # Files
//
// A session is a folder named by its id. In it are segments, which are only
// appended to, and the file lock while a server writes:
//
//	00000001-000000000000.jsonl   NUMBER-FIRST: the segment's number, and the first id in it
//	00000002-000000001893.jsonl
//
// Each line is a JSON object whose first member says what it is:
//
//	{"journal":1,"session":"…","segment":2,"first":1893,"record":{…}}   begins a segment
//	{"id":1893,"timestamp":"…","type":"output","redactions":[…],"data":{…}}
//	{"next":1901,"record":{…}}           the session's record, which replaces the one before
//	{"lost":{"first":1901,"next":1904}}  no events with these ids will come
//	{"torn":{"bytes":812}}               a half-written end was cut off here
//
// The record is repeated every 64 KiB or so, so that the newest is always found
// near the end. A line that is none of these (bit rot, an edit) is skipped, and the
// ids that are missing because of it are told as lost. There is no checksum:
// what must not change unseen is in the audit log, which has a chain.
package journal

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
	"github.com/gatehouse-mcp/gatehouse/internal/private"
)

// Options configure a Journal. Only Folder is required.
type Options struct {
	Folder       string        // absolute; made with mode 0700 where it is missing
	MaxBytes     int64         // of all sessions; the longest unwritten go first. 0: 512 MiB, < 0: no limit
	MaxAge       time.Duration // since a session was last written; 0: 30 days, < 0: no limit
	SessionBytes int64         // of one session, whose oldest segments go first; 0: 64 MiB, < 0: no limit
	SegmentBytes int64         // a segment of that size is followed by another; 0: 4 MiB; at least 4 KiB
	SyncEvery    time.Duration // what nobody syncs is synced so long after it was written; 0: 1 s
	Logger       *slog.Logger  // nil: discards
}

// Defaults of Options.
const (
	DefaultMaxBytes     = 512 << 20
	DefaultMaxAge       = 30 * 24 * time.Hour
	DefaultSessionBytes = 64 << 20
	DefaultSegmentBytes = 4 << 20
	DefaultSyncEvery    = time.Second
)

const minSegmentBytes = 4 << 10

// withDefaults fills in what is zero.
func (o Options) withDefaults() (Options, error) {
	if !filepath.IsAbs(o.Folder) {
		return o, fmt.Errorf("journal: folder %q is not absolute", o.Folder)
	}
	bound(&o.MaxBytes, DefaultMaxBytes)
	bound(&o.MaxAge, DefaultMaxAge)
	bound(&o.SessionBytes, DefaultSessionBytes)
	if o.SegmentBytes == 0 {
		o.SegmentBytes = DefaultSegmentBytes
	}
	o.SegmentBytes = min(max(o.SegmentBytes, minSegmentBytes), maxSegment/2)
	if o.SyncEvery <= 0 {
		o.SyncEvery = DefaultSyncEvery
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// bound sets a limit that is zero to its default, and a negative one to the most.
func bound[T ~int64](limit *T, byDefault T) {
	switch {
	case *limit == 0:
		*limit = byDefault
	case *limit < 0:
		*limit = 1<<63 - 1
	}
}

// Journal is a store of sessions in a folder. It is safe for concurrent use, and
// so is the folder for several servers.
type Journal struct {
	o      Options
	root   *os.Root
	seen   summaries
	places places
	syncs  syncer
	tidy   tidier

	mu     sync.Mutex
	open   map[string]*history // those of this journal
	closed bool
}

var _ event.Store = (*Journal)(nil)

// Open makes the folder where need be, and begins to keep it tidy.
func Open(o Options) (*Journal, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if err := private.Folder(o.Folder); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	root, err := os.OpenRoot(o.Folder)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	j := &Journal{o: o, root: root, open: make(map[string]*history)}
	j.syncs.start(root, o.SyncEvery)
	j.tidy.start(j)
	return j, nil
}

// Close syncs what was written and ends the journal's goroutines. Histories that
// are open can be written and closed still; a second Close does nothing.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	j.mu.Unlock()
	j.tidy.close()
	j.syncs.close()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.release()
}

// release closes the root when nobody needs it any more; j.mu is held.
func (j *Journal) release() error {
	if !j.closed || len(j.open) > 0 {
		return nil
	}
	return j.root.Close()
}

// forget is for a history that ends.
func (j *Journal) forget(h *history) {
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.open, h.id)
	_ = j.release() // of a folder: nothing can be lost
}

// Create begins the history of a session, see [event.Store].
func (j *Journal) Create(r event.SessionRecord) (event.History, error) {
	if err := j.makeFolder(r.ID); err != nil {
		return nil, fmt.Errorf("journal: session %q: %w", r.ID, err)
	}
	h, err := j.begin(r.ID, func(h *history) error { return h.create(r) })
	if err != nil {
		_ = j.root.Remove(r.ID) // if nothing is in it
		return nil, fmt.Errorf("journal: session %s: %w", r.ID, err)
	}
	return h, nil
}

// Open goes on with a history, see [event.Store].
func (j *Journal) Open(id string) (event.History, error) {
	if _, err := j.check(id); err != nil {
		return nil, fmt.Errorf("journal: session %q: %w", id, err)
	}
	h, err := j.begin(id, (*history).reopen)
	if err != nil {
		return nil, fmt.Errorf("journal: session %s: %w", id, err)
	}
	return h, nil
}

// begin locks a session and lets f make its history ready.
func (j *Journal) begin(id string, f func(*history) error) (*history, error) {
	unlock, err := j.lock(id)
	if err != nil {
		return nil, err
	}
	h := &history{journal: j, id: id, unlock: unlock}
	if err := f(h); err != nil {
		h.closeFiles()
		unlock()
		return nil, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		h.closeFiles()
		unlock()
		return nil, os.ErrClosed
	}
	j.open[id] = h
	return h, nil
}

// Who only looks whether a session is live holds its lock for a moment, so a
// writer tries more than once.
const (
	lockTries = 10
	lockPause = 3 * time.Millisecond
)

func (j *Journal) lock(id string) (unlock func(), err error) {
	for try := 0; ; try++ {
		unlock, err = filelock.Take(j.path(id, lockName), lockStale)
		switch {
		case err == nil:
			return unlock, nil
		case errors.Is(err, os.ErrNotExist):
			return nil, event.ErrNotStored // removed meanwhile
		case !errors.Is(err, filelock.ErrHeld):
			return nil, err
		case try == lockTries || j.writes(id):
			return nil, event.ErrLocked
		}
		time.Sleep(lockPause)
	}
}

// writes reports whether this very journal has the session open.
func (j *Journal) writes(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.open[id] != nil
}
