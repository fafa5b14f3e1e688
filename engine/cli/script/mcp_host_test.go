package script

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// mcpHost answers what a script asks until a turn or the process ends, and notes
// what came. Each message to a server goes to reply; by default a server has the
// tools echo, ro (only reads) and with.dot.
type mcpHost struct {
	*host
	reply func(server string, m map[string]any) any
	log   []string         // "server method id" of messages, "ask tool" of questions, frames
	asked []map[string]any // mcp_message frames
	deny  bool
}

// unanswered, controlError and bare are what reply may return instead of a result.
type (
	unanswered   struct{}
	controlError string
	bare         struct{ v any } // the body of the answer, as it is
	rpcFailure   struct{ code int }
)

func playMCP(t *testing.T, sc Scenario, args ...string) *mcpHost {
	t.Helper()
	h := &mcpHost{host: start(t, sc, args...)}
	h.control("initialize", "sdkMcpServers", []string{"lab", "my lab"})
	return h
}

func labTools() []any {
	schema := map[string]any{"type": "object"}
	return []any{
		map[string]any{"name": "echo", "inputSchema": schema}, map[string]any{"name": "with.dot", "inputSchema": schema},
		map[string]any{"name": "ro", "inputSchema": schema, "annotations": map[string]any{"readOnlyHint": true}},
	}
}

// serve answers as a well-behaved server does.
func serve(m map[string]any) any {
	switch m["method"] {
	case "initialize":
		return map[string]any{"protocolVersion": "2025-11-25", "instructions": "be kind",
			"capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": "x", "version": "1"}}
	case "tools/list":
		return map[string]any{"tools": labTools()}
	case "tools/call":
		return textResult(fmt.Sprint(at(m, "params", "arguments")))
	}
	return map[string]any{}
}

func textResult(text string) map[string]any {
	return map[string]any{"content": []any{textBlock(text)}}
}

func (h *mcpHost) answerMCP(f map[string]any) {
	h.t.Helper()
	server, _ := at(f, "request", "server_name").(string)
	m, _ := at(f, "request", "message").(map[string]any)
	h.log = append(h.log, strings.TrimSuffix(fmt.Sprintf("%s %v %v", server, m["method"], m["id"]), " <nil>"))
	h.asked = append(h.asked, f)
	var result any
	if h.reply != nil {
		result = h.reply(server, m)
	}
	if result == nil {
		result = serve(m)
	}
	id := m["id"]
	if id == nil {
		id = 0
	}
	switch r := result.(type) {
	case unanswered:
	case controlError:
		h.answerError(f, string(r))
	case bare:
		h.answer(f, r.v)
	case rpcFailure:
		h.answer(f, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": id,
			"error": map[string]any{"code": r.code, "message": "no"}}})
	default:
		h.answer(f, map[string]any{"mcp_response": map[string]any{"jsonrpc": "2.0", "id": id, "result": result}})
	}
}

// run answers until the turn's result, which it returns; nil if the process ended.
func (h *mcpHost) run() map[string]any {
	h.t.Helper()
	for {
		f := h.frame()
		switch kind := kindOf(f); {
		case f == nil:
			return nil
		case kind == "control_request/mcp_message":
			h.answerMCP(f)
		case kind == "control_request/can_use_tool" && h.deny:
			h.answer(f, map[string]any{"behavior": "deny", "message": "rule 7"})
		case kind == "control_request/can_use_tool":
			h.log = append(h.log, "ask "+at(f, "request", "tool_name").(string))
			h.allow(f)
		case kind == "user":
			text, failed := toolResult(f)
			h.log = append(h.log, fmt.Sprintf("result %v %.60s", failed, text))
		case strings.HasPrefix(kind, "control_response"):
			h.log = append(h.log, "answer")
		case strings.HasPrefix(kind, "result"):
			return f
		case kind == "system/init":
			h.log = append(h.log, fmt.Sprint("init ", f["mcp_servers"]))
		}
	}
}

// frame is the next frame, awaited longer than any bound of the client.
func (h *mcpHost) frame() map[string]any {
	h.t.Helper()
	select {
	case f := <-h.frames:
		return f
	case <-time.After(10 * time.Minute):
		h.t.Fatal("no frame in time")
		return nil
	}
}

// has reports whether the log has the lines, in this order.
func (h *mcpHost) has(lines ...string) {
	h.t.Helper()
	rest := h.log
	for _, want := range lines {
		i := 0
		for i < len(rest) && !strings.HasPrefix(rest[i], want) {
			i++
		}
		if i == len(rest) {
			h.t.Fatalf("no %q (in its place) in\n%s\nstderr: %s", want, strings.Join(h.log, "\n"), h.stderr)
		}
		rest = rest[i+1:]
	}
}

// lacks reports whether no line of the log begins so.
func (h *mcpHost) lacks(prefix string) {
	h.t.Helper()
	for _, line := range h.log {
		if strings.HasPrefix(line, prefix) {
			h.t.Errorf("%q is in\n%s", prefix, strings.Join(h.log, "\n"))
		}
	}
}

// ends closes stdin and wants the exit code, and the text on stderr.
func (h *mcpHost) ends(code int, stderr string) {
	h.t.Helper()
	if got := h.end(); got != code || !strings.Contains(h.stderr.String(), stderr) {
		h.t.Errorf("exit code %d, want %d; stderr %q, want %q", got, code, h.stderr, stderr)
	}
}

func labCall(tool string) Tool {
	return Tool{Name: "mcp__lab__" + tool, Input: map[string]any{"x": "1"}}
}

func truth(b bool) *bool { return &b }
