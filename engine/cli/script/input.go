package script

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// inbound is a line of stdin.
type inbound struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	Message json.RawMessage `json:"message"`
}

// handle acts on one line of stdin and reports whether to go on reading.
func (p *process) handle(line []byte) bool {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return true
	}
	var in inbound
	if err := json.Unmarshal(line, &in); err != nil {
		p.fail(1, fmt.Sprintf("Error parsing streaming input line: %s: SyntaxError: %v", line, err))
		return false
	}
	switch in.Type {
	case "user":
		return p.handleUser(in)
	case "control_response":
		p.answered(in)
	case "control_request":
		if in.Request == nil {
			p.fail(1, fmt.Sprintf("Error parsing streaming input line: %s: TypeError: request is missing", line))
			return false
		}
		p.handleControl(in)
	}
	return true
}

// answered hands an answer to who asked. A second one finds nothing; to a message
// for a server there must not be a second one.
func (p *process) answered(in inbound) {
	id := in.Response.RequestID
	q := p.take(id)
	if q == nil {
		p.mu.Lock()
		twice := p.answers[id]
		p.mu.Unlock()
		if twice {
			p.broken("mcp_message %s was answered twice", id)
		}
		return
	}
	if q.done != nil {
		p.mu.Lock()
		if len(p.answers) < maxAnswers {
			p.answers[id] = true
		}
		p.mu.Unlock()
	}
	q.deliver(in.answer())
}

func (in inbound) answer() answer {
	if in.Response.Subtype != "success" {
		return answer{err: errors.New(in.Response.Error)}
	}
	return answer{body: in.Response.Response}
}

func (p *process) handleUser(in inbound) bool {
	var m struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	}
	if err := json.Unmarshal(in.Message, &m); err != nil || m.Role != "user" {
		p.fail(1, fmt.Sprintf("Error: Expected message role 'user', got '%s'", m.Role))
		return false
	}
	p.mu.Lock()
	turns := p.sc.turns(p.opt.has("--resume"))
	steps := []Step{{Text: "(script exhausted)"}}
	if p.nextTurn < len(turns) {
		steps = turns[p.nextTurn]
		p.nextTurn++
	}
	t := newTurn(steps)
	t.prompt, t.hasPrompt, t.message = promptText(m.Content), true, in.Message
	p.queue = append(p.queue, t)
	p.mu.Unlock()
	p.poke()
	return !p.sc.NoReadStdin
}

// promptText joins the text of a message's content, a string or blocks.
func promptText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var blocks []struct{ Text string }
	_ = json.Unmarshal(content, &blocks) // anything else has no text
	for _, b := range blocks {
		s += b.Text
	}
	return s
}
