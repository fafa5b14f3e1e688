package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

// newLogger writes one JSON object a line to w. Secrets of the vendor formats, and
// what coverLog adds, are covered in every text of it, and no character is raw
// that a terminal obeys.
func newLogger(w io.Writer, level slog.Level) *slog.Logger {
	return newLogOutput(w, new(sync.Mutex), level, scanRedactor{})
}

func newLogOutput(w io.Writer, write *sync.Mutex, level slog.Level, r event.Redactor) *slog.Logger {
	o := &logOutput{w: w, write: write, level: level}
	o.redactor.Store(&r)
	return slog.New(logHandler{slog.NewJSONHandler(o, &slog.HandlerOptions{Level: level}), o})
}

// coverLog has r cover what logger writes from now on. r must not log through it:
// a line of its own would wait for itself.
func coverLog(logger *slog.Logger, r event.Redactor) {
	if h, ok := logger.Handler().(logHandler); ok { // else it is that of a test
		h.out.redactor.Store(&r)
	}
}

// besideLog is another logger to where logger writes, with a redactor of its own.
func besideLog(logger *slog.Logger, r event.Redactor) *slog.Logger {
	h, ok := logger.Handler().(logHandler)
	if !ok {
		return logger
	}
	return newLogOutput(h.out.w, h.out.write, h.out.level, r)
}

// logHandler is a JSON handler that knows where it writes.
type logHandler struct {
	*slog.JSONHandler
	out *logOutput
}

// logOutput covers lines before it writes them. The redactor sees whole lines, so
// that nothing depends on the kind of an attribute.
type logOutput struct {
	w        io.Writer
	write    *sync.Mutex // shared with the other outputs of w
	redactor atomic.Pointer[event.Redactor]
	level    slog.Level
}

// Write takes one line. One that cannot be covered is replaced by a line that
// says so.
func (o *logOutput) Write(line []byte) (int, error) {
	p := event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: json.RawMessage(bytes.TrimSuffix(line, []byte("\n")))}
	out, _, ok := event.Redact(context.Background(), []event.Redactor{*o.redactor.Load()}, p)
	if !ok {
		out = fmt.Appendf(nil, `{"time":%q,"level":"ERROR","msg":"a log line was withheld: covering secrets in it ended with an error"}`, time.Now().Format(time.RFC3339Nano))
	}
	out = append(escapeUnseen(out), '\n')
	o.write.Lock()
	defer o.write.Unlock()
	if _, err := o.w.Write(out); err != nil {
		return 0, err
	}
	return len(line), nil
}

// escapeUnseen writes the characters of a JSON document that a reader would not
// see, or a terminal would obey, as escapes. They stand in strings only. The
// result is never line itself.
func escapeUnseen(line []byte) []byte {
	out := make([]byte, 0, len(line)+1)
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1:
			out = append(out, `\ufffd`...)
		case !unseen.Rune(r):
			out = append(out, line[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		line = line[size:]
	}
	return out
}
