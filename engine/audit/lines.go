package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// Reading errors of one line.
var (
	errTorn = errors.New("a line without an end")
	errLong = errors.New("a line that is too long for a record")
)

// lineReader reads lines within the bound.
type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) lineReader { return lineReader{bufio.NewReaderSize(r, maxRecord+1)} }

// next returns a line without its end, good until the next call; [io.EOF] after
// the last, errTorn with what stands behind it, errLong with the beginning of it.
func (l lineReader) next() ([]byte, error) {
	line, err := l.r.ReadSlice('\n')
	switch {
	case err == nil:
		return line[:len(line)-1], nil
	case errors.Is(err, bufio.ErrBufferFull):
		return line, errLong
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, errTorn
	}
	return nil, err
}

// rest counts what is left without an end of line, after errLong; false when one
// comes, or more than most bytes.
func (l lineReader) rest(most int) (n int, tail bool) {
	for n <= most {
		part, err := l.r.ReadSlice('\n')
		n += len(part)
		switch {
		case errors.Is(err, io.EOF):
			return n, n <= most
		case !errors.Is(err, bufio.ErrBufferFull):
			return n, false
		}
	}
	return n, false
}

// parse reads a line and says why it is no record as the log writes it.
func parse(line []byte) (r Record, why string) {
	open, hash, ok := splitHash(line)
	if !ok {
		return r, "it does not end with a hash"
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, "it is no record: " + err.Error()
	}
	if sum := recordHash(r.Prev, open); r.Hash != hash || hexString(sum[:]) != hash {
		return r, "its bytes do not fit its hash"
	}
	return r, ""
}

// splitHash returns a line up to its hash, and the hash.
func splitHash(line []byte) (open []byte, hash string, ok bool) {
	if len(line) <= tailBytes {
		return nil, "", false
	}
	open, tail := line[:len(line)-tailBytes], string(line[len(line)-tailBytes:])
	hash = tail[len(`,"h":"`) : len(tail)-2]
	return open, hash, tail == `,"h":"`+hash+`"}` && isHash(hash)
}

// lastRecord returns the last whole record of a log. It is not checked against
// the one before.
func lastRecord(folder string) (Record, bool) {
	all, err := segments(folder)
	if err != nil {
		return Record{}, false
	}
	for _, s := range slices.Backward(all) {
		if r, ok := lastOf(inFolder(folder, s.name)); ok {
			return r, true
		}
	}
	return Record{}, false
}

// lastOf returns the last whole record of a file.
func lastOf(path string) (Record, bool) {
	tail, err := readTail(path)
	if err != nil {
		return Record{}, false
	}
	end := bytes.LastIndexByte(tail, '\n')
	if end < 0 {
		return Record{}, false
	}
	start := bytes.LastIndexByte(tail[:end], '\n') + 1
	r, why := parse(tail[start:end])
	return r, why == ""
}

// readTail reads the end of a file, which holds a whole line if there is one: a
// torn line is no longer than what one batch holds.
func readTail(path string) ([]byte, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-2*maxRecord)
	return io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
}

// firstOf returns the first record of a log.
func firstOf(folder string) (Record, bool) {
	all, err := segments(folder)
	if err != nil || len(all) == 0 {
		return Record{}, false
	}
	f, err := regular.Open(inFolder(folder, all[0].name))
	if err != nil {
		return Record{}, false
	}
	defer f.Close()
	line, err := newLineReader(f).next()
	if err != nil {
		return Record{}, false
	}
	r, why := parse(line)
	return r, why == ""
}
