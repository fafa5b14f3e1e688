package engine

import (
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// tripwire counts, for each tool_use id, the allows that were sent and the signs
// that a call ran. More signs than allows means a call ran unjudged. Ids can
// repeat within a session, so they are counted.
type tripwire struct {
	mu    sync.Mutex
	calls map[string]*callCount
	order []string
}

type callCount struct{ allows, hooks, results int }

// tripwireBound is how many ids are remembered. The oldest are forgotten
// first; a sign for a forgotten id raises the alarm, never hides one.
const tripwireBound = 4096

func (t *tripwire) count(id string) *callCount {
	if t.calls == nil {
		t.calls = make(map[string]*callCount)
	}
	c := t.calls[id]
	if c == nil {
		c = &callCount{}
		t.calls[id] = c
		t.order = append(t.order, id)
		t.trim()
	}
	return c
}

func (t *tripwire) trim() {
	for len(t.order) > tripwireBound {
		delete(t.calls, t.order[0])
		t.order = t.order[1:]
	}
}

// allow notes that an allow goes out; it must be called before it is sent.
func (t *tripwire) allow(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count(id).allows++
}

// hook notes a PostToolUse or PostToolUseFailure callback; false raises the alarm.
func (t *tripwire) hook(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.count(id)
	c.hooks++
	return c.hooks <= c.allows
}

// result notes a result that is no error; false raises the alarm.
func (t *tripwire) result(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.count(id)
	c.results++
	return c.results <= c.allows
}

// unmediated ends the session: a call ran that nobody judged.
func (p *process) unmediated(sign, toolUse string) {
	s := p.session
	s.engine.log.Error("tool call ran without a decision", "session", s.id, "tool_use_id", s.forLog(toolUse), "sign", sign)
	s.append(event.Notice, map[string]any{
		"type": "unmediated", "toolUseID": toolUse, "sign": sign,
		"message": "a tool call ran without a decision of policy; the session was ended. Check the CLI's version and this machine's managed settings (gatehouse version)",
	})
	s.noteUnmediated(sign, toolUse)
	s.cancel("a tool call ran without a decision (unmediated)", "gate")
}
