package mpmserver

import (
	"context"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (f *family) list() mcpserver.Tool {
	no := false
	return mcpserver.Tool{
		Name:        "mpm_session_list",
		Title:       "List sessions",
		Description: "All sessions, oldest first, or those of one status.",
		Annotations: mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, DestructiveHint: &no, OpenWorldHint: &no},
		Run:         f.runList,
		Fail:        refused,
	}
}

// listView is what mpm_session_list returns.
type listView struct {
	Sessions    []sessionView `json:"sessions"`     // never null
	Count       int           `json:"count"`        // of sessions
	ActiveCount int           `json:"active_count"` // starting and active, whatever the filter
}

// Bounds of the outputs in one list, in bytes: a list is read by models, and there may
// be a thousand sessions. mpm_session_status has more of each.
const (
	listedOutput  = 4 << 10 // of one session, with few of them
	listedOutputs = 1 << 20 // of all, as long as each has leastListed
	leastListed   = 200
)

// shorten keeps the outputs of a list within their bounds.
func shorten(list []sessionView) {
	limit := max(min(listedOutput, listedOutputs/max(len(list), 1)), leastListed)
	for i, v := range list {
		if v.LastOutput != nil {
			text := shortened(*v.LastOutput, limit)
			list[i].LastOutput = &text
		}
	}
}

// wrongFilter answers a status that is none.
type wrongFilter struct {
	Error string           `json:"error"`
	Type  engine.ErrorType `json:"error_type"`
	Valid []string         `json:"valid_statuses"`
}

func (f *family) runList(ctx context.Context, c mcpserver.Call) (*mcp.CallToolResult, error) {
	want := c.Free("status")
	if err := c.Err(); err != nil {
		return nil, err
	}
	if c.Has("status") && !slices.Contains(statuses, want) {
		res, err := text(wrongFilter{"Invalid status filter: " + want, engine.SessionError, statuses})
		return failed(res), err
	}
	sessions, whole, err := sessionsOf(ctx, c.Engine)
	if err != nil {
		return nil, err
	}
	a := listView{Sessions: []sessionView{}}
	for _, s := range sessions {
		v := viewOf(s.Info(), whole)
		if v.Status == starting || v.Status == active {
			a.ActiveCount++
		}
		if want == "" || v.Status == want {
			a.Sessions = append(a.Sessions, v)
		}
	}
	slices.SortStableFunc(a.Sessions, func(x, y sessionView) int { return x.started.Compare(y.started) })
	shorten(a.Sessions)
	a.Count = len(a.Sessions)
	return text(a)
}

// sessionsOf is inspect for all sessions.
func sessionsOf(ctx context.Context, e *engine.Engine) (list []*engine.Session, whole bool, err error) {
	list, err = e.Sessions(ctx, true)
	if engine.CodeOf(err) != engine.PermissionDenied {
		return list, true, err
	}
	list, err = e.Sessions(ctx, false)
	return list, false, err
}
