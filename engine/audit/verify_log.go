package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// verification is one pass over a log.
type verification struct {
	source  Source
	report  LogReport
	ring    keyring
	anchors []anchor // not met yet

	segment  string
	line     int
	next     int64 // number of the record that has to come
	prev     string
	begun    bool
	stopped  bool // server_stop was met
	unsigned int64
	time     time.Time
	back     int // records with a time before that of the one before
}

func verifyLog(s Source, anchors []anchor, o VerifyOptions) (LogReport, error) {
	v := &verification{source: s, anchors: anchors, ring: keyring{given: o.Keys}}
	v.report = LogReport{Boot: s.Boot, Last: -1, SignedTo: -1, Live: running(s.Folder)}
	all, err := segments(s.Folder)
	if err != nil {
		return v.report, err
	}
	v.report.Segments = len(all)
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
			v.bad(Edited, "the line is longer than a record may be")
		default:
			return err
		}
	}
	return nil
}

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

// take goes on behind a record that is in its place.
func (v *verification) take(r Record) {
	v.unsigned++
	switch r.Kind {
	case Checkpoint:
		v.checkpoint(r)
	case ServerStop:
		v.stopped = true
	case Gap:
		v.gap(r)
	case Removal:
		var told removal
		if json.Unmarshal(r.Detail, &told) == nil {
			v.report.removed = append(v.report.removed, told)
		}
	}
	if len(v.ring.given) > 0 && v.unsigned > checkpointRecords {
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
	}
}

// gap notes what the log says was lost, and forgets what others saw of records
// that were taken back.
func (v *verification) gap(r Record) {
	var g gap
	if json.Unmarshal(r.Detail, &g) != nil {
		return
	}
	v.report.Notes = append(v.report.Notes, fmt.Sprintf("record %d: %d records and %d notes before it could not be written", r.Seq, g.Records, g.Notes))
	left := v.anchors[:0:0]
	for _, a := range v.anchors {
		if !a.live || a.seq < r.Seq || a.seq >= r.Seq+min(g.Undone, maxBatch+maxBatch/checkpointRecords+2) {
			left = append(left, a)
		}
	}
	v.anchors = left
}

// anchor compares a record with what is known of it elsewhere.
func (v *verification) anchor(r Record) {
	left := v.anchors[:0:0]
	for _, a := range v.anchors {
		switch {
		case a.seq != r.Seq:
			left = append(left, a)
		case a.hash != r.Hash:
			v.bad(Replaced, "%s knows another one with this number", a.from)
		}
	}
	v.anchors = left
}

// finish looks at the end of the log.
func (v *verification) finish() {
	if v.report.Bad != nil {
		return
	}
	for _, a := range v.anchors {
		if a.seq >= v.next {
			v.line++
			v.badAt(v.next, Cut, "the log ends before it, and %s knows record %d", a.from, a.seq)
			return
		}
	}
	n := &v.report.Notes
	switch {
	case v.report.Torn > 0 && v.report.Live:
		*n = append(*n, fmt.Sprintf("%d bytes behind record %d: it is being written", v.report.Torn, v.next-1))
	case v.report.Torn > 0:
		*n = append(*n, fmt.Sprintf("torn tail after record %d (crash): %d bytes", v.next-1, v.report.Torn))
	case !v.stopped && !v.report.Live:
		*n = append(*n, fmt.Sprintf("ends with record %d, without server_stop: the server was killed, or the end is cut; only a checkpoint kept elsewhere tells", v.next-1))
	case v.stopped && !v.report.Closed:
		*n = append(*n, "ends without its last checkpoint")
	}
	if v.back > 0 {
		*n = append(*n, fmt.Sprintf("the clock was set back %d times", v.back))
	}
}
