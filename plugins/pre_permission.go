package plugins

import (
	"context"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Annotate calls pre_permission of each plugin and returns what they said in the
// order of plugins. All are heard, whatever one of them says.
func (h *Host) Annotate(ctx context.Context, r permission.Request) []permission.Annotation {
	plugins, release := h.hold(PrePermission)
	defer release()
	if len(plugins) == 0 {
		return nil
	}
	q := h.ask(ctx, PrePermission, callMembers(&r), r.SessionID, event.Payload{
		Origin: originOf(r.SessionID, &r.Session, &r.Caller), Kind: event.PermissionAsked, Tool: r.Tool,
	})
	return h.hear(ctx, plugins, q)
}

// callMembers is what plugins see of a call: exactly the input that would run.
func callMembers(r *permission.Request) members {
	m := members{}
	m.put("session", judgedSession(r.SessionID, &r.Session))
	m.caller(&r.Caller)
	m.put("agent", agentFacts{r.AgentID, r.Agent.Type, r.Agent.Depth, r.Agent.ParentToolUseID})
	m.put("tool_name", r.Tool)
	m.put("tool_use_id", r.ToolUseID)
	m.raw("tool_input", r.Input)
	m.put("door", string(r.Door))
	m.put("folder", r.Folder)
	m.put("title", r.Title)
	m.put("blocked_path", r.Blocked)
	m.raw("suggestions", r.Suggested)
	return m
}

// agentFacts is /agent; missing on the main thread.
type agentFacts struct {
	ID              string `json:"id,omitempty"`
	Type            string `json:"type,omitempty"`
	Depth           int    `json:"depth,omitempty"`
	ParentToolUseID string `json:"parent_tool_use_id,omitempty"`
}
