package plugins

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

var logLevels = [...]slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}

// guestLog is what one call logs, up to MaxLog bytes in MaxLogLines lines.
type guestLog struct {
	lines []logLine
	bytes int
	lost  int // lines that were over a limit, or cut

	written []byte // the line that is being written to a standard stream
}

type logLine struct {
	level slog.Level
	text  string
}

// add takes a line: one that is too long is cut, one too many is counted.
func (l *guestLog) add(level slog.Level, text []byte) {
	room := MaxLog - l.bytes
	if len(l.lines) == MaxLogLines || room == 0 && len(text) > 0 {
		l.lost++
		return
	}
	if len(text) > room {
		text = text[:room]
		l.lost++
	}
	l.bytes += len(text)
	l.lines = append(l.lines, logLine{level, string(text)})
}

// maxWritten is how long a line on a standard stream becomes before it is one.
const maxWritten = 4 << 10

// write takes a piece of a standard stream, which becomes lines.
func (l *guestLog) write(level slog.Level, text []byte) {
	for len(text) > 0 && l.lost == 0 {
		piece := text[:min(len(text), maxWritten-len(l.written))]
		if end := bytes.IndexByte(piece, '\n'); end >= 0 {
			piece = piece[:end]
		}
		l.written = append(l.written, piece...)
		text = text[len(piece):]
		if whole := len(text) > 0 && text[0] == '\n'; whole || len(l.written) == maxWritten {
			l.add(level, l.written)
			l.written = l.written[:0]
			if whole {
				text = text[1:]
			}
		}
	}
}

// end takes what was written without an end of line.
func (l *guestLog) end() {
	if len(l.written) > 0 {
		l.add(slog.LevelInfo, l.written)
		l.written = nil
	}
}

// texts are the lines as an Outcome tells them.
func (l *guestLog) texts() []string {
	l.end()
	if len(l.lines) == 0 && l.lost == 0 {
		return nil
	}
	out := make([]string, 0, len(l.lines)+1)
	for _, line := range l.lines {
		out = append(out, strings.ToLower(line.level.String())+": "+visible(line.text))
	}
	if l.lost > 0 {
		out = append(out, "warn: "+strconv.Itoa(l.lost)+" lines were over the limit")
	}
	return out
}

// tell passes the lines on to a logger.
func (l *guestLog) tell(ctx context.Context, log *slog.Logger, plugin string, hook Hook) {
	l.end()
	for _, line := range l.lines {
		if log.Enabled(ctx, line.level) {
			log.LogAttrs(ctx, line.level, "plugin", slog.String("plugin", plugin), slog.String("hook", string(hook)), slog.String("text", visible(line.text)))
		}
	}
	if l.lost > 0 {
		log.LogAttrs(ctx, slog.LevelWarn, "plugin logs too much", slog.String("plugin", plugin), slog.String("hook", string(hook)), slog.Int("lost", l.lost))
	}
}

// visible escapes what a reader would not see or would take for something else:
// all texts of plugins are shown so.
func visible(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if part := s[i : i+size]; unseen.Rune(r) || r == utf8.RuneError && size == 1 {
			quoted := strconv.QuoteToASCII(part)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteString(part)
		}
		i += size
	}
	return b.String()
}
