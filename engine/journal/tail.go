package journal

import (
	"bytes"
	"errors"
	"io"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// tail is what the end of a segment tells.
type tail struct {
	record event.SessionRecord
	found  bool  // record is one
	next   int64 // id of the next event, as far as this segment knows
	good   int64 // offset behind the last line that can be read
	spoilt int64 // lines behind it that cannot
}

// tailSizes are how much of a segment's end is read to find its newest record;
// the second holds one, unless very long lines follow it. After them all is read.
var tailSizes = []int64{8 << 10, 160 << 10}

// readTail reads the end of a segment whose first id is known. strict decodes
// every event, for whom it matters where exactly the segment breaks off.
func readTail(f io.ReaderAt, size, first int64, strict bool) (tail, error) {
	for _, n := range tailSizes {
		if n >= size {
			break
		}
		if t, err := tailFrom(f, size-n, size, first, strict); err != nil || t.found {
			return t, err
		}
	}
	return tailFrom(f, 0, size, first, strict)
}

func tailFrom(f io.ReaderAt, from, size, first int64, strict bool) (tail, error) {
	l := newLines(io.NewSectionReader(f, from, size-from), from)
	defer l.close()
	t := tail{next: first}
	if from > 0 { // in the middle of a line, as a rule
		if _, _, err := l.next(); errors.Is(err, io.EOF) {
			return t, nil
		} else if err != nil {
			return t, err
		}
	}
	err := l.each(func(line []byte, _ int64) bool {
		t.take(line, l.off, strict)
		return true
	})
	return t, err
}

// take looks at a line that ends at off.
func (t *tail) take(line []byte, off int64, strict bool) {
	next, ok := t.read(line, strict)
	if !ok {
		t.spoilt++
		return
	}
	t.next = max(t.next, next)
	t.good, t.spoilt = off, 0
}

// read is what a line says of the next id.
func (t *tail) read(line []byte, strict bool) (next int64, ok bool) {
	switch {
	case bytes.HasPrefix(line, []byte(beginEvent)):
		id, ok := eventID(line)
		if ok && strict {
			_, ok = decodeEvent(line)
		}
		return id + 1, ok
	case bytes.HasPrefix(line, []byte(beginRecord)), bytes.HasPrefix(line, []byte(beginHeader)):
		r, next, ok := decodeRecord(line)
		if ok {
			t.record, t.found = r, true
		}
		return next, ok
	case bytes.HasPrefix(line, []byte(beginLost)):
		return decodeLost(line)
	}
	return 0, bytes.HasPrefix(line, []byte(beginTorn))
}
