package audit

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds and times of a log.
const (
	defaultSegmentBytes = 16 << 20
	checkpointRecords   = 256              // records that one checkpoint covers at most
	checkpointAfter     = 10 * time.Second // of a record, at the latest
	maxQueued           = 1024             // records that wait to be written
	maxQueuedNotes      = 16 << 20         // bytes that wait; with more, notes are dropped
	maxBatch            = maxQueued        // records of one write
	maxBatchBytes       = 4 << 20          // of one write
)

// Options configures a Log. Folder and Boot are required.
type Options struct {
	Folder  string // of this server alone; made 0700 where it is missing
	Boot    string // id of the server's run: letters, digits, "-"
	Version string // of the program, for the first record

	// Key signs checkpoints. nil: they are not signed, so that whoever can write
	// the files can make up a whole chain.
	Key ed25519.PrivateKey

	// InputKey keys the digests of inputs, 32 bytes or more. nil: a key in the file
	// input.key in Folder, made where it is missing.
	InputKey []byte

	// NoExcerpts leaves out what records show of inputs: their size and digest stay.
	NoExcerpts bool

	SegmentBytes int64 // a file that has reached it is followed by another; 0 = 16 MiB
	Retention    Retention

	// NoSync leaves out the fdatasync: what is recorded then outlives the end of the
	// server, however that comes, but not a power failure.
	NoSync bool

	Logger *slog.Logger // nil = none
}

// ErrClosed is returned for records that come after [Log.Close].
var ErrClosed = errors.New("audit log: closed")

// Log is a [Recorder] that keeps files.
type Log struct {
	options  Options
	inputKey []byte
	current  atomic.Pointer[inForce]

	queue       chan *entry
	queuedBytes atomic.Int64
	dropped     atomic.Int64  // notes that found no room and were not told of yet
	closing     chan struct{} // closed by Close
	ended       chan struct{} // closed when the writer has written the last record
	closeOnce   sync.Once
	background  sync.WaitGroup
	retaining   sync.Mutex // one at a time
	writer      *writer
	unlock      func()
	rotated     chan struct{} // a segment was begun, or a first session

	firstSession sync.Once
	closeErr     error // set before ended is closed
}

var _ Recorder = (*Log)(nil)

// entry is a record on its way to the file.
type entry struct {
	body []byte     // of the line, from "kind" on
	done chan error // nil: nobody waits
}

var bootForm = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Open begins a log and writes its first record, server_start. A folder that
// holds a log already is refused: no server goes on with the log of another.
func Open(o Options) (*Log, error) {
	l, err := open(o, openSegment)
	if err != nil {
		return nil, fmt.Errorf("audit log %s: %w", o.Folder, err)
	}
	return l, nil
}

func open(o Options, create func(string) (segmentFile, error)) (*Log, error) {
	if !bootForm.MatchString(o.Boot) {
		return nil, fmt.Errorf("boot %q: want 1 to 64 letters, digits and -", o.Boot)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = defaultSegmentBytes
	}
	unlock, err := claim(o.Folder)
	if err != nil {
		return nil, err
	}
	l := &Log{
		options: o, inputKey: o.InputKey, unlock: unlock,
		queue: make(chan *entry, maxQueued), closing: make(chan struct{}), ended: make(chan struct{}), rotated: make(chan struct{}, 1),
	}
	l.current.Store(&inForce{})
	if l.inputKey == nil {
		l.inputKey, err = InputKey(inFolder(o.Folder, inputKeyName))
	}
	if err == nil {
		l.writer = newWriter(l, create)
		err = l.begin()
	}
	if err != nil {
		l.writer.close()
		unlock()
		return nil, err
	}
	l.background.Go(l.retain) // ends with Close
	go l.writer.run()         // ends after that
	return l, nil
}

// begin writes the first record.
func (l *Log) begin() error {
	e, err := l.entry(&Record{Kind: ServerStart, Detail: l.startDetail()}, true)
	if err != nil {
		return err
	}
	l.queuedBytes.Add(int64(len(e.body))) // commit takes it back
	l.writer.commit([]*entry{e}, true)    // so that no log is without a signature
	return <-e.done
}

// Record implements [Recorder]. It waits for room in the queue and for the file,
// at most until ctx ends; then the record may or may not be there.
func (l *Log) Record(ctx context.Context, r Record) error {
	e, err := l.entry(&r, true)
	if err != nil {
		return err
	}
	if l.isClosing() {
		return ErrClosed
	}
	if r.Kind == SessionStart { // a short run might end before its first minute
		l.firstSession.Do(l.retainSoon)
	}
	l.queuedBytes.Add(int64(len(e.body)))
	select {
	case l.queue <- e:
	case <-l.closing:
		return ErrClosed
	case <-ctx.Done():
		l.queuedBytes.Add(-int64(len(e.body)))
		return fmt.Errorf("audit log: no room for a %s record: %w", r.Kind, context.Cause(ctx))
	}
	select {
	case err = <-e.done:
	case <-ctx.Done():
		return fmt.Errorf("audit log: a %s record was not confirmed: %w", r.Kind, context.Cause(ctx))
	case <-l.ended:
		select {
		case err = <-e.done:
		default:
			err = ErrClosed
		}
	}
	return err
}

// Note implements [Recorder].
func (l *Log) Note(r Record) {
	e, err := l.entry(&r, false)
	if err != nil {
		l.options.Logger.Error("audit record", "kind", r.Kind, "error", err)
		l.dropped.Add(1)
		return
	}
	size := int64(len(e.body))
	if l.queuedBytes.Add(size) <= maxQueuedNotes {
		select {
		case l.queue <- e:
			return
		default:
		}
	}
	l.queuedBytes.Add(-size)
	l.dropped.Add(1)
}

// Close writes what waits, server_stop and a last checkpoint. It may be called
// more than once. An error means that the end of the log is not there.
func (l *Log) Close(ctx context.Context) error {
	l.closeOnce.Do(func() { close(l.closing) })
	select {
	case <-l.ended:
	case <-ctx.Done():
		return fmt.Errorf("audit log: the end was not written: %w", context.Cause(ctx))
	}
	return l.closeErr
}

// entry encodes a record on the caller's goroutine.
func (l *Log) entry(r *Record, waits bool) (*entry, error) {
	body, err := l.body(r)
	if err != nil {
		return nil, fmt.Errorf("audit log: %s record: %w", r.Kind, err)
	}
	e := &entry{body: body}
	if waits {
		e.done = make(chan error, 1)
	}
	return e, nil
}
