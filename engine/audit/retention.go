package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/filelock"
)

// Retention says how long logs are kept. Whole segments are removed, the oldest
// of all servers first, and never the last one of a server that runs.
type Retention struct {
	Root     string        // whose logs; empty: nothing is removed
	MaxBytes int64         // of all logs together; 0 = 1 GiB
	MaxAge   time.Duration // of a segment since it was last written; 0 = 400 days
}

const (
	defaultMaxBytes = 1 << 30
	defaultMaxAge   = 400 * 24 * time.Hour
	retainFirst     = time.Minute // after the start, and after a pass that left something
	retainEvery     = time.Hour   // and with the first session, and when a segment is full
	retainPause     = time.Second // at least, between two passes
	maxRemoved      = 256         // files of one pass: each is a record, and the queue has an end
)

// retainSoon has [Log.retain] look now.
func (l *Log) retainSoon() {
	select {
	case l.rotated <- struct{}{}:
	default: // it will, anyway
	}
}

// retain removes what is due, until the log is closed.
func (l *Log) retain() {
	timer, pause := time.NewTimer(retainFirst), time.NewTimer(0)
	defer timer.Stop()
	defer pause.Stop()
	for {
		select {
		case <-pause.C:
		case <-l.closing:
			return
		}
		select {
		case <-l.rotated:
		case <-timer.C:
		case <-l.closing:
			return
		}
		next := retainEvery
		more, err := l.retainSome()
		if err != nil {
			l.options.Logger.Warn("audit retention", "error", err)
		}
		if more {
			next = retainFirst
		}
		timer.Reset(next)
		pause.Reset(retainPause)
	}
}

func (l *Log) isClosing() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

// old is a log of which segments may be removed.
type old struct {
	Source
	segments []segment // of it, the first is next
	kept     bool      // nothing more of it may go now
}

// Retain removes what is due now, at most 256 files, as [Open] does from time to
// time. What it removes stands in the ledger below the root before it goes. While
// another server does this, it does nothing. A file whose end cannot be read stays
// and is an error; the others go all the same.
func (l *Log) Retain() error {
	_, err := l.retainSome()
	return err
}

// retainSome says whether there is more to remove.
func (l *Log) retainSome() (more bool, err error) {
	if l.options.Retention.Root == "" {
		return false, nil
	}
	l.retaining.Lock()
	defer l.retaining.Unlock()
	unlock, err := filelock.Take(inFolder(Servers(l.options.Retention.Root), ledgerLock), neverStale)
	if errors.Is(err, filelock.ErrHeld) || errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	logs, total, err := allOf(l.options.Retention.Root)
	if err != nil {
		return false, err
	}
	var problems error
	for removed := 0; removed < maxRemoved; {
		o := l.due(logs, total)
		if o == nil || l.isClosing() { // the rest is for the next server
			return false, problems
		}
		size := o.segments[0].size
		switch gone, err := l.remove(o); {
		case err != nil:
			problems, o.kept = errors.Join(problems, err), true
		case gone:
			removed, total = removed+1, total-size
		default:
			o.kept = true
		}
	}
	return true, problems
}

// allOf lists all logs below root. It opens none of them.
func allOf(root string) (logs []*old, total int64, err error) {
	all, err := folders(root)
	for _, s := range all {
		parts, err := segments(s.Folder)
		if err != nil {
			return nil, 0, err
		}
		for _, p := range parts {
			total += p.size
		}
		if len(parts) > 0 {
			logs = append(logs, &old{Source: s, segments: parts})
		}
	}
	return logs, total, err
}

// due is the log whose first segment has to go: the one that was written to the
// longest time ago; nil when none has to.
func (l *Log) due(logs []*old, total int64) (found *old) {
	limit, age := l.options.Retention.MaxBytes, l.options.Retention.MaxAge
	if limit <= 0 {
		limit = defaultMaxBytes
	}
	if age <= 0 {
		age = defaultMaxAge
	}
	for _, o := range logs {
		if !o.kept && len(o.segments) > 0 && (found == nil || o.segments[0].modified.Before(found.segments[0].modified)) {
			found = o
		}
	}
	if found != nil && total <= limit && time.Since(found.segments[0].modified) <= age {
		return nil
	}
	return found
}

// remove takes the first segment of a log away, and with the last one the log. A
// running server keeps its last one.
func (l *Log) remove(o *old) (gone bool, err error) {
	s := o.segments[0]
	whole := len(o.segments) == 1
	if whole {
		unlock, err := filelock.Take(inFolder(o.Folder, lockName), neverStale)
		if err != nil {
			return false, nil // it is being written
		}
		defer o.release()
		defer unlock()
	}
	path := inFolder(o.Folder, s.name)
	r := removal{By: l.options.Boot, Boot: o.Boot, Time: time.Now().UTC(), Whole: whole}
	last, ok := lastOf(path)
	switch {
	case ok:
		r.Seq, r.Hash = last.Seq, last.Hash
	case !whole:
		return false, fmt.Errorf("%s: its last record cannot be read, so it stays; run gatehouse audit verify", path)
	default:
		r.Seq, r.Hash = s.first-1, zeroHash // nothing whole was in it
	}
	r.Signature = signText(l.options.Key, r.text())
	if err := appendLedger(Servers(l.options.Retention.Root), r); err != nil {
		return false, err
	}
	if err := os.Remove(path); err != nil {
		return false, err
	}
	o.segments = o.segments[1:]
	l.Note(Record{Kind: Removal, Detail: detail(r)})
	return true, nil
}

// release removes the folder of a log of which nothing is left.
func (o *old) release() {
	if len(o.segments) == 0 {
		os.Remove(inFolder(o.Folder, inputKeyName))
		os.Remove(o.Folder)               // fails unless it is empty, as it should
		os.Remove(filepath.Dir(o.Folder)) // the same
	}
}
