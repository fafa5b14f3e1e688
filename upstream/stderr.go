package upstream

import (
	"context"
	"log/slog"
	"strings"
	"time"
)

// Bounds of what is logged of a program's stderr.
const (
	stderrLines = 20 // a second
	stderrLine  = 1 << 10
	stderrHeld  = 16 << 10 // bytes without a newline that are waited with
)

// stderrCover covers what a program writes to stderr, a line at a time, and logs
// it. It is the cli.Cover of one process.
type stderrCover struct {
	cover  *cover
	logger *slog.Logger
	rate   meter
	held   string // the beginning of a line
}

func newStderrCover(c *cover, logger *slog.Logger) *stderrCover {
	return &stderrCover{cover: c, logger: logger, rate: meter{window: time.Second, most: stderrLines}}
}

// Write implements cli.Cover.
func (s *stderrCover) Write(piece string) (kept string) {
	s.held += piece
	end := strings.LastIndexByte(s.held, '\n') + 1
	if end > 0 {
		kept, s.held = s.cover.text(s.held[:end]), s.held[end:]
	}
	if len(s.held) > stderrHeld { // a secret may have begun at its end
		hidden := s.cover.text(s.held)
		end := max(0, len(hidden)-s.cover.longest)
		kept, s.held = kept+hidden[:end], hidden[end:]
	}
	s.log(kept)
	return kept
}

// Close implements cli.Cover.
func (s *stderrCover) Close() (rest string) {
	rest = s.cover.text(s.held)
	s.log(rest)
	return rest
}

func (s *stderrCover) log(text string) {
	if !s.logger.Enabled(context.Background(), slog.LevelInfo) {
		return
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		missed, ok := s.rate.take(1)
		if !ok {
			continue
		}
		if missed > 0 {
			s.logger.Info("mcp server: lines on stderr were not logged", "lines", missed)
		}
		s.logger.Info("mcp server: stderr", "line", clip(line, stderrLine))
	}
}

// clip cuts a text to so many bytes, and says so.
func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
