// Package decisionlog writes one JSON object for each policy decision, in the
// format of OPA's decision log, and reads such files back.
//
// [Open] a [Log] on a folder and [Log.Record] each [Entry]; Close writes what is
// left:
//
//	log, err := decisionlog.Open(decisionlog.Options{Folder: folder, ID: id})
//	log.Record(entry)
//	log.Close(ctx)
//
// Record never waits: it puts the entry into a bounded queue, and one goroutine
//
//	Record → queue → [encode → cover secrets, plans → mask → write → rotate, prune]
//
// does the rest until Close. What finds no room in the queue, or cannot be
// written, is counted; the next line that is written tells the number. A log
// never decides anything: without one, calls are judged just the same.
package decisionlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Bounds of what waits to be written.
const (
	maxQueued      = 1024     // entries
	maxQueuedBytes = 32 << 20 // of their inputs, as [Entry.Size] counts them
	flushEvery     = time.Second
)

// Options configures a Log. Folder is required.
type Options struct {
	Folder   string        // made 0700 where it is missing
	MaxBytes int64         // of all files in the folder together; 0 = 64 MiB
	MaxAge   time.Duration // of one file since it was last written; 0 = 30 days
	ID       string        // label id: this server's run
	Version  string        // label version: of the program
	Logger   *slog.Logger  // nil = none

	Scanner redact.Scanner // finds secrets, whatever masks say; the zero value knows the vendor formats
}

// Entry is one decision. Functions in it are called on the writer's goroutine,
// and nothing that it refers to may change after it was recorded.
type Entry struct {
	ID          string // decision_id
	Path        string // for example gatehouse/permission/decisions
	Time        time.Time
	Duration    time.Duration // of the whole decision
	Eval        time.Duration // of that, within Rego
	Profile     string
	Revisions   map[string]string // of each layer, by its name
	RequestedBy string
	Input       func() (json.RawMessage, error) // nil where no document came about
	Size        int                             // of the input in bytes, roughly
	Result      any
	Error       *Failure // nil where the policies answered
	RuleLabels  []map[string]string
	Custom      map[string]any

	// Hide are JSON pointers into the event whose values are never written,
	// whatever the masks say.
	Hide []string
	// Replace puts other values in the place of some, before anything else reads
	// the event.
	Replace []MaskOp
	// Mask returns what is to be left out of the event it is shown. nil: nothing.
	Mask func(ctx context.Context, event json.RawMessage) ([]MaskOp, error)
}

// Log writes entries. It is safe for concurrent use.
type Log struct {
	options Options
	writer  *writer
	plan    atomic.Pointer[Cover] // nil: none
	done    chan struct{}         // closed when the writer has ended

	mu     sync.RWMutex
	closed bool
	queue  chan Entry

	queued atomic.Int64  // bytes in the queue
	lost   atomic.Uint64 // entries that are in no file and were not told of yet
}

// Open makes the folder and the first file in it. Whoever opens a Log closes it.
func Open(o Options) (*Log, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.MaxAge <= 0 {
		o.MaxAge = defaultMaxAge
	}
	f, err := openFiles(o.Folder, o.MaxBytes, o.MaxAge)
	if err != nil {
		return nil, fmt.Errorf("decision log: %w", err)
	}
	l := &Log{options: o, done: make(chan struct{}), queue: make(chan Entry, maxQueued)}
	l.writer = &writer{log: l, files: f}
	go l.run() // ends when Close closes the queue
	return l, nil
}

// Record hands an entry over and returns at once.
func (l *Log) Record(e Entry) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed || l.queued.Load()+int64(e.Size) > maxQueuedBytes {
		l.lost.Add(1)
		return
	}
	select {
	case l.queue <- e:
		l.queued.Add(int64(e.Size))
	default:
		l.lost.Add(1)
	}
}

// errCut is the end of a Close that was not waited for.
var errCut = errors.New("decision log: what was still in its queue was not written in time")

// Close writes what is queued and closes the files, at most until ctx ends. It
// may be called more than once. What is recorded afterwards is lost.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.queue)
	}
	l.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
		return errCut
	}
}

// run takes entries until the queue is closed and empty.
func (l *Log) run() {
	defer close(l.done)
	defer l.writer.close()
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	for {
		select {
		case e, ok := <-l.queue:
			if !ok {
				return
			}
			l.queued.Add(-int64(e.Size))
			l.writer.add(e)
		case now := <-tick.C:
			l.writer.flush()
			l.writer.files.pruneDue(now)
		}
	}
}
