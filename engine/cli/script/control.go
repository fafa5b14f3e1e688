package script

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
)

func (p *process) respond(id string, body any) {
	r := map[string]any{"subtype": "success", "request_id": id}
	if body != nil {
		r["response"] = body
	}
	p.send(map[string]any{"type": "control_response", "response": r})
}

func (p *process) respondError(id, reason string) {
	p.send(map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "error", "request_id": id, "error": reason}})
}

// control is the request of a control_request from the host.
type control struct {
	Subtype    string                   `json:"subtype"`
	Mode       string                   `json:"mode"`
	Model      string                   `json:"model"`
	ServerName string                   `json:"serverName"`
	Settings   map[string]any           `json:"settings"`
	Hooks      map[string][]hookMatcher `json:"hooks"`
	SDKServers []string                 `json:"sdkMcpServers"`
	MCPServer  string                   `json:"server_name"`
	Message    json.RawMessage          `json:"message"`

	Servers map[string]json.RawMessage `json:"servers"` // of mcp_set_servers, by name
}

func (p *process) handleControl(in inbound) {
	var c control
	if err := json.Unmarshal(in.Request, &c); err != nil {
		p.respondError(in.RequestID, "Invalid control request: "+err.Error())
		return
	}
	id := in.RequestID
	switch c.Subtype {
	case "initialize":
		p.handleInitialize(id, c, in.Request)
	case "interrupt":
		if !p.sc.IgnoreInterrupt {
			p.interrupt(func() { p.respond(id, nil) })
		}
	case "set_permission_mode":
		p.setMode(id, c.Mode)
	case "set_model":
		p.mu.Lock()
		p.model = c.Model
		p.mu.Unlock()
		p.respond(id, nil)
	case "apply_flag_settings":
		p.mu.Lock()
		mergeInto(p.settings, c.Settings)
		p.mu.Unlock()
		p.respond(id, nil)
	case "get_settings":
		p.respond(id, p.shownSettings())
	case "mcp_message":
		p.handlePush(id, c)
	case "end_session":
		p.respond(id, nil)
		p.exit(0)
	default:
		p.handleData(id, c)
	}
}

// handleData answers requests that only look, or that nothing here depends on.
func (p *process) handleData(id string, c control) {
	p.mu.Lock()
	cost := p.cost
	p.mu.Unlock()
	switch c.Subtype {
	case "set_max_thinking_tokens", "rename_session", "seed_read_state":
		p.respond(id, nil)
	case "reload_skills":
		p.respond(id, map[string]any{"skills": []any{}})
	case "cancel_async_message":
		p.respond(id, map[string]any{"cancelled": false})
	case "stop_task", "background_tasks":
		p.respond(id, map[string]any{})
	case "mcp_status":
		p.respond(id, map[string]any{"mcpServers": p.mcpStatus()})
	case "mcp_set_servers":
		p.setServers(id, c)
	case "mcp_reconnect", "mcp_toggle":
		p.respondError(id, "Server not found: "+c.ServerName)
	case "mcp_call":
		p.respondError(id, "MCP server not connected")
	case "rewind_files":
		p.respondError(id, "File rewinding is not enabled.")
	case "get_context_usage":
		p.respond(id, map[string]any{"totalTokens": 100, "maxTokens": 200000, "percentage": 0, "categories": []any{}})
	case "get_session_cost":
		p.respond(id, map[string]any{"text": fmt.Sprintf("Total cost: $%.4f", cost)})
	case "get_usage":
		p.respond(id, map[string]any{"session": map[string]any{"total_cost_usd": cost}})
	case "get_binary_version":
		p.respond(id, map[string]any{"version": p.sc.version()})
	case "file_suggestions":
		p.respond(id, map[string]any{"suggestions": []any{}})
	default:
		p.respondError(id, "Unsupported control request subtype: "+c.Subtype)
	}
}

func (p *process) shownSettings() map[string]any {
	p.mu.Lock()
	defer p.mu.Unlock()
	shown := map[string]any{}
	mergeInto(shown, p.settings) // a copy: the original may change while the frame is encoded
	return map[string]any{"effective": shown, "sources": []any{}, "applied": map[string]any{"model": p.model}}
}

func (p *process) setMode(id, mode string) {
	switch {
	case mode == "bypassPermissions" && !p.opt.has("--allow-dangerously-skip-permissions") && !p.opt.has("--dangerously-skip-permissions"):
		p.respondError(id, "Cannot set permission mode to bypassPermissions because the session was not launched with --dangerously-skip-permissions")
		return
	case mode == "auto":
		p.respondError(id, "Cannot set permission mode to auto: auto mode unavailable for this model")
		return
	}
	p.mu.Lock()
	p.mode = mode
	p.mu.Unlock()
	p.respond(id, map[string]any{"mode": mode})
	p.sendStatus(mode)
}

func (p *process) handleInitialize(id string, c control, raw json.RawMessage) {
	p.mu.Lock()
	again := p.initialize != nil
	asked := []any{}
	if !again { // hooks of a second initialize are not taken over
		p.hooks, p.initialize = c.Hooks, raw
		p.declare(c.SDKServers)
	}
	for _, q := range p.pending {
		if q.request["subtype"] == "can_use_tool" {
			asked = append(asked, map[string]any{"type": "control_request", "request_id": q.id, "request": q.request})
		}
	}
	p.mu.Unlock()
	body := map[string]any{
		"commands": []any{map[string]any{"name": "compact", "description": "shorten the conversation", "argumentHint": ""}},
		"agents":   []any{map[string]any{"name": "general-purpose", "description": "any task"}},
		"models":   []any{map[string]any{"value": "default", "displayName": "Default", "description": "scripted"}},
		"account":  map[string]any{"tokenSource": "none", "apiKeySource": "none", "apiProvider": "firstParty"},

		"output_style": "default", "available_output_styles": []string{"default"}, "pid": os.Getpid(),
	}
	if again {
		body["pending_permission_requests"] = asked
	}
	if p.sc.NeverInitialize {
		return
	}
	<-after(p.sc.InitializeDelay)
	if !p.sc.MCP.Early {
		p.respond(id, body)
		return
	}
	go func() { // ends with the handshakes or the process
		if p.connect(context.Background()) == nil {
			p.respond(id, body)
		}
	}()
}

// interrupt ends the running turn, or the one about to start. Pending questions
// are withdrawn and calls of the host's tools cancelled first, then the request is
// answered, then the turn's frames follow: hosts may rely on that order.
func (p *process) interrupt(respond func()) {
	p.mu.Lock()
	t := p.active
	if t == nil && len(p.queue) > 0 {
		t = p.queue[0]
	}
	p.mu.Unlock()
	if t != nil {
		for _, q := range p.takeTurn(t) {
			p.sendCancel(q)
		}
		p.cancelTurn(t)
	}
	respond()
	if t != nil {
		t.cancel(errInterrupted)
	}
}
