package script

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// push is a message of a server to us: a notification, a request or the response
// to one of ours, which the host has no reason to send this way.
type push struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
}

// handlePush acknowledges a push with an empty success, after the answer where it is
// a request.
func (p *process) handlePush(id string, c control) {
	s := p.server(c.MCPServer)
	var m push
	switch err := json.Unmarshal(c.Message, &m); {
	case s == nil:
		p.respond(id, nil) // it is dropped
		return
	case err != nil || m.Version != "2.0" || m.Method == "":
		p.broken("server %q pushed what is neither a notification nor a request: %.200s", c.MCPServer, c.Message)
		return
	}
	if m.ID != nil {
		p.answerServer(s, m)
	}
	p.respond(id, nil)
	p.change(s, func() {
		if len(s.pushes) == maxPushes {
			s.pushes = s.pushes[1:]
		}
		s.pushes = append(s.pushes, c.Message)
	})
	if m.Method == "notifications/tools/list_changed" && p.newer() {
		go p.relist(s) // ends with the answer, its timeout or the process
	}
}

// answerServer answers a request of a server: we have no roots, no model and
// nobody to ask.
func (p *process) answerServer(s *mcpServer, m push) {
	message := map[string]any{"jsonrpc": "2.0", "id": m.ID}
	if m.Method == "ping" {
		message["result"] = map[string]any{}
	} else {
		message["error"] = map[string]any{"code": -32601, "message": "Method not found"}
	}
	q := p.post(s.name, message)
	go func() { // ends with the acknowledgement, its timeout or the process
		_ = p.acknowledged(context.Background(), s.name, "response to "+m.Method, q)
	}()
}

func (p *process) relist(s *mcpServer) {
	if err := p.listTools(context.Background(), s, defaultHandshake); err != nil {
		p.change(s, func() { s.tools = nil })
	}
}

// Until waits until a server's client here has seen something; a minute at most.
type Until struct {
	Server string `json:"server_name"`
	Push   string `json:"push,omitempty"`   // method of a message the server pushed
	Count  int    `json:"count,omitempty"`  // how many of them; 0: 1
	Tool   string `json:"tool,omitempty"`   // a tool on its list
	NoTool string `json:"notool,omitempty"` // a tool off its list
}

const untilTimeout = time.Minute

func (p *process) until(ctx context.Context, u *Until) error {
	s := p.server(u.Server)
	if s == nil {
		p.broken("server %q was not declared", u.Server)
		return errExit
	}
	limited, cancel := context.WithTimeout(ctx, untilTimeout)
	defer cancel()
	err := p.watch(limited, s, func() bool { return u.seen(s) })
	if errors.Is(err, context.DeadlineExceeded) {
		p.broken("server %q: waited in vain for %+v", u.Server, *u)
		return errExit
	}
	return err
}

// watch waits until something is so of a server; it is asked with p.mu held.
func (p *process) watch(ctx context.Context, s *mcpServer, so func() bool) error {
	for {
		p.mu.Lock()
		changed, done := s.changed, so()
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.quit:
			return errExit
		}
	}
}

func (u *Until) seen(s *mcpServer) bool {
	pushes := 0
	for _, raw := range s.pushes {
		var m push
		_ = json.Unmarshal(raw, &m) // it was read before
		if m.Method == u.Push {
			pushes++
		}
	}
	if u.Push != "" && pushes < max(u.Count, 1) {
		return false
	}
	listed := map[string]bool{}
	for _, t := range s.tools {
		listed[t.Name] = true
	}
	return (u.Tool == "" || listed[u.Tool]) && (u.NoTool == "" || !listed[u.NoTool])
}
