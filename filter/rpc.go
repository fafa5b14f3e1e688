package filter

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// maxLine bounds one message of an MCP server, in bytes: what the CLI's own lines
// may have.
const maxLine = 16 << 20

// messages is the output of an MCP server: one JSON-RPC message a line. Messages
// without a secret pass byte for byte.
type messages struct {
	scan *redact.Plan // its detectors, for every message
	full *redact.Plan // nil: no edits beside them
	tool string
	line []byte       // the beginning of a message, at most maxLine
	rest *text        // of lines that are no JSON
	out  bytes.Buffer // of one call
	junk []byte       // covered, and waits for its newline
}

func (f *filter) newMessages() (*messages, error) {
	scan, err := redact.NewPlan(redact.Spec{Options: f.spec.Options})
	if err != nil {
		return nil, err
	}
	m := &messages{scan: scan, tool: "mcp__" + f.server + "__", rest: &text{plan: f.plan}}
	if len(f.spec.Edits) > 0 {
		m.full = f.plan
	}
	return m, nil
}

func (m *messages) ready() { m.rest.ready() }

func (m *messages) cover(piece []byte) ([]byte, error) {
	m.out.Reset()
	for len(piece) > 0 {
		n := bytes.IndexByte(piece, '\n') + 1
		if n == 0 {
			n = len(piece)
		}
		if len(m.line)+n > maxLine {
			return m.out.Bytes(), fmt.Errorf("it sent a message of more than %d bytes, the most that is searched for secrets", maxLine)
		}
		m.line = append(m.line, piece[:n]...)
		piece = piece[n:]
		if m.line[len(m.line)-1] == '\n' {
			m.pass()
		}
	}
	return m.out.Bytes(), nil
}

func (m *messages) end() []byte {
	m.out.Reset()
	if len(m.line) > 0 {
		m.pass()
	}
	m.out.Write(m.junk)
	m.out.Write(m.rest.end())
	return m.out.Bytes()
}

// pass writes the line to out.
func (m *messages) pass() {
	line := m.line
	m.line = m.line[:0]
	if cap(line) > 1<<20 {
		m.line = nil // one large message does not stay
	}
	if !json.Valid(line) {
		m.passText(line)
		return
	}
	body := bytes.TrimRight(line, "\r\n")
	covered, _ := m.scan.Apply(redact.Block{}, body)
	if m.full != nil {
		covered = m.edit(covered)
	}
	m.out.Write(covered)
	m.out.Write(line[len(body):])
}

// passText passes a line that is no message. What is held back of it waits for
// its end, so that it never stands before a message.
func (m *messages) passText(line []byte) {
	safe, _ := m.rest.cover(line)
	m.junk = append(m.junk, safe...)
	cut := bytes.LastIndexByte(m.junk, '\n') + 1
	m.out.Write(m.junk[:cut])
	m.junk = append(m.junk[:0], m.junk[cut:]...)
}

// edit applies the whole plan to what a tool, a resource or a prompt answered.
// Everything else, such as the handshake and the list of tools, keeps its form.
func (m *messages) edit(message json.RawMessage) json.RawMessage {
	var all map[string]json.RawMessage
	if json.Unmarshal(message, &all) != nil {
		return message // a batch, which the protocol no longer has
	}
	var answer struct{ Content, Contents, Messages json.RawMessage }
	if json.Unmarshal(all["result"], &answer) != nil || answer.Content == nil && answer.Contents == nil && answer.Messages == nil {
		return message
	}
	edited, findings := m.full.Apply(redact.Block{Type: "tool_result", Tool: m.tool}, all["result"])
	if len(findings) == 0 {
		return message
	}
	all["result"] = edited
	whole, err := json.Marshal(all)
	if err != nil {
		return redact.Scanner{}.Shape(message)
	}
	return whole
}
