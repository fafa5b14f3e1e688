package decisionlog

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// maxReadLine bounds a line that is read; a longer one counts as unreadable.
const maxReadLine = 2 * maxLine

// ReadFile calls each with every event of a file, in order, until it returns an
// error. Lines that are no events are counted and left out. The error is that of
// the file, or what each returned.
func ReadFile(path string, each func(Event) error) (unreadable int, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return 0, fmt.Errorf("decision log: %w", err)
	}
	defer f.Close()
	return Read(f, each)
}

// Read is ReadFile for a stream.
func Read(r io.Reader, each func(Event) error) (unreadable int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, long, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return unreadable, fmt.Errorf("decision log: %w", err)
		}
		ended := err != nil
		switch event, ok := parse(line); {
		case long || !ok && len(bytes.TrimSpace(line)) > 0:
			unreadable++
		case ok:
			if err := each(event); err != nil {
				return unreadable, err
			}
		}
		if ended {
			return unreadable, nil
		}
	}
}

// readLine reads one line of any length but keeps no more than maxReadLine.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxReadLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

// parse reads one line; false when it is no decision.
func parse(line []byte) (Event, bool) {
	var e Event
	if len(bytes.TrimSpace(line)) == 0 || decode(line, &e) != nil {
		return e, false
	}
	return e, e.DecisionID != "" && e.Path != ""
}
