package audit

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// maxOpen bounds the files a Stream holds open at once.
const maxOpen = 64

// Entry is a record as it was read. It was not verified against the one before.
type Entry struct {
	Record
	Raw []byte // its line, good until the next entry
	Err error  // not nil: this is a line that is no record, the fields are empty
}

// Stream reads the logs of all servers below a root, in the order of time. It is
// for one goroutine.
type Stream struct {
	root  string
	since time.Time
	logs  map[string]*reading
	open  int
}

// NewStream begins at the records of since, roughly: files that were last written
// before are left out. Zero: at the beginning.
func NewStream(root string, since time.Time) *Stream {
	return &Stream{root: root, since: since, logs: map[string]*reading{}}
}

// Close closes the files.
func (s *Stream) Close() {
	for _, r := range s.logs {
		r.close()
	}
}

// Each calls f with what was not read yet and ends when there is no more, or with
// the error of f. Call it again for what came since.
func (s *Stream) Each(f func(Entry) error) error {
	if err := s.look(); err != nil {
		return err
	}
	var waiting []*reading
	for _, r := range s.logs {
		more, err := r.begin()
		if err != nil {
			return err
		}
		if more {
			waiting = append(waiting, r)
		}
	}
	slices.SortFunc(waiting, byTime)
	for len(waiting) > 0 {
		r := waiting[0]
		if err := f(r.entry); err != nil {
			return err
		}
		r.has = false
		more, err := r.advance()
		if err != nil {
			return err
		}
		waiting = waiting[1:]
		if more { // back to where it belongs, mostly the front
			at, _ := slices.BinarySearchFunc(waiting, r, byTime)
			waiting = slices.Insert(waiting, at, r)
		}
	}
	return nil
}

// restEvery is how many looks a log is left alone that has ended: only a copy that
// somebody goes on with can grow then.
const restEvery = 40

// begin is advance for the first entry of a look.
func (r *reading) begin() (bool, error) {
	if r.rest > 0 {
		r.rest--
		return false, nil
	}
	live := running(r.Folder) // looked at first: it may end while it is read
	more, err := r.advance()
	if !more && !live {
		r.rest = restEvery
	}
	return more, err
}

func byTime(a, b *reading) int {
	return cmp.Or(a.entry.Time.Compare(b.entry.Time), cmp.Compare(a.Boot, b.Boot))
}

// look finds logs that are new.
func (s *Stream) look() error {
	all, err := Logs(s.root)
	for _, one := range all {
		if s.logs[one.Boot] == nil {
			s.logs[one.Boot] = &reading{Source: one, stream: s}
		}
	}
	return err
}

// reading is how far one log was read.
type reading struct {
	Source
	stream *Stream

	segment string // empty: not begun
	first   int64  // number of its first record
	offset  int64  // of what comes next
	file    *os.File
	lines   lineReader

	entry Entry // the next one, where has is set
	has   bool
	last  time.Time // of the entry before
	seq   int64     // behind that; 0: none
	hash  string    // of the last record
	gap   int64     // number of the last audit_gap

	resumed bool // the next line is the first after the file was opened in its middle
	reread  bool // the file was begun again, and nothing new was met yet
	broken  bool // the file cannot be read on
	rest    int  // looks that are left out
}

func (r *reading) close() {
	if r.file != nil {
		r.file.Close()
		r.file, r.lines = nil, lineReader{} // its buffer is 64 KiB, and there may be thousands of logs
		r.entry.Raw = bytes.Clone(r.entry.Raw)
		r.stream.open--
	}
}

// advance reads the next entry, if there is one.
func (r *reading) advance() (bool, error) {
	for !r.has {
		if r.segment == "" || r.broken {
			if more, err := r.nextFile(); !more || err != nil {
				return false, err
			}
		}
		err := r.read()
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) || errors.Is(err, errTorn) || errors.Is(err, fs.ErrNotExist):
			r.close()
			if more, err := r.nextFile(); !more || err != nil {
				return false, err
			}
			if errors.Is(err, errTorn) {
				r.unreadable(err)
			}
		case errors.Is(err, errLong):
			r.unreadable(err)
			r.broken = true
		default:
			return false, fmt.Errorf("audit log %s: %w", r.Folder, err)
		}
	}
	if r.has && r.stream.open > maxOpen {
		r.close()
	}
	return r.has, nil
}

// sinceMargin is how much the times of files and those of records may differ.
const sinceMargin = time.Minute

// nextFile goes to the file after this one, if there is one.
func (r *reading) nextFile() (bool, error) {
	all, err := segments(r.Folder)
	if err != nil {
		return false, fmt.Errorf("audit log %s: %w", r.Folder, err)
	}
	for _, s := range all {
		old := r.segment == "" && s.modified.Before(r.stream.since.Add(-sinceMargin))
		if (r.segment == "" || s.first > r.first) && !old {
			r.close()
			r.segment, r.first, r.offset, r.broken = s.name, s.first, 0, false
			return true, nil
		}
	}
	return false, nil
}

// read takes one line of the file.
func (r *reading) read() error {
	if r.file == nil {
		f, err := regular.Open(inFolder(r.Folder, r.segment))
		if err != nil {
			return err
		}
		r.file = f
		r.stream.open++
		if info, err := f.Stat(); err == nil && info.Size() < r.offset { // records were taken back
			r.offset, r.reread = 0, true
		}
		r.resumed = r.offset > 0
		r.lines = newLineReader(io.NewSectionReader(f, r.offset, 1<<62))
	}
	line, err := r.lines.next()
	if err != nil {
		return err
	}
	resumed := r.resumed
	r.resumed = false
	record, why := parse(line)
	if resumed && (why != "" || record.Prev != r.hash) && !r.reread {
		r.close() // what stood before this place was taken back
		r.offset, r.reread = 0, true
		return nil
	}
	r.offset += int64(len(line)) + 1
	if why != "" {
		r.unreadable(errors.New(why))
		return nil
	}
	if record.Kind == Gap && record.Seq < r.seq && record.Seq > r.gap { // it stands where the first one was taken back
		r.seq = record.Seq
	}
	if record.Seq < r.seq { // was read before
		return nil
	}
	if record.Kind == Gap {
		r.gap = record.Seq
	}
	r.seq, r.last, r.hash, r.reread = record.Seq+1, record.Time, record.Hash, false
	r.entry, r.has = Entry{Record: record, Raw: line}, true
	return nil
}

// unreadable stands in the place of a line that is no record.
func (r *reading) unreadable(err error) {
	r.entry = Entry{Err: fmt.Errorf("server %s: %s: %w", r.Boot, r.segment, err)}
	r.entry.Boot, r.entry.Time, r.has = r.Boot, r.last, true
}
