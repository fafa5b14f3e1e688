package engine

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// history is what a session remembers of its calls, for its policies.
type history struct {
	mu     sync.Mutex
	recent []permission.Recent // oldest first
	tools  map[string]int
	taint  []string // sorted
}

// taintFull stands in the place of labels that found no room any more: a rule
// that looks for a taint should take it for any.
const taintFull = "engine:taint_full"

// Bounds of a history besides those of the package permission.
const (
	maxTaintText = 256     // bytes of one label, key and value
	otherTools   = "other" // counts the tools beyond permission.MaxToolNames
)

// judged notes a decision about a call.
func (h *history) judged(r permission.Request, d permission.Decision, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tool := beginning(r.Tool)
	h.recent = append(h.recent, permission.Recent{Tool: tool, Effect: d.Effect, Rule: d.Rule, At: now})
	if over := len(h.recent) - permission.MaxRecent; over > 0 {
		h.recent = slices.Clone(h.recent[over:])
	}
	if h.tools == nil {
		h.tools = make(map[string]int)
	}
	if _, known := h.tools[tool]; !known && len(h.tools) >= permission.MaxToolNames-1 {
		tool = otherTools
	}
	h.tools[tool]++
}

// passed notes the labels of a call that is let through; it reports whether one
// is new.
func (h *history) passed(labels map[string]string) (news bool) {
	for key, value := range labels {
		if h.mark(key + ":" + value) {
			news = true
		}
	}
	return news
}

// mark adds taints, within the bound; it reports whether one is new.
func (h *history) mark(taints ...string) (news bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range taints {
		if slices.Contains(h.taint, t) {
			continue
		}
		if len(t) > maxTaintText || len(h.taint) >= permission.MaxTaint-1 {
			t = taintFull
		}
		if at, found := slices.BinarySearch(h.taint, t); !found {
			h.taint, news = slices.Insert(h.taint, at, t), true
		}
	}
	return news
}

// tainted is a copy of the taints.
func (h *history) tainted() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.taint)
}

// fill adds the history to what is told of a session.
func (h *history) fill(s *permission.Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s.Recent, s.Tools, s.Taint = slices.Clone(h.recent), maps.Clone(h.tools), slices.Clone(h.taint)
}
