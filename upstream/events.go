package upstream

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Bounds of a stream of events.
const (
	maxEventID  = 1 << 10
	leastRetry  = time.Second // what a server asks for is kept within these
	longestWait = time.Minute
)

// events is the body of a stream of events, each of which has passed the intake.
// It is read by one goroutine.
type events struct {
	body     io.ReadCloser
	in       *bufio.Reader
	endpoint *endpoint
	out      bytes.Buffer
	err      error // after out
}

func newEvents(body io.ReadCloser, e *endpoint) *events {
	return &events{body: body, in: bufio.NewReader(body), endpoint: e}
}

// Close implements io.Closer.
func (e *events) Close() error { return e.body.Close() }

// Read implements io.Reader.
func (e *events) Read(b []byte) (int, error) {
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		e.err = e.next()
	}
	return e.out.Read(b)
}

// event is one as it is read.
type event struct {
	name, id, retry string
	data            []byte
	has             bool // a line of data
}

// next reads an event and writes what is passed on of it.
func (e *events) next() error {
	v, err := e.event()
	if err != nil && !errors.Is(err, io.EOF) {
		return e.endpoint.giveUp(err)
	}
	if broken := e.pass(v); broken != nil {
		return e.endpoint.giveUp(broken)
	}
	return err
}

// event reads to the next blank line.
func (e *events) event() (v event, err error) {
	size := 0
	for {
		line, err := e.line(&size)
		if len(line) == 0 {
			return v, err
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "event":
			v.name = string(value)
		case "id":
			v.id = string(value)
		case "retry":
			v.retry = string(value)
		case "data":
			if v.has {
				v.data = append(v.data, '\n')
			}
			v.data, v.has = append(v.data, value...), true
		}
		if err != nil {
			return v, err
		}
	}
}

// line reads one, without its end; size counts the bytes of an event.
func (e *events) line(size *int) (line []byte, err error) {
	for {
		part, err := e.in.ReadSlice('\n')
		if *size += len(part); *size > maxMessage+maxEventID {
			return nil, errTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// pass writes what is passed on of an event; an error ends the connection.
func (e *events) pass(v event) error {
	var message jsonrpc.Message
	var err error
	if v.has && len(v.data) > 0 && (v.name == "" || v.name == "message") {
		message, err = e.endpoint.intake.take(v.data)
	} else {
		err = e.endpoint.intake.unbidden(len(v.data)) // a comment that keeps the connection, or the like
	}
	if err != nil {
		return err
	}
	if len(v.id) > 0 && len(v.id) <= maxEventID {
		fmt.Fprintf(&e.out, "id: %s\n", v.id)
	}
	if ms, err := strconv.ParseInt(v.retry, 10, 32); err == nil {
		wait := min(max(time.Duration(ms)*time.Millisecond, leastRetry), longestWait)
		fmt.Fprintf(&e.out, "retry: %d\n", wait.Milliseconds())
	}
	if message != nil {
		raw, err := jsonrpc.EncodeMessage(message)
		if err != nil {
			return err
		}
		fmt.Fprintf(&e.out, "data: %s\n", raw)
	}
	if e.out.Len() > 0 {
		e.out.WriteByte('\n')
	}
	return nil
}
