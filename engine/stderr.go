package engine

import (
	"context"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// stderrCover redacts what the CLI writes to stderr before any of it is kept:
// first as a stream, for the redactors that take pieces, then line by line.
type stderrCover struct {
	session *Session
	stream  event.Stream // nil: no redactor takes pieces
	line    strings.Builder
	long    bool // the line under way is over maxStderrLine
}

// maxStderrLine bounds a line; a longer one is not kept, since a cut could leave
// half of a secret.
const maxStderrLine = 16 << 10

// newStderrCover is the cover of one process.
func (s *Session) newStderrCover() cli.Cover {
	stream, err := s.log.Stream(s.untilDone(), event.Payload{Sink: event.SinkStderr, Kind: event.Notice})
	if err != nil {
		return nothingKept{}
	}
	return &stderrCover{session: s, stream: stream}
}

// Write implements cli.Cover.
func (c *stderrCover) Write(piece string) string {
	if c.stream != nil {
		piece, _ = c.stream.Write(piece)
	}
	return c.lines(piece)
}

// Close implements cli.Cover.
func (c *stderrCover) Close() string {
	rest := ""
	if c.stream != nil {
		rest, _ = c.stream.Close()
	}
	return c.lines(rest) + c.endLine()
}

// lines returns the lines that are complete.
func (c *stderrCover) lines(text string) string {
	var out strings.Builder
	for text != "" {
		part, rest, ended := strings.Cut(text, "\n")
		if c.line.Len()+len(part) > maxStderrLine {
			c.line.Reset()
			c.long = true
		}
		if !c.long {
			c.line.WriteString(part)
		}
		if text = rest; ended {
			out.WriteString(c.endLine() + "\n")
		}
	}
	return out.String()
}

func (c *stderrCover) endLine() string {
	line := strings.ToValidUTF8(c.line.String(), "\uFFFD")
	c.line.Reset()
	switch {
	case c.long:
		c.long = false
		return fmt.Sprintf("[a line of over %d bytes was left out]", maxStderrLine)
	case line == "":
		return ""
	}
	return c.session.redactSort(event.Payload{Sink: event.SinkStderr, Kind: event.Notice}, line)
}

// nothingKept stands for a cover that could not be made.
type nothingKept struct{}

func (nothingKept) Write(string) string { return "" }
func (nothingKept) Close() string       { return withheldText }

// redactVersion covers what a CLI says that was asked for its version: there is no
// session yet.
func (e *Engine) redactVersion(ctx context.Context, text string) string {
	s := Session{log: event.NewLog(0, e.o.Redactors...), ctx: ctx}
	return s.redactText(event.SinkStderr, strings.ToValidUTF8(text, "\uFFFD"))
}
