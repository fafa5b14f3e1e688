package mcpserver

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool's answer goes out twice, as structured content and as text. The SDK
// encodes it anew at each of its layers, which for a long page takes far longer
// than everything else. So a long answer leaves a mark with the SDK, and the
// writer of the connection puts the answer, encoded once, in the mark's place.
// This works only for connections of Transport; others get the whole answer.

const (
	// spliceFrom is the size of an answer, in bytes, from which a mark pays.
	spliceFrom = 8 << 10
	// maxSplices bounds the answers of one connection that wait to be written.
	maxSplices = 64
)

// splices are the answers of one connection that wait to be written.
type splices struct {
	id   string // of the connection; logs show it
	mark string // every mark starts with it; nobody learns it, so no text can hold one

	mu     sync.Mutex
	last   int
	bodies map[string][]byte // by mark
}

// connections are the open connections of Transport, by id.
var connections sync.Map // string → *splices

func newSplices() *splices {
	return &splices{id: "gatehouse-" + rand.Text(), mark: "answer-" + rand.Text(), bodies: map[string][]byte{}}
}

// leave keeps body and returns its mark; ok is false when too many wait.
func (s *splices) leave(body []byte) (mark string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bodies) >= maxSplices {
		return "", false
	}
	s.last++
	mark = fmt.Sprintf("%s-%d", s.mark, s.last)
	s.bodies[mark] = body
	return mark, true
}

// take returns the mark in line and what it stands for.
func (s *splices) take(line []byte) (mark, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.bodies) == 0 {
		return nil, nil
	}
	start := bytes.Index(line, []byte(`"`+s.mark+"-"))
	if start < 0 {
		return nil, nil
	}
	end := start + 1 + bytes.IndexByte(line[start+1:], '"') + 1
	mark = line[start:end]
	name := string(mark[1 : len(mark)-1])
	body = s.bodies[name]
	delete(s.bodies, name)
	return mark, body
}

// write writes line with the answer in the place of its marks.
func (s *splices) write(w io.Writer, line []byte) error {
	mark, body := s.take(line)
	if body == nil {
		_, err := w.Write(line)
		return err
	}
	out := make([]byte, 0, len(line)+len(body)+len(body)/2)
	for {
		before, after, found := bytes.Cut(line, mark)
		out = append(out, before...)
		switch {
		case !found:
			_, err := w.Write(out)
			return err
		case bytes.HasSuffix(before, []byte(`"structuredContent":`)):
			if _, err := w.Write(out); err != nil {
				return err
			}
			if _, err := w.Write(body); err != nil {
				return err
			}
			out = out[:0]
		default:
			out = appendText(out, body)
		}
		line = after
	}
}

// appendText appends a JSON document as a JSON string. A document holds control
// characters only between its tokens, of which line breaks are for people.
func appendText(out, document []byte) []byte {
	out = append(out, '"')
	for _, c := range document {
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c < ' ':
			out = append(out, ' ')
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}

// stdio is the transport of Transport.
type stdio struct {
	mcp.IOTransport
	splices *splices
}

func (t *stdio) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := t.IOTransport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	connections.Store(t.splices.id, t.splices)
	return &connection{Connection: c, id: t.splices.id}, nil
}

// connection tells the tools which splices are its own, by its id.
type connection struct {
	mcp.Connection
	id string
}

func (c *connection) SessionID() string { return c.id }

func (c *connection) Close() error {
	connections.Delete(c.id)
	return c.Connection.Close()
}

// rendered makes a result of an encoded answer for the session that asked.
func rendered(session *mcp.ServerSession, body []byte) *mcp.CallToolResult {
	structured, text := json.RawMessage(body), string(body)
	if mark, ok := leaveMark(session, body); ok {
		structured, text = json.RawMessage(`"`+mark+`"`), mark
	}
	return &mcp.CallToolResult{
		StructuredContent: structured,
		Content:           []mcp.Content{&mcp.TextContent{Text: text}},
	}
}

func leaveMark(session *mcp.ServerSession, body []byte) (string, bool) {
	if session == nil || len(body) < spliceFrom {
		return "", false
	}
	if s, ok := connections.Load(session.ID()); ok {
		return s.(*splices).leave(body)
	}
	return "", false
}
