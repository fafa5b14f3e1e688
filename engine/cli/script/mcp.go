package script

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Bounds of the MCP client.
const (
	defaultHandshake = time.Minute      // per request
	newerHandshake   = 30 * time.Second // the same in newer CLIs, which try twice
	defaultAck       = time.Minute      // of a notification
	maxPages         = 100              // of one tools/list
	maxPushes        = 256              // remembered per server
	maxAnswers       = 1 << 14          // remembered, to notice second ones
	protocolVersion  = "2025-11-25"
)

// exitUnmet is the exit code of a script whose host broke the protocol of MCP
// servers, or did not do what the script expected.
const exitUnmet = 3

// MCP is how the CLI treats the servers that initialize named (sdkMcpServers).
// The zero value shakes hands with all of them at the first user message.
type MCP struct {
	NoHandshake bool `json:"no_handshake,omitempty"`         // they are left alone but for steps
	Early       bool `json:"early,omitempty"`                // hands are shaken before initialize is answered
	HandshakeMS int  `json:"handshake_timeout_ms,omitempty"` // per request; 0: as the version has it
	AckMS       int  `json:"ack_timeout_ms,omitempty"`       // of a notification; 0: a minute
}

// mcpServer is a server of the host, as its client here knows it. The fields are
// guarded by process.mu.
type mcpServer struct {
	name         string
	listing      sync.Mutex // one tools/list at a time, so that the last one counts
	status       string     // "", pending, connected, failed
	nextID       int
	lists        bool // it has tools
	tools        []mcpTool
	instructions string
	pushes       []json.RawMessage // the newest maxPushes
	changed      chan struct{}     // closed, and replaced, when any of this changes
}

type mcpTool struct {
	Name        string         `json:"name"` // as the server has it
	Schema      map[string]any `json:"inputSchema"`
	Annotations struct {
		ReadOnly bool `json:"readOnlyHint"`
	} `json:"annotations"`
}

// declare takes the servers of initialize.
func (p *process) declare(names []string) {
	for _, name := range names {
		p.servers = append(p.servers, &mcpServer{name: name, changed: make(chan struct{})})
	}
}

// change edits a server and tells who waits for that.
func (p *process) change(s *mcpServer, edit func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	edit()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (p *process) server(name string) *mcpServer {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.servers, func(s *mcpServer) bool { return s.name == name })
	if i < 0 {
		return nil
	}
	return p.servers[i]
}

// connect shakes hands with the servers that nobody has tried yet, all at once, and
// while one of them is failed with all of them again in each turn. A server that
// fails is no reason to fail: the session goes on without its tools.
func (p *process) connect(ctx context.Context) error {
	if p.sc.MCP.NoHandshake {
		return nil
	}
	p.mu.Lock()
	all := slices.Clone(p.servers)
	again := slices.ContainsFunc(all, func(s *mcpServer) bool { return s.status == "failed" })
	p.mu.Unlock()
	var wg sync.WaitGroup
	for _, s := range all {
		wg.Go(func() { // ends with the answers, their timeout, the turn or the process
			_ = p.watch(ctx, s, func() bool { return s.status != "pending" }) // somebody else shakes
			p.mu.Lock()
			due := again || s.status == ""
			p.mu.Unlock()
			if due {
				p.handshake(ctx, s)
			}
		})
	}
	wg.Wait()
	select {
	case <-p.quit:
		return errExit
	case <-ctx.Done():
		return context.Cause(ctx)
	default:
		return nil
	}
}

func (p *process) handshake(ctx context.Context, s *mcpServer) {
	tries, limit := 1, defaultHandshake
	if p.newer() {
		tries, limit = 2, newerHandshake
	}
	if ms := p.sc.MCP.HandshakeMS; ms > 0 {
		limit = time.Duration(ms) * time.Millisecond
	}
	for range tries {
		err := p.shake(ctx, s, limit)
		if err == nil {
			return
		}
		fmt.Fprintf(p.stderr, "MCP server %q: connection failed: %v\n", s.name, err)
		if errors.Is(err, errNoAnswer) {
			p.sendCancelled(s, 0, timedOut)
		}
		p.change(s, func() { s.status, s.tools = "failed", nil })
		if !errors.Is(err, errNoAnswer) {
			return
		}
	}
}

// shake begins a new conversation: ids count from 0 again.
func (p *process) shake(ctx context.Context, s *mcpServer, limit time.Duration) error {
	p.change(s, func() { s.status, s.nextID, s.tools = "pending", 0, nil })
	raw, err := p.invoke(ctx, s, "initialize", map[string]any{
		"protocolVersion": protocolVersion, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "claude-code", "title": "Claude Code", "version": p.sc.version()},
	}, limit)
	if err != nil {
		return err
	}
	var hello struct {
		Version      string                     `json:"protocolVersion"`
		Instructions string                     `json:"instructions"`
		Capabilities map[string]json.RawMessage `json:"capabilities"`
	}
	if err := json.Unmarshal(raw, &hello); err != nil || hello.Version == "" {
		return fmt.Errorf("answer to initialize has no protocolVersion: %s", raw)
	}
	_, lists := hello.Capabilities["tools"]
	p.change(s, func() { s.instructions, s.lists = hello.Instructions, lists })
	ack := p.notification(s.name, "notifications/initialized", nil)
	if err := p.acknowledged(ctx, s.name, "notifications/initialized", ack); err != nil {
		return err
	}
	if err := p.listTools(ctx, s, limit); err != nil {
		fmt.Fprintf(p.stderr, "MCP server %q: no tools: %v\n", s.name, err)
	}
	p.change(s, func() { s.status = "connected" })
	return nil
}

// timedOut is the reason of a cancellation, in the CLI's words.
const timedOut = "McpError: MCP error -32001: Request timed out"

// listTools asks for all pages of the list.
func (p *process) listTools(ctx context.Context, s *mcpServer, limit time.Duration) error {
	p.mu.Lock()
	lists := s.lists
	p.mu.Unlock()
	if !lists {
		return nil
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	var tools []mcpTool
	var params map[string]any
	for range maxPages {
		raw, err := p.invoke(ctx, s, "tools/list", params, limit)
		if err != nil {
			return err
		}
		var page struct {
			Tools []mcpTool `json:"tools"`
			Next  string    `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return fmt.Errorf("tools/list: %w", err)
		}
		if odd := slices.IndexFunc(page.Tools, func(t mcpTool) bool { return t.Schema["type"] != "object" }); odd >= 0 {
			return fmt.Errorf("tools/list: tool %q has no inputSchema of type object, so none counts", page.Tools[odd].Name)
		}
		tools = append(tools, page.Tools...)
		if page.Next == "" {
			p.change(s, func() { s.tools = tools })
			return nil
		}
		params = map[string]any{"cursor": page.Next}
	}
	return fmt.Errorf("tools/list has more than %d pages", maxPages)
}
