package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// verification is one pass over a log.
type verification struct {
	source  Source
	report  LogReport
	ring    keyring
	anchors map[int64][]anchor // not met yet, by the number of the record
	firsts  map[int64]bool     // numbers that files are named for

	segment  string
	line     int
	next     int64 // number of the record that has to come
	prev     string
	begun    bool
	stopped  bool      // server_stop was met
	unsigned int64     // records since the last checkpoint
	since    time.Time // of the first of them
	time     time.Time
	back     int // records with a time before that of the one before
}

// verifyLog reads one log. Its report has no segments where the log is gone by now.
func verifyLog(s Source, anchors []anchor, o VerifyOptions) (LogReport, error) {
	v := &verification{source: s, anchors: map[int64][]anchor{}, firsts: map[int64]bool{}, ring: keyring{given: o.Keys}}
	for _, a := range anchors {
		v.anchors[a.seq] = append(v.anchors[a.seq], a)
	}
	v.report = LogReport{Boot: s.Boot, Last: -1, SignedTo: -1, Live: running(s.Folder)}
	all, err := segments(s.Folder)
	if err != nil {
		return v.report, err
	}
	v.report.Segments = len(all)
	for _, part := range all {
		v.firsts[part.first] = true
	}
	for i, part := range all {
		if err := v.file(part, i == len(all)-1); err != nil {
			return v.report, err
		}
		if v.report.Bad != nil {
			break
		}
	}
	v.finish()
	return v.report, nil
}

func (v *verification) bad(kind, format string, args ...any) {
	v.badAt(v.next, kind, format, args...)
}

func (v *verification) badAt(seq int64, kind, format string, args ...any) {
	if v.report.Bad == nil {
		v.report.Bad = &Problem{Boot: v.source.Boot, Segment: v.segment, Line: v.line, Seq: seq, Kind: kind, Why: fmt.Sprintf(format, args...)}
	}
}

// file reads one segment. Only the last may end in a torn line.
func (v *verification) file(s segment, last bool) error {
	f, err := regular.Open(inFolder(v.source.Folder, s.name))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s was removed meanwhile; run it again", s.name)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	v.segment, v.line = s.name, 0
	if !v.begun {
		v.begun, v.next, v.prev = true, s.first, zeroHash
		v.report.First, v.report.Last = s.first, s.first-1
	}
	if s.first != v.next {
		v.line = 1
		v.bad(Deleted, "the file begins with record %d, and the one before it ends with %d", s.first, v.next-1)
		return nil
	}
	for lines := newLineReader(f); v.report.Bad == nil; {
		line, err := lines.next()
		v.line++
		switch {
		case err == nil:
			v.record(line, lines)
		case errors.Is(err, io.EOF):
			if v.line == 1 && !last {
				v.bad(Deleted, "the file is empty, and others follow")
			}
			return nil
		case errors.Is(err, errTorn):
			v.torn(len(line), last)
			return nil
		case errors.Is(err, errLong):
			long := len(line)
			if n, tail := lines.rest(maxTorn); tail && last { // a power failure can leave a batch of zeros
				v.torn(long+n, last)
				return nil
			}
			v.bad(Edited, "the line is longer than a record may be")
		default:
			return err
		}
	}
	return nil
}

// maxTorn bounds what a crash can leave behind the last whole record.
const maxTorn = maxBatchBytes + 2*maxRecord

func (v *verification) torn(n int, last bool) {
	switch {
	case !last:
		v.bad(Cut, "the last line of the file has no end, and other files follow")
	case v.stopped:
		v.bad(Inserted, "%d bytes stand behind the end of the log", n)
	default:
		v.report.Torn = n
	}
}

// record takes the next line. Those that follow are looked at only to say what
// happened to a record that is out of place.
func (v *verification) record(line []byte, rest lineReader) {
	r, why := parse(line)
	switch {
	case why != "":
		v.bad(Edited, "%s", why)
	case r.Boot != v.source.Boot:
		v.bad(Misplaced, "it is of server %q", r.Boot)
	case v.line == 1 && r.Seq != v.next && v.firsts[r.Seq]:
		v.bad(Misplaced, "the file begins with record %d, for which another file is named: files were renamed", r.Seq)
	case r.Seq > v.next:
		v.ahead(r, rest)
	case r.Seq < v.next:
		v.bad(Inserted, "record %d stands here again", r.Seq)
	case v.report.Last < v.report.First && v.next > 0: // what was before it is gone
		v.report.before = r.Prev
		v.take(r)
	case r.Prev != v.prev:
		v.bad(Inserted, "it does not follow the record before it: one of the two was put in its place")
	case v.stopped && (r.Kind != Checkpoint || v.report.Closed):
		v.bad(Inserted, "it stands behind the end of the log")
	default:
		v.take(r)
	}
}

// ahead is for a record that comes too early.
func (v *verification) ahead(r Record, rest lineReader) {
	missing := v.next
	if line, err := rest.next(); err == nil {
		if other, why := parse(line); why == "" && other.Seq == missing {
			v.bad(Swapped, "record %d stands here, and this one behind it", r.Seq)
			return
		}
	}
	v.bad(Deleted, "it is missing, with all up to the one before %d, which follows", r.Seq)
}

// maxNotes bounds what a report tells beside the problem, and maxTold the removals
// that it remembers of one log.
const (
	maxNotes = 20
	maxTold  = maxLedgerLogs
)

func (v *verification) note(format string, args ...any) {
	switch n := len(v.report.Notes); {
	case n < maxNotes:
		v.report.Notes = append(v.report.Notes, fmt.Sprintf(format, args...))
	case n == maxNotes:
		v.report.Notes = append(v.report.Notes, "and more")
	}
}

// take goes on behind a record that is in its place.
func (v *verification) take(r Record) {
	if v.unsigned == 0 {
		v.since = r.Time
	}
	v.unsigned++
	late := r.Time.Sub(v.since) >= checkpointAfter && r.Kind != Checkpoint && r.Kind != Gap
	switch r.Kind {
	case Checkpoint:
		v.checkpoint(r)
	case ServerStop:
		v.stopped = true
	case Gap:
		v.gap(r)
	case Removal:
		var told removal
		if json.Unmarshal(r.Detail, &told) == nil && len(v.report.removed) < maxTold {
			v.report.removed = append(v.report.removed, told)
		}
	}
	if len(v.ring.given) > 0 && (late || v.unsigned > checkpointRecords) {
		v.bad(BadSignature, "no checkpoint is among the %d records up to it", v.unsigned)
	}
	v.anchor(r)
	if r.Time.Before(v.time) {
		v.back++
	}
	v.time, v.prev, v.next = r.Time, r.Hash, r.Seq+1
	if v.report.Bad == nil {
		v.report.Last, v.report.Hash = r.Seq, r.Hash
	}
}

func (v *verification) checkpoint(r Record) {
	var d signedCheckpoint
	if err := json.Unmarshal(r.Detail, &d); err != nil {
		v.bad(BadSignature, "the checkpoint cannot be read: %v", err)
		return
	}
	if d.Seq != r.Seq-1 || d.Hash != r.Prev {
		v.bad(BadSignature, "the checkpoint is not about the record before it")
		return
	}
	c := ExportedCheckpoint{Boot: r.Boot, Covered: d.Covered}
	if kind, why := v.ring.check(d.Signature, c.text()); kind != "" {
		v.bad(kind, "%s", why)
		return
	}
	v.report.Checkpoints++
	v.unsigned = 0
	v.report.Closed = v.stopped
	if d.Value != "" {
		v.report.KeyID, v.report.SignedTo = v.ring.used, d.Seq
		v.report.key, _ = DecodeKey(d.PublicKey)
	}
}

// gap notes what the log says was lost, and forgets what others saw of records
// that were taken back.
func (v *verification) gap(r Record) {
	var g gap
	if json.Unmarshal(r.Detail, &g) != nil {
		return
	}
	v.note("record %d: %d records and %d notes before it could not be written", r.Seq, g.Records, g.Notes)
	for seq := r.Seq; seq < r.Seq+min(g.Undone, maxBatch+maxBatch/checkpointRecords+3); seq++ {
		if known := v.anchors[seq]; len(known) > 0 {
			v.anchors[seq] = slices.DeleteFunc(known, func(a anchor) bool { return a.live })
		}
	}
}

// anchor compares a record with what is known of it elsewhere.
func (v *verification) anchor(r Record) {
	for _, a := range v.anchors[r.Seq] {
		if a.hash != r.Hash {
			v.bad(Replaced, "%s knows another one with this number", a.from)
		}
	}
	delete(v.anchors, r.Seq)
}

// beyond is the first record behind the end that is known elsewhere.
func (v *verification) beyond() (first anchor, found bool) {
	for seq, known := range v.anchors {
		if len(known) > 0 && seq >= v.next && (!found || seq < first.seq) {
			first, found = known[0], true
		}
	}
	return first, found
}

// finish looks at the end of the log.
func (v *verification) finish() {
	if v.report.Bad != nil {
		return
	}
	if a, found := v.beyond(); found {
		v.line++
		v.badAt(v.next, Cut, "the log ends before it, and %s knows record %d", a.from, a.seq)
		return
	}
	v.unsignedEnd()
	switch {
	case v.report.Torn > 0 && v.report.Live:
		v.note("%d bytes behind record %d: it is being written", v.report.Torn, v.next-1)
	case v.report.Torn > 0:
		v.note("torn tail after record %d (crash): %d bytes", v.next-1, v.report.Torn)
	case !v.stopped && !v.report.Live:
		v.note("ends with record %d, without server_stop: the server was killed, or the end is cut; only a checkpoint kept elsewhere tells", v.next-1)
	case v.stopped && !v.report.Closed:
		v.note("ends without its last checkpoint")
	}
	if v.back > 0 {
		v.note("the clock was set back %d times", v.back)
	}
}

// unsignedEnd is about what has to be under a signature, where a key was given:
// the first record, and the last one of a server that ended in order. Each was
// written together with its checkpoint.
func (v *verification) unsignedEnd() {
	if len(v.ring.given) == 0 || v.report.Live || v.report.Torn > 0 {
		return
	}
	v.line++
	switch {
	case v.report.First == 0 && v.next > 0 && v.report.Checkpoints == 0:
		v.badAt(v.next, BadSignature, "no record of the log is under a signature")
	case v.stopped && !v.report.Closed:
		v.badAt(v.next, BadSignature, "the server ended in order, and its last checkpoint is missing")
	}
}
