package script

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Cancel makes the client give up a call it sent, and go on waiting for the
// answer that is due nevertheless.
type Cancel struct {
	AfterMS int    `json:"after_ms,omitempty"`
	Push    string `json:"push,omitempty"`  // not before the server pushed a message of this method
	First   bool   `json:"first,omitempty"` // misbehaviour: the cancellation comes before the call
}

// unlisted reports whether the model asks for a tool a connected server lacks.
func (p *process) unlisted(c *call) bool {
	s, tool := p.splitTool(c.tool.Name)
	return s != nil && !c.tool.Unlisted && p.find(s, tool) == nil
}

// callServer sends a call to the server that has the tool and waits for its answer.
func (p *process) callServer(a *actor, c *call, s *mcpServer, tool string) (any, error) {
	if c.tool.Output != nil || c.tool.Error != "" {
		p.broken("tool %s: output and error are the server's, not the script's", c.tool.Name)
		return nil, errExit
	}
	id := p.takeID(s)
	input := c.input
	if c.tool.SendInput != nil {
		input, _ = p.expand(a.t, c.tool.SendInput).(map[string]any)
	}
	cancel := c.tool.Cancel
	if cancel != nil && cancel.First {
		p.sendCancelled(s, id, "AbortError: This operation was aborted")
	}
	f := p.launchCall(a, s, id, map[string]any{"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{
		"name": tool, "arguments": input,
		"_meta": map[string]any{"claudecode/toolUseId": c.id, "progressToken": id},
	}})
	defer p.landed(f)
	if d := c.tool.DieInCall; d != nil {
		p.fail(d.Code, d.Stderr)
	}
	if cancel != nil && !cancel.First {
		if err := p.cancelLater(a, f, cancel); err != nil {
			return nil, err
		}
	}
	return p.outcome(a, c, f, tool)
}

// flight is a call on its way to a server and back.
type flight struct {
	t      *turn
	s      *mcpServer
	id     int
	once   sync.Once
	posted *question
}

func (p *process) launchCall(a *actor, s *mcpServer, id int, message map[string]any) *flight {
	f := &flight{t: a.t, s: s, id: id, posted: p.post(s.name, message)}
	p.mu.Lock()
	p.flights = append(p.flights, f)
	p.mu.Unlock()
	return f
}

func (p *process) landed(f *flight) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flights = slices.DeleteFunc(p.flights, func(g *flight) bool { return g == f })
}

// cancelTurn cancels the calls of a turn that is interrupted.
func (p *process) cancelTurn(t *turn) {
	p.mu.Lock()
	flights := slices.Clone(p.flights)
	p.mu.Unlock()
	for _, f := range flights {
		if f.t == t {
			p.cancelCall(f, "AbortError: remote-cancel")
		}
	}
}

// cancelCall sends the only sign of a cancellation there is, once.
func (p *process) cancelCall(f *flight, reason string) {
	f.once.Do(func() { p.sendCancelled(f.s, f.id, reason) })
}

// sendCancelled leaves looking at the acknowledgement to a goroutine.
func (p *process) sendCancelled(s *mcpServer, id int, reason string) {
	const method = "notifications/cancelled"
	q := p.notification(s.name, method, map[string]any{"requestId": id, "reason": reason})
	go func() { // ends with the answer, its timeout or the process
		_ = p.acknowledged(context.Background(), s.name, method, q)
	}()
}

// cancelLater gives up a call after a while, if there is no answer by then.
func (p *process) cancelLater(a *actor, f *flight, cancel *Cancel) error {
	if cancel.AfterMS > 0 {
		_, err := p.hear(a.t.ctx, f.posted, time.Duration(cancel.AfterMS)*time.Millisecond)
		if !errors.Is(err, errNoAnswer) {
			return err
		}
	}
	if cancel.Push != "" {
		if err := p.until(a.t.ctx, &Until{Server: f.s.name, Push: cancel.Push}); err != nil {
			return err
		}
	}
	p.cancelCall(f, "AbortError: This operation was aborted")
	return nil
}

// outcome waits for a call's answer; an interrupt and the timeout end the wait and
// cancel the call. The late answer is taken in silence.
func (p *process) outcome(a *actor, c *call, f *flight, tool string) (any, error) {
	ans, err := p.hear(a.t.ctx, f.posted, time.Duration(c.tool.TimeoutMS)*time.Millisecond)
	switch {
	case errors.Is(err, errExit):
		return nil, err
	case errors.Is(err, errNoAnswer):
		p.cancelCall(f, timedOut)
		seconds := float64(c.tool.TimeoutMS) / 1000
		return toolFailed(fmt.Sprintf("MCP server %q tool %q timed out after %gs", f.s.name, tool, seconds)), nil
	case err != nil:
		p.cancelCall(f, "AbortError: remote-cancel")
		return nil, err
	case ans.err == errClosedPending && p.newer():
		return toolFailed("The tool call was interrupted before a result was received."), nil
	}
	raw, err := p.result(ans, f.s.name, "tools/call", f.id)
	var no *rpcError
	switch {
	case errors.As(err, &no) && p.newer():
		return toolFailed(no.Message), nil
	case err != nil:
		return toolFailed(err.Error()), nil
	}
	return p.toolAnswer(c, f.s.name, raw)
}

// fill puts long strings into an input.
func (t Tool) fill(input map[string]any) {
	for key, n := range t.Fill {
		input[key] = strings.Repeat("x", n)
	}
}
