package journal

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

const (
	readSize   = 64 << 10  // what is read at once
	maxSegment = 256 << 20 // bytes of a segment that are looked at, whatever stands there
)

// lines reads a segment line by line. However it is filled, it holds one line of
// maxLine at most; a longer one is skipped.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int   // of what is in buf and was not returned
	off        int64 // of buf[start] in the segment
	failed     error // of the last read
}

var readBuffers = sync.Pool{New: func() any { b := make([]byte, readSize); return &b }}

// newLines reads r, which stands at offset off of a segment; close gives its
// memory back.
func newLines(r io.Reader, off int64) *lines {
	return &lines{r: io.LimitReader(r, maxSegment-off), buf: *readBuffers.Get().(*[]byte), off: off}
}

func (l *lines) close() {
	b := l.buf
	l.buf = nil
	if len(b) == readSize { // one that had to grow is better given up
		readBuffers.Put(&b)
	}
}

// next returns a line without its end, valid until the next call, and where it
// begins; nil for one that was too long. The error is io.EOF at the end, where
// torn() bytes may be left that no line break follows.
func (l *lines) next() (line []byte, off int64, err error) {
	seen, long := 0, false
	at := l.off
	for {
		if i := bytes.IndexByte(l.buf[l.start+seen:l.end], '\n'); i >= 0 {
			line = l.buf[l.start : l.start+seen+i]
			l.skip(seen + i + 1)
			if long {
				line = nil
			}
			return line, at, nil
		}
		if seen = l.end - l.start; seen > maxLine {
			l.skip(seen)
			seen, long = 0, true
		}
		if l.failed != nil {
			return nil, at, l.failed
		}
		l.fill()
	}
}

func (l *lines) skip(n int) {
	l.start += n
	l.off += int64(n)
}

// fill reads more behind what is there.
func (l *lines) fill() {
	if l.start > 0 {
		l.end = copy(l.buf, l.buf[l.start:l.end])
		l.start = 0
	}
	if l.end == len(l.buf) {
		l.buf = append(l.buf, make([]byte, min(len(l.buf), maxLine+1-len(l.buf)))...)
	}
	n, err := l.r.Read(l.buf[l.end:])
	l.end += n
	if err == nil && n == 0 {
		err = io.ErrNoProgress
	}
	l.failed = err
}

// torn is how many bytes were left behind the last line.
func (l *lines) torn() int64 { return int64(l.end - l.start) }

// each calls f for every line until it returns false. A failing read is an
// error, the end is none.
func (l *lines) each(f func(line []byte, off int64) bool) error {
	for {
		line, off, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !f(line, off):
			return nil
		}
	}
}
