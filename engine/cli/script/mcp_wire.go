package script

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// post sends a JSON-RPC message to a server of the host, without waiting.
func (p *process) post(server string, message any) *question {
	q := &question{id: newUUID(), done: make(chan struct{}), request: map[string]any{
		"subtype": "mcp_message", "server_name": server, "message": message,
	}}
	if !p.open(q) {
		q.deliver(answer{err: errClosed})
		return q
	}
	p.send(map[string]any{"type": "control_request", "request_id": q.id, "request": q.request})
	return q
}

// hear waits for the answer to a posted message; limit 0 is none. The error is
// errNoAnswer, the end of ctx or that of the process.
func (p *process) hear(ctx context.Context, q *question, limit time.Duration) (answer, error) {
	var lapsed <-chan time.Time
	if limit > 0 {
		timer := time.NewTimer(limit)
		defer timer.Stop()
		lapsed = timer.C
	}
	select {
	case <-q.done:
		return q.got, nil
	case <-lapsed:
		return answer{}, errNoAnswer
	case <-ctx.Done():
		return answer{}, context.Cause(ctx)
	case <-p.quit:
		return answer{}, errExit
	}
}

// broken ends a script whose host broke the protocol: the real CLI would hang or
// leave the server out, which tests notice late or never.
func (p *process) broken(format string, args ...any) {
	p.fail(exitUnmet, "scripted cli: "+fmt.Sprintf(format, args...))
}

// rpcError is an error of a JSON-RPC response.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("MCP error %d: %s", e.Code, e.Message) }

type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result"`
	Error   *rpcError       `json:"error"`
}

// unwrap takes the JSON-RPC response out of an answer.
func unwrap(ans answer) (rpcResponse, error) {
	var r rpcResponse
	if ans.err != nil {
		return r, ans.err
	}
	var body struct {
		Response json.RawMessage `json:"mcp_response"`
	}
	if err := json.Unmarshal(ans.body, &body); err != nil || body.Response == nil {
		return r, envelopeError{fmt.Sprintf("no mcp_response in %.200s", ans.body)}
	}
	if err := json.Unmarshal(body.Response, &r); err != nil || r.Version != "2.0" {
		return r, envelopeError{fmt.Sprintf("mcp_response is no JSON-RPC response: %.200s", body.Response)}
	}
	return r, nil
}

// envelopeError is a host's mistake that the real CLI does not forgive.
type envelopeError struct{ text string }

func (e envelopeError) Error() string { return e.text }

// invoke sends a request with the server's next id and returns its result.
func (p *process) invoke(ctx context.Context, s *mcpServer, method string, params map[string]any, limit time.Duration) (json.RawMessage, error) {
	id := p.takeID(s)
	message := map[string]any{"jsonrpc": "2.0", "id": id, "method": method}
	if params != nil {
		message["params"] = params
	}
	ans, err := p.hear(ctx, p.post(s.name, message), limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	return p.result(ans, s.name, method, id)
}

func (p *process) takeID(s *mcpServer) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.nextID++
	return s.nextID - 1
}

// result is that of the response with the id; a response with another one would
// find nobody who waits in the real CLI.
func (p *process) result(ans answer, server, method string, id int) (json.RawMessage, error) {
	r, err := unwrap(ans)
	var mistake envelopeError
	switch {
	case errors.As(err, &mistake):
		p.broken("answer to %s of server %q: %v", method, server, err)
		return nil, err
	case err != nil:
		return nil, err
	case !bytes.Equal(bytes.TrimSpace(r.ID), fmt.Append(nil, id)):
		p.broken("answer to %s of server %q has id %s, want %d", method, server, r.ID, id)
		return nil, envelopeError{"another id"}
	case r.Error != nil:
		return nil, r.Error
	}
	return r.Result, nil
}

// notification sends one; acknowledged waits for what the host has to answer.
func (p *process) notification(server, method string, params map[string]any) *question {
	message := map[string]any{"jsonrpc": "2.0", "method": method}
	if params != nil {
		message["params"] = params
	}
	return p.post(server, message)
}

// acknowledged waits for the answer to a notification, and ends the script when
// there is none, or not one the real CLI takes.
func (p *process) acknowledged(ctx context.Context, server, method string, q *question) error {
	limit := defaultAck
	if ms := p.sc.MCP.AckMS; ms > 0 {
		limit = time.Duration(ms) * time.Millisecond
	}
	ans, err := p.hear(ctx, q, limit)
	if errors.Is(err, errNoAnswer) {
		p.broken("%s to server %q was not acknowledged", method, server)
	}
	if err != nil || ans.err == errClosed || ans.err == errClosedPending {
		return err
	}
	if _, err := unwrap(ans); err != nil {
		p.broken("%s to server %q was not acknowledged: %v", method, server, err)
		return err
	}
	return nil
}
