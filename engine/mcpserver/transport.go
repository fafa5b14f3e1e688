package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLineBytes bounds one message from a client, the newline not counted.
const maxLineBytes = 16 << 20

// Transport serves newline-delimited JSON-RPC over in and out, behind a filter:
// a line that is no message is answered with a JSON-RPC error and skipped. The
// SDK alone ends the whole connection on such a line, with every session in it.
//
// -32700 answers what is not JSON; -32600 answers batches, another jsonrpc
// version, odd ids, lines over 16 MiB, nesting over 512, and names that two
// readers could take differently (given twice, or in other case). The
// connection ends with in, or when either side closes it; in is closed then, if
// it can be, and out too. A nil logger discards.
func Transport(in io.Reader, out io.WriteCloser, logger *slog.Logger) mcp.Transport {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	w := &lineWriter{w: out, splices: newSplices()}
	return &stdio{splices: w.splices, IOTransport: mcp.IOTransport{
		Reader:        newLineFilter(in, w, maxLineBytes, logger),
		Writer:        w,
		MaxLineLength: -1, // bounded by the filter; the SDK's bound ends the connection
	}}
}

// lineWriter keeps the lines of its two writers, the SDK and the filter, whole.
// Each Write must be one or more complete lines.
type lineWriter struct {
	splices *splices

	mu sync.Mutex
	w  io.WriteCloser
}

func (l *lineWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.splices.write(l.w, p); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (l *lineWriter) Close() error { return l.w.Close() }

// Bounds of the answers to bad lines: a client that does not read them must not
// keep us from reading its lines, and from seeing their end.
const (
	maxRefusals  = 64
	flushRefused = time.Second // what they get to be read, once the input has ended
)

var errUnread = errors.New("the client sends bad lines and does not read the answers")

// lineFilter is a Reader of good lines only. Not safe for concurrent Reads;
// Close may be called at any time.
type lineFilter struct {
	in      io.Reader
	lines   *bufio.Reader
	replies io.Writer
	limit   int
	logger  *slog.Logger
	refused chan []byte   // answers to bad lines; nil before the first
	flushed chan struct{} // closed when all of them are written
	ready   []byte        // rest of a good line
	err     error         // told when ready is empty
}

func newLineFilter(in io.Reader, replies io.Writer, limit int, logger *slog.Logger) *lineFilter {
	return &lineFilter{in: in, lines: bufio.NewReaderSize(in, 64<<10), replies: replies, limit: limit, logger: logger}
}

// Read returns bytes of the next good line; the last one may lack its newline
// in the input but not here.
func (f *lineFilter) Read(p []byte) (int, error) {
	for len(f.ready) == 0 {
		if f.err != nil {
			f.flush()
			return 0, f.err
		}
		f.ready = f.next()
	}
	n := copy(p, f.ready)
	f.ready = f.ready[n:]
	if len(f.ready) == 0 {
		f.ready = nil // a large line is not kept
	}
	return n, nil
}

// Close closes the input if it can be closed.
func (f *lineFilter) Close() error {
	if c, ok := f.in.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// next reads one line and returns it when it is a message, else nil.
func (f *lineFilter) next() []byte {
	line, length, err := f.readLine()
	f.err = err
	line = bytes.TrimSpace(line)
	bad := (*refusal)(nil)
	switch {
	case length > f.limit:
		bad = refuse(codeInvalidRequest, "line has %d bytes, more than the %d allowed; it was skipped", length, f.limit)
	case len(line) == 0:
		return nil
	default:
		bad = checkMessage(line)
	}
	if bad == nil {
		return append(line, '\n')
	}
	f.logger.Warn("line from the client refused", "code", bad.code, "reason", bad.message, "bytes", length)
	f.answer(bad.reply())
	return nil
}

// answer queues the reply to a bad line; a full queue ends the connection.
func (f *lineFilter) answer(reply []byte) {
	if f.refused == nil {
		f.refused, f.flushed = make(chan []byte, maxRefusals), make(chan struct{})
		go writeAll(f.replies, f.refused, f.flushed) // ends with the input, or with the write that nobody reads
	}
	select {
	case f.refused <- reply:
	default:
		f.err = cmp.Or(f.err, errUnread)
	}
}

func writeAll(w io.Writer, lines <-chan []byte, done chan<- struct{}) {
	defer close(done)
	var failed error
	for line := range lines {
		if failed == nil { // else only emptied: the reader sees the end by itself
			_, failed = w.Write(line)
		}
	}
}

// flush lets the last answers be written; it waits a moment at most.
func (f *lineFilter) flush() {
	if f.refused == nil {
		return
	}
	close(f.refused)
	f.refused = nil
	select {
	case <-f.flushed:
	case <-time.After(flushRefused):
	}
}

// readLine reads up to a newline, keeping at most limit bytes. length is the
// whole line's.
func (f *lineFilter) readLine() (line []byte, length int, err error) {
	for {
		part, err := f.lines.ReadSlice('\n')
		length += len(bytes.TrimSuffix(part, []byte("\n")))
		if length <= f.limit {
			line = append(line, part...)
		} else {
			line = nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, length, err
		}
	}
}
