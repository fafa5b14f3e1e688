package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

const (
	defaultPageBytes = 1 << 20
	// viewTries is how often a session is looked at again because the segments that
	// were about to be read were removed as too old.
	viewTries = 4
)

// view is a session as it was at one moment.
type view struct {
	id       string
	segments []segment
	next     int64
	marks    *marks
}

func (v view) first() int64 { return v.segments[0].first }

// read reads a page of a session; look returns the session as it is now.
func (j *Journal) read(w event.Window, look func() (view, error)) (event.Page, error) {
	for try := 1; ; try++ {
		v, err := look()
		if err != nil {
			return event.Page{}, err
		}
		p := newPage(w, v)
		err = j.fillPage(p, v)
		if errors.Is(err, fs.ErrNotExist) && try < viewTries {
			continue
		}
		return p.page, missing(err)
	}
}

// pageOf is a page that is being filled.
type pageOf struct {
	page  event.Page
	max   int
	bytes int64 // room
}

// newPage clamps a cursor into what is there and tells a jump, as a Log does.
func newPage(w event.Window, v view) *pageOf {
	p := &pageOf{max: w.Max, bytes: w.MaxBytes}
	if p.bytes <= 0 {
		p.bytes = defaultPageBytes
	}
	var want int64
	if w.From != nil {
		want = *w.From
	}
	p.page.Next = min(max(want, v.first()), v.next)
	if p.page.Next != want {
		p.jump(p.page.Next)
	}
	return p
}

func (p *pageOf) jump(to int64) {
	p.page.Next = to
	p.page.ResetTo = &to
}

// fillPage reads on from the page's next id until the page is full or nothing is
// left. The error is fs.ErrNotExist when every segment was removed meanwhile.
func (j *Journal) fillPage(p *pageOf, v view) error {
	i := sort.Search(len(v.segments), func(i int) bool { return v.segments[i].first > p.page.Next })
	for i = max(i-1, 0); i < len(v.segments) && p.page.Next < v.next; i++ {
		full, err := j.readSegment(p, v, v.segments[i])
		if errors.Is(err, fs.ErrNotExist) && i < len(v.segments)-1 { // too old just now
			full, err = !p.skip(v.segments[i+1].first), nil
		}
		if err != nil || full {
			return err
		}
	}
	if p.page.Next < v.next { // the last ones are lost
		p.skip(v.next)
	}
	return nil
}

// readSegment adds a segment's events; full reports that the page is.
func (j *Journal) readSegment(p *pageOf, v view, s segment) (full bool, err error) {
	f, size, err := j.openFile(v.id, s, os.O_RDONLY)
	if err != nil {
		return false, fmt.Errorf("file %s: %w", s.name(), err)
	}
	defer f.Close()
	return p.scan(f, size, v, s.number)
}

// scan adds the events that stand in r.
func (p *pageOf) scan(r io.ReaderAt, size int64, v view, number int) (full bool, err error) {
	from, _ := v.marks.at(number, p.page.Next)
	l := newLines(io.NewSectionReader(r, from.off, size-from.off), from.off)
	defer l.close()
	err = l.each(func(line []byte, off int64) bool {
		id, ok := eventID(line)
		if !ok {
			return true
		}
		v.marks.add(mark{number, id, off})
		full = id >= v.next || id >= p.page.Next && !p.add(line, id)
		return !full
	})
	return full, err
}

// add adds the event in line; false when the page can take no more.
func (p *pageOf) add(line []byte, id int64) bool {
	some := len(p.page.Events) > 0
	if some && p.max > 0 && len(p.page.Events) >= p.max {
		p.page.Truncated = true
		return false
	}
	e, ok := decodeEvent(line)
	if !ok || e.ID != id {
		return true // lost; the next one tells
	}
	if some && int64(len(e.Data)) > p.bytes {
		p.page.Truncated = true
		return false
	}
	if id > p.page.Next && !p.skip(id) {
		return false
	}
	p.page.Events = append(p.page.Events, e)
	p.page.Next = id + 1
	p.bytes -= int64(len(e.Data))
	return true
}

// skip passes over ids that are lost. A page never has a hole: it ends before
// one, and the page that begins with one tells it.
func (p *pageOf) skip(to int64) bool {
	if len(p.page.Events) > 0 {
		p.page.Truncated = true
		return false
	}
	p.jump(to)
	return true
}

// Read returns events of a session, see [event.Store].
func (j *Journal) Read(id string, w event.Window) (event.Page, error) {
	if h := j.writer(id); h != nil {
		return h.Read(w)
	}
	p, err := j.read(w, func() (view, error) { return j.look(id) })
	if err != nil {
		return p, fmt.Errorf("journal: session %q: %w", id, err)
	}
	return p, nil
}

// look returns a session as its files tell.
func (j *Journal) look(id string) (view, error) {
	s, _, err := j.summary(id)
	if err != nil {
		return view{}, err
	}
	return view{id: id, segments: s.segments, next: s.next, marks: j.places.of(id)}, nil
}
