package mpmserver

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A call that is given up ends its own turn or nothing: between the look at its turn
// and the stop, which policies decide on, the next turn may have begun.
func TestAGivenUpCallStopsNoOtherTurn(t *testing.T) {
	r := serve(t, setup{
		scenario: `{"turns":[[{"tool":{"name":"Bash","input":{"command":"push"},"output":"pushed"}},{"text":"done"}],[{"wait_interrupt":true}]]}`,
		engine:   func(o *engine.Options) { o.ApprovalTimeout = patience },
	})
	tools, left := Tools(Options{}), make(chan string, 1)
	run := tools[0].Run
	tools[0].Run = func(ctx context.Context, c mcpserver.Call) (*mcp.CallToolResult, error) {
		res, err := run(ctx, c)
		if err == nil {
			left <- res.Content[0].(*mcp.TextContent).Text
		}
		close(left)
		return res, err
	}
	r.server = mcpserver.New(r.engine, &mcpserver.Options{Further: tools})
	first, other := r.connect(), r.client
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	call := first.background(ctx, "mpm_session_start", `{"prompt":"go"}`)
	id := r.one("active", 1)
	var second *later
	var once sync.Once
	r.admit.when(admission.Cancel, func() {
		once.Do(func() {
			answerOpen(r, id)
			until(t, "the end of the first turn", func() bool { return r.status(id)["status"] == "completed" })
			second = other.background(t.Context(), "mpm_session_continue", `{"session_id":"`+id+`","prompt":"more"}`)
			until(t, "the second turn", func() bool { return r.status(id)["status"] == "active" })
		})
	})
	cancel()
	<-call.done
	if text := <-left; !strings.Contains(text, `"session_id": "`+id+`"`) || !strings.Contains(text, "cancelled by the client") {
		t.Errorf("the given up call's answer: %s", text)
	}
	if s := r.status(id); s["status"] != "active" || s["message_count"] != 1.0 {
		t.Errorf("the session of the next turn: %v", s)
	}
	r.must("mpm_session_stop", `{"session_id":"`+id+`","force":true}`)
	if a, _ := second.wait(t); a["error"] != "Session stopped" {
		t.Errorf("the next turn: %v", a)
	}
}

// answerOpen allows the one question that a session has, or will have.
func answerOpen(r *rig, id string) {
	r.t.Helper()
	var asked []any
	until(r.t, "a question", func() bool {
		asked, _ = r.must("claude_code_check", `{"action":"poll","sessionId":"`+id+`"}`)["actions"].([]any)
		return len(asked) == 1
	})
	request := asked[0].(map[string]any)["requestId"].(string)
	r.must("claude_code_check", `{"action":"respond_permission","sessionId":"`+id+`","decision":"allow","requestId":"`+request+`"}`)
}
