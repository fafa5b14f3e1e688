package audit

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// writer owns the file of a log. Only its goroutine touches it, once that runs.
type writer struct {
	log    *Log
	create func(path string) (segmentFile, error)

	file  segmentFile // nil: none yet
	size  int64       // bytes of it that are good
	dirty bool        // there may be more than that in it
	chain chain
	buf   []byte

	// checkpointRecords and checkpointAfter, less in tests.
	signEvery int
	signAfter time.Duration
	timer     *time.Timer
	armed     bool

	failed gap // what was not written and not told of yet
}

// gap is the detail of an audit_gap.
type gap struct {
	Records int64     `json:"records"` // whose senders were told
	Notes   int64     `json:"notes"`   // nobody was told
	Undone  int64     `json:"undone"`  // stood in the file for a moment and were taken back
	Since   time.Time `json:"since,omitzero"`
	Error   string    `json:"error,omitempty"`
}

func newWriter(l *Log, create func(string) (segmentFile, error)) *writer {
	w := &writer{log: l, create: create, chain: chain{prev: zeroHash}, signEvery: checkpointRecords, signAfter: checkpointAfter}
	w.timer = time.NewTimer(time.Hour)
	w.timer.Stop()
	return w
}

// run writes until the log is closed.
func (w *writer) run() {
	for {
		w.arm()
		select {
		case e := <-w.log.queue:
			w.commit(w.batch(e), false)
		case <-w.timer.C:
			w.armed = false
			w.commit(nil, true)
		case <-w.log.closing:
			w.end()
			return
		}
	}
}

// arm sets the timer for a checkpoint when something is not covered by one.
func (w *writer) arm() {
	if w.chain.unsigned > 0 && !w.armed {
		w.timer.Reset(w.signAfter)
		w.armed = true
	}
}

// batch takes what waits.
func (w *writer) batch(first *entry) []*entry {
	batch, size := []*entry{first}, len(first.body)
	for len(batch) < maxBatch && size < maxBatchBytes {
		select {
		case e := <-w.log.queue:
			batch, size = append(batch, e), size+len(e.body)
		default:
			return batch
		}
	}
	return batch
}

// end writes what waits, and the last records.
func (w *writer) end() {
	w.log.background.Wait() // it may tell of what it removed, and must find this log locked
	for waiting := true; waiting; {
		select {
		case e := <-w.log.queue:
			w.commit(w.batch(e), false)
		default:
			waiting = false
		}
	}
	e, err := w.log.entry(&Record{Kind: ServerStop}, true)
	if err == nil {
		w.log.queuedBytes.Add(int64(len(e.body))) // commit takes it back
		w.commit([]*entry{e}, true)
		err = <-e.done
	}
	w.log.closeErr = errors.Join(err, w.close())
	w.log.unlock()
	close(w.log.ended)
}

func (w *writer) close() error {
	if w == nil || w.file == nil {
		return nil
	}
	w.timer.Stop()
	return w.file.Close()
}

// commit chains and writes a batch and answers it. With sign, or where it is
// time, a checkpoint goes with it. When it cannot be written the chain stays as
// it was.
func (w *writer) commit(batch []*entry, sign bool) {
	before := w.chain
	told, err := w.write(batch, sign)
	undone := w.chain.seq - before.seq
	if err != nil {
		w.chain = before
		w.fail(batch, undone, err)
		err = fmt.Errorf("audit log: %w", err)
	} else {
		w.forget(told)
	}
	for _, e := range batch {
		w.log.queuedBytes.Add(-int64(len(e.body)))
		if e.done != nil {
			e.done <- err // it has room for one
		}
	}
}

// write returns what gap it told of.
func (w *writer) write(batch []*entry, sign bool) (told gap, err error) {
	if err := w.prepare(); err != nil {
		return told, err
	}
	w.buf = w.buf[:0]
	now := time.Now().UTC()
	told = w.failed
	told.Notes += w.log.dropped.Load()
	if told.Error != "" || told.Notes > 0 {
		if err := w.own(now, Record{Kind: Gap, Detail: detail(told)}); err != nil {
			return told, err
		}
	}
	if w.overdue(now) { // behind the gap, which stands where the first lost record stood
		if err := w.checkpoint(now); err != nil {
			return told, err
		}
	}
	for _, e := range batch {
		if err := w.add(now, e.body); err != nil {
			return told, err
		}
	}
	if sign && w.chain.unsigned > 0 {
		if err := w.checkpoint(now); err != nil {
			return told, err
		}
	}
	return told, w.flush()
}

// overdue: what comes now is so much later than what no checkpoint covers, by the
// clock of the records, that one has to stand between them. The timer alone would
// not do: it stands still while the machine sleeps.
func (w *writer) overdue(now time.Time) bool {
	return w.chain.unsigned > 0 && now.Sub(w.chain.unsignedSince) >= w.signAfter
}

// own adds a record of the log's own.
func (w *writer) own(now time.Time, r Record) error {
	body, err := w.log.body(&r)
	if err != nil {
		return err
	}
	return w.add(now, body)
}

func (w *writer) add(now time.Time, body []byte) error {
	w.buf = w.chain.line(w.buf, now, w.log.options.Boot, body)
	if w.chain.unsigned < w.signEvery {
		return nil
	}
	return w.checkpoint(now)
}

// checkpoint adds one over the chain so far.
func (w *writer) checkpoint(now time.Time) error {
	c := sign(w.log.options.Key, w.log.options.Boot, w.chain.seq-1, w.chain.prev, now)
	body, err := w.log.body(&Record{Kind: Checkpoint, Detail: detail(c.signed())})
	if err != nil {
		return err
	}
	w.buf = w.chain.line(w.buf, now, w.log.options.Boot, body)
	w.chain.unsigned = 0
	return nil
}

// prepare sees to a file that ends where the chain does, and has room.
func (w *writer) prepare() error {
	if w.file != nil && w.dirty {
		if err := w.file.Truncate(w.size); err != nil {
			return fmt.Errorf("take a half-written record back: %w", err)
		}
		w.dirty = false
	}
	if w.file != nil && w.size < w.log.options.SegmentBytes {
		return nil
	}
	next, err := w.create(filepath.Join(w.log.options.Folder, segmentName(w.chain.seq)))
	if err != nil {
		return err
	}
	if w.file != nil {
		w.file.Close() // all of it was written, and synced where that is wanted
		w.log.retainSoon()
	}
	w.file, w.size = next, 0
	if !w.log.options.NoSync {
		syncFolder(w.log.options.Folder)
	}
	return nil
}

func (w *writer) flush() error {
	w.dirty = true
	_, err := w.file.WriteAt(w.buf, w.size)
	if err == nil && !w.log.options.NoSync {
		err = w.file.Sync()
	}
	if err == nil {
		w.size += int64(len(w.buf))
		w.dirty = false
	} else if w.file.Truncate(w.size) == nil { // else before the next write
		w.dirty = false
	}
	if cap(w.buf) > 2*maxBatchBytes {
		w.buf = nil
	}
	return err
}

// fail counts what was not written.
func (w *writer) fail(batch []*entry, undone int64, err error) {
	if w.failed.Error == "" {
		w.failed.Since, w.failed.Error = time.Now().UTC(), cut(err.Error(), looseBounds.reason)
		w.log.options.Logger.Error("audit log cannot be written; what must be recorded is denied", "folder", w.log.options.Folder, "error", err)
	}
	w.failed.Undone = max(w.failed.Undone, undone)
	for _, e := range batch {
		if e.done == nil {
			w.failed.Notes++
		} else {
			w.failed.Records++
		}
	}
}

// forget is for a gap that was told.
func (w *writer) forget(told gap) {
	w.log.dropped.Add(w.failed.Notes - told.Notes) // what is left are those of the queue
	if w.failed.Error != "" {
		w.log.options.Logger.Warn("audit log can be written again", "records", told.Records, "notes", told.Notes)
	}
	w.failed = gap{}
}
