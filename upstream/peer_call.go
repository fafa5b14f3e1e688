package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
)

// relist puts the tools the server has now in the place of those before.
func (p *peer) relist(ctx context.Context, r remote) error {
	raw, whole, err := r.list(ctx)
	if err != nil {
		return err
	}
	if !whole {
		p.remark("mcp server: it has more tools than are taken; the rest is left out", "most", maxTools, "most_bytes", maxList, "most_pages", maxPages)
	}
	var tools []inproc.Tool
	for _, c := range p.server.sift(raw) {
		if c.leftOut != "" {
			p.remark("mcp server: a tool is left out", "tool", c.tool.Name, "reason", c.leftOut)
			continue
		}
		c.tool.Call = p.tool(c.tool.Name)
		tools = append(tools, c.tool)
	}
	if err := p.set.Replace(tools); err != nil {
		if err := p.set.Replace(p.accepted(tools)); err != nil {
			return fmt.Errorf("offer its tools: %w", err)
		}
	}
	p.server.absent.Store(false)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = true
	return nil
}

// remark logs what is wrong with a list, which may come every second.
func (p *peer) remark(text string, args ...any) {
	if missed, ok := p.remarks.take(1); ok {
		p.logger.Warn(text, append(args, "before", missed)...)
	}
}

// accepted are the tools that a set of tools takes: one that it does not must not
// keep the others out.
func (p *peer) accepted(tools []inproc.Tool) (list []inproc.Tool) {
	for _, t := range tools {
		if err := checkTool(t); err != nil {
			p.remark("mcp server: a tool is left out", "tool", t.Name, "reason", err.Error())
			continue
		}
		list = append(list, t)
	}
	return list
}

// checkTool says why a set of tools would not take t.
func checkTool(t inproc.Tool) error {
	if t.Call == nil {
		t.Call = func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, nil }
	}
	return inproc.NewToolSet("check", "", "", nil).Replace([]inproc.Tool{t})
}

// tool returns what calls a tool of the server. Whatever goes wrong is told to the
// model; nothing is tried twice.
func (p *peer) tool(name string) func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
	return func(ctx context.Context, _ string, arguments json.RawMessage) (json.RawMessage, error) {
		late := p.late(name)
		within, cancel := context.WithTimeoutCause(ctx, p.server.c.Timeout, late)
		defer cancel()
		answer, err := p.call(within, name, arguments)
		switch {
		case err == nil:
			return answer, nil
		case ctx.Err() != nil:
			return nil, ctx.Err() // nobody waits any more
		case errors.Is(err, late):
			return refusal(late.Error()), nil
		}
		return refusal(fmt.Sprintf("MCP server %q, tool %q: %v", p.server.c.Name, name, err)), nil
	}
}

func (p *peer) late(name string) error {
	return fmt.Errorf("MCP server %q, tool %q: no answer within %v, the limit of a call; it was told to stop", p.server.c.Name, name, p.server.c.Timeout)
}

func (p *peer) call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	r, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	raw, err := r.call(ctx, name, arguments)
	if err != nil {
		return nil, err
	}
	return result(raw)
}

// current returns the connection. While there is none it waits for the next
// attempt, unless that is far away.
func (p *peer) current(ctx context.Context) (remote, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for before := p.failures; !p.connected(); {
		rest := time.Until(p.next)
		switch {
		case p.why != nil && p.failures > before:
			return nil, fmt.Errorf("it is not running: %w", p.why)
		case p.why != nil && rest > longPause:
			return nil, fmt.Errorf("it is not running: %w; it is started again in %v", p.why, rest.Round(time.Second))
		}
		turned := p.turned
		p.mu.Unlock()
		err := await(ctx, turned, p.done)
		p.mu.Lock()
		if err != nil {
			return nil, err
		}
	}
	return p.remote, nil
}

// connected reports whether there is a connection, as far as is known; p.mu is held.
func (p *peer) connected() bool {
	if p.remote == nil {
		return false
	}
	select {
	case <-p.remote.over():
		return false
	default:
		return true
	}
}

var errClosed = errors.New("it is closed")

func await(ctx context.Context, turned, closed <-chan struct{}) error {
	select {
	case <-turned:
		return nil
	case <-closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// refusal is the result of a tool that says what went wrong.
func refusal(text string) json.RawMessage {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	raw, _ := json.Marshal(struct { // of strings and a boolean
		Content []block `json:"content"`
		IsError bool    `json:"isError"`
	}{[]block{{"text", text}}, true})
	return raw
}
