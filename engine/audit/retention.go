package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	retainEvery     = time.Hour
)

// retain removes what is due, until the log is closed.
func (l *Log) retain() {
	tick := time.NewTicker(retainEvery)
	defer tick.Stop()
	for {
		if err := l.Retain(); err != nil {
			l.options.Logger.Warn("audit retention", "error", err)
		}
		select {
		case <-l.rotated:
		case <-tick.C:
		case <-l.closing:
			return
		}
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

// old is a segment that may be removed: the first of its log that is left.
type old struct {
	Source
	segments []segment // of it, the first is next
	free     int       // how many of them may go
	unlock   func()    // of a dead server's log
}

// Retain removes what is due now, as [Open] does from time to time. What it
// removes stands in the ledger below the root before it goes. While another
// server does this, it does nothing.
func (l *Log) Retain() error {
	if l.options.Retention.Root == "" {
		return nil
	}
	l.retaining.Lock()
	defer l.retaining.Unlock()
	root := inFolder(l.options.Retention.Root, serversName)
	unlock, err := filelock.Take(inFolder(root, ledgerLock), neverStale)
	if errors.Is(err, filelock.ErrHeld) || errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	logs, total, err := l.removable()
	defer func() {
		for _, o := range logs {
			o.release()
		}
	}()
	if err != nil {
		return err
	}
	r := l.options.Retention
	limit, age := r.MaxBytes, r.MaxAge
	if limit <= 0 {
		limit = defaultMaxBytes
	}
	if age <= 0 {
		age = defaultMaxAge
	}
	for {
		o := oldest(logs)
		if o == nil || l.isClosing() { // the rest is for the next server
			return nil
		}
		s := o.segments[0]
		if expired := time.Since(s.modified) > age; total <= limit && !expired {
			return nil
		}
		if err := l.remove(o); err != nil {
			return err
		}
		total -= s.size
	}
}

// removable lists all logs with what of them may go. Those of dead servers are
// locked.
func (l *Log) removable() (logs []*old, total int64, err error) {
	all, err := Logs(l.options.Retention.Root)
	for _, s := range all {
		parts, err := segments(s.Folder)
		if err != nil {
			return logs, 0, err
		}
		for _, p := range parts {
			total += p.size
		}
		o := &old{Source: s, segments: parts, free: len(parts)}
		if o.unlock, err = filelock.Take(inFolder(s.Folder, lockName), neverStale); err != nil {
			o.free-- // the last one is being written
		}
		logs = append(logs, o)
	}
	return logs, total, err
}

func (o *old) release() {
	if o.unlock != nil {
		o.unlock()
	}
	if o.unlock != nil && len(o.segments) == 0 {
		os.Remove(inFolder(o.Folder, inputKeyName))
		os.Remove(o.Folder)               // fails unless it is empty, as it should
		os.Remove(filepath.Dir(o.Folder)) // the same
	}
}

// oldest is the log whose next segment was written to the longest time ago.
func oldest(logs []*old) (found *old) {
	for _, o := range logs {
		if o.free > 0 && (found == nil || o.segments[0].modified.Before(found.segments[0].modified)) {
			found = o
		}
	}
	return found
}

// remove takes the first segment of a log away.
func (l *Log) remove(o *old) error {
	s := o.segments[0]
	path := inFolder(o.Folder, s.name)
	r := removal{By: l.options.Boot, Boot: o.Boot, Time: time.Now().UTC(), Whole: len(o.segments) == 1}
	last, ok := lastOf(path)
	switch {
	case ok:
		r.Seq, r.Hash = last.Seq, last.Hash
	case len(o.segments) > 1:
		return fmt.Errorf("%s: its last record cannot be read, so it stays; run gatehouse audit verify", path)
	default:
		r.Seq, r.Hash = s.first-1, zeroHash // nothing whole was in it
	}
	r.Signature = signText(l.options.Key, r.text())
	if err := appendLedger(inFolder(l.options.Retention.Root, serversName), r); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	o.segments, o.free = slices.Clone(o.segments[1:]), o.free-1
	l.Note(Record{Kind: Removal, Detail: detail(r)})
	return nil
}
