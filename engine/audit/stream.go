package audit

import (
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
		more, err := r.advance()
		if err != nil {
			return err
		}
		if more {
			waiting = append(waiting, r)
		}
	}
	for len(waiting) > 0 {
		slices.SortFunc(waiting, byTime)
		r := waiting[0]
		for again := true; again; {
			if err := f(r.entry); err != nil {
				return err
			}
			r.taken()
			more, err := r.advance()
			if err != nil {
				return err
			}
			if !more {
				waiting = waiting[1:]
			}
			again = more && (len(waiting) == 1 || byTime(r, waiting[1]) <= 0)
		}
	}
	return nil
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

	entry  Entry // the next one, where has is set
	has    bool
	last   time.Time // of the entry before
	seq    int64     // behind that; 0: none
	broken bool      // the file cannot be read on
}

func (r *reading) close() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
		r.stream.open--
	}
}

// taken forgets the entry that was read.
func (r *reading) taken() {
	r.has = false
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

// nextFile goes to the file after this one, if there is one.
func (r *reading) nextFile() (bool, error) {
	all, err := segments(r.Folder)
	if err != nil {
		return false, fmt.Errorf("audit log %s: %w", r.Folder, err)
	}
	for i, s := range all {
		old := r.segment == "" && i < len(all)-1 && s.modified.Before(r.stream.since)
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
			r.offset = 0
		}
		r.lines = newLineReader(io.NewSectionReader(f, r.offset, 1<<62))
	}
	line, err := r.lines.next()
	if err != nil {
		return err
	}
	r.offset += int64(len(line)) + 1
	record, why := parse(line)
	if why != "" {
		r.unreadable(errors.New(why))
		return nil
	}
	if r.seq != 0 && record.Seq < r.seq { // read before they were taken back
		return nil
	}
	r.seq, r.last = record.Seq+1, record.Time
	r.entry, r.has = Entry{Record: record, Raw: line}, true
	return nil
}

// unreadable stands in the place of a line that is no record.
func (r *reading) unreadable(err error) {
	r.entry = Entry{Err: fmt.Errorf("server %s: %s: %w", r.Boot, r.segment, err)}
	r.entry.Boot, r.entry.Time, r.has = r.Boot, r.last, true
}
