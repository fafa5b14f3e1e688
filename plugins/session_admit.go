package plugins

import (
	"context"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// admitted are the actions that session_admit is called for.
var admitted = []admission.Action{admission.Start, admission.Fork, admission.Resume, admission.Reply}

// AnnotateAdmission calls session_admit of each plugin, for start, fork, resume and
// reply. A failure whose on_error asks is a deny: nobody can be asked.
func (h *Host) AnnotateAdmission(ctx context.Context, r admission.Request) []permission.Annotation {
	if !slices.Contains(admitted, r.Action) {
		return nil
	}
	plugins, release := h.hold(SessionAdmit)
	defer release()
	if len(plugins) == 0 {
		return nil
	}
	q := h.ask(ctx, SessionAdmit, requestMembers(&r), r.SessionID, event.Payload{
		Origin: originOf(r.SessionID, &r.Session, &r.Caller), Kind: event.Notice,
	})
	return h.hear(ctx, plugins, q)
}

// requestMembers is what plugins see of a request: exactly the caller's parameters.
func requestMembers(r *admission.Request) members {
	m := members{}
	if r.SessionID != "" {
		m.put("session", judgedSession(r.SessionID, &r.Session))
	}
	m.caller(&r.Caller)
	m.put("action", string(r.Action))
	m.put("parameters", r.Parameters)
	m.put("cwd", r.Cwd)
	m.put("cwd_inside_roots", r.CwdInsideRoots)
	m.put("roots", r.Roots)
	m.put("trusted", r.Trusted)
	m.put("additional_dirs", dirFacts(r.AdditionalDirs))
	m.put("mentions", r.Mentions)
	m.put("running_sessions", r.RunningSessions)
	m.put("project", r.Project)
	return m
}

type dirFact struct {
	Path   string `json:"path"`
	Inside bool   `json:"inside"` // in a configured root
}

func dirFacts(dirs []admission.Dir) (facts []dirFact) {
	for _, d := range dirs {
		facts = append(facts, dirFact(d))
	}
	return facts
}
