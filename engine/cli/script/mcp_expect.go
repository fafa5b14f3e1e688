package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// MCPMessage is a message for a server of the host, sent as it is. Without As the
// script waits for the answer.
type MCPMessage struct {
	Server  string  `json:"server_name"`
	Message any     `json:"message"` // JSON-RPC, or what is none
	As      string  `json:"as,omitempty"`
	Expect  *Expect `json:"expect,omitempty"` // without As
}

// MCPWait waits for the answer to the mcp_message of that name, or with no name
// until nothing sent to a server waits for its answer.
type MCPWait struct {
	As     string  `json:"as,omitempty"`
	Expect *Expect `json:"expect,omitempty"`
}

// Expect is what the answer to a call or message has to be; the script ends with
// exit code 3 where it is not. Empty fields expect nothing.
type Expect struct {
	IsError  *bool    `json:"is_error,omitempty"` // of a tool's result
	Code     *int     `json:"code,omitempty"`     // of a JSON-RPC error
	Contains []string `json:"contains,omitempty"` // in the result as the model reads it, or in the answer
	Lacks    []string `json:"lacks,omitempty"`
	Blocks   []string `json:"blocks,omitempty"` // kinds of the content blocks of a tool's result
	Bytes    int      `json:"bytes,omitempty"`  // the least there has to be
}

// messageTimeout bounds the wait for the answer to an mcp_message.
const messageTimeout = 2 * time.Minute

func (p *process) mcpMessage(a *actor, m *MCPMessage) error {
	q := p.post(m.Server, p.expand(a.t, m.Message))
	if m.As == "" {
		return p.mcpAnswer(a, fmt.Sprintf("message to server %q", m.Server), q, m.Expect)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.posted == nil {
		p.posted = map[string]*question{}
	}
	p.posted[m.As] = q
	return nil
}

func (p *process) mcpWait(a *actor, w *MCPWait) error {
	p.mu.Lock()
	waiting := []*question{p.posted[w.As]}
	if w.As == "" {
		waiting = slices.DeleteFunc(slices.Clone(p.pending), func(q *question) bool { return q.done == nil })
	}
	p.mu.Unlock()
	for _, q := range waiting {
		if q == nil {
			p.broken("no mcp_message is called %q", w.As)
			return errExit
		}
		if err := p.mcpAnswer(a, fmt.Sprintf("message %v", q.request["message"]), q, w.Expect); err != nil {
			return err
		}
	}
	return nil
}

func (p *process) mcpAnswer(a *actor, what string, q *question, want *Expect) error {
	ans, err := p.hear(a.t.ctx, q, messageTimeout)
	if errors.Is(err, errNoAnswer) {
		p.broken("%.300s was not answered", what)
		return errExit
	}
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.lastAnswer = ans
	p.mu.Unlock()
	if unmet := want.unmetBy(ans); unmet != "" {
		p.broken("%.300s: %s", what, unmet)
		return errExit
	}
	return nil
}

// unmetBy says what an answer lacks; "" if nothing.
func (want *Expect) unmetBy(ans answer) string {
	if want == nil {
		return ""
	}
	text := string(ans.body)
	if ans.err != nil {
		text = ans.err.Error()
	}
	r, err := unwrap(ans)
	if want.Code != nil && (err != nil || r.Error == nil || r.Error.Code != *want.Code) {
		return fmt.Sprintf("want error %d, have %.500s", *want.Code, text)
	}
	if want.IsError != nil || want.Blocks != nil {
		var result struct {
			IsError bool `json:"isError"`
			Content any  `json:"content"`
		}
		if json.Unmarshal(r.Result, &result) != nil || r.Error != nil {
			return fmt.Sprintf("want a tool's result, have %.500s", text)
		}
		return want.unmet(text, result.IsError, result.Content)
	}
	return want.unmet(text, false, nil)
}

// expect checks a tool_result block as the model reads it.
func (p *process) expect(c *call, block map[string]any) {
	want := c.tool.Expect
	if want == nil {
		return
	}
	text, isText := block["content"].(string)
	if !isText {
		line, _ := marshal(block["content"]) // it is about to be sent
		text = string(line)
	}
	failed, _ := block["is_error"].(bool)
	if unmet := want.unmet(text, failed, block["content"]); unmet != "" {
		p.broken("result of %s (%s): %s", c.tool.Name, c.id, unmet)
	}
}

func (want *Expect) unmet(text string, failed bool, content any) string {
	if want.IsError != nil && failed != *want.IsError {
		return fmt.Sprintf("want is_error %v, have %.500s", *want.IsError, text)
	}
	for _, s := range want.Contains {
		if !strings.Contains(text, s) {
			return fmt.Sprintf("want %q in %.500s", s, text)
		}
	}
	for _, s := range want.Lacks {
		if strings.Contains(text, s) {
			return fmt.Sprintf("want no %q in %.500s", s, text)
		}
	}
	if len(text) < want.Bytes {
		return fmt.Sprintf("want %d bytes at least, have %d", want.Bytes, len(text))
	}
	if have := blockKinds(content); want.Blocks != nil && !slices.Equal(have, want.Blocks) {
		return fmt.Sprintf("want blocks %v, have %v", want.Blocks, have)
	}
	return ""
}

func blockKinds(content any) []string {
	var kinds []string
	blocks, _ := content.([]any)
	for _, b := range blocks {
		m, _ := b.(map[string]any)
		kinds = append(kinds, fmt.Sprint(m["type"]))
	}
	return kinds
}

// mcpHandshake shakes hands with a server again, whatever it was.
func (p *process) mcpHandshake(ctx context.Context, server string) error {
	s := p.server(server)
	if s == nil {
		p.broken("server %q was not declared", server)
		return errExit
	}
	p.handshake(ctx, s)
	return nil
}
