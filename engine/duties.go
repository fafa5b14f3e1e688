package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// duties are the obligations of calls that run now and whose output has to be
// changed: they travel from the decision to the end of the call by its id.
type duties struct {
	mu     sync.Mutex
	calls  map[dutyKey]*duty
	failed map[string]duty              // by call: its result is still to come as an event
	hidden map[string][]event.Redaction // by call: what plugins hid of its output, which is still to come as an event
}

type dutyKey struct{ agent, toolUse string }

// duty is what happens to the output of a call. Ids can repeat: of calls that
// run at once under one id, the strictest holds for all.
type duty struct {
	rule     string
	withhold bool
	limit    int      // bytes; < 0 = none
	plugins  []string // that have to see it, sorted
	open     int      // calls let through that have not ended
}

// maxDuties bounds the calls that run with such obligations at once; more of
// them are denied.
const maxDuties = 1024

// take notes the output obligations of a call that is let through; false when
// there is no room.
func (u *duties) take(r permission.Request, d permission.Decision) bool {
	next, any := dutyOf(d)
	if !any {
		return true
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.calls == nil {
		u.calls = make(map[dutyKey]*duty)
	}
	key := dutyKey{r.AgentID, r.ToolUseID}
	have := u.calls[key]
	if have == nil {
		if len(u.calls) >= maxDuties {
			return false
		}
		have = &duty{limit: -1}
		u.calls[key] = have
	}
	have.rule, have.withhold, have.open = next.rule, have.withhold || next.withhold, have.open+1
	if next.limit >= 0 && (have.limit < 0 || next.limit < have.limit) {
		have.limit = next.limit
	}
	have.plugins = sortedUnion(have.plugins, next.plugins)
	return true
}

// sortedUnion is made anew: a duty that was handed out is not changed.
func sortedUnion(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// takeBack undoes take for a call that is not let through after all.
func (u *duties) takeBack(r permission.Request, d permission.Decision) {
	if _, any := dutyOf(d); any {
		u.end(r.AgentID, r.ToolUseID)
	}
}

func dutyOf(d permission.Decision) (duty, bool) {
	u := duty{rule: d.Rule, limit: -1}
	for _, o := range d.Obligations {
		switch n, _ := outputLimit(o); {
		case o.Kind == "redact_result":
			u.withhold = true
		case o.Kind == "limit_output" && (u.limit < 0 || n < u.limit):
			u.limit = n
		case o.Kind == "run_plugin":
			name, _ := o.Args["name"].(string)
			u.plugins = sortedUnion(u.plugins, []string{name})
		}
	}
	return u, u.withhold || u.limit >= 0 || len(u.plugins) > 0
}

// demanded are the plugins that have to see the output of a call.
func (u *duties) demanded(agent, toolUse string) []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	if have := u.calls[dutyKey{agent, toolUse}]; have != nil {
		return have.plugins
	}
	return nil
}

// owed is the duty of a call that has not ended. Where it is not known whose call it
// is, that of any of its id counts.
func (u *duties) owed(agent, toolUse string, known bool) (duty, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if have := u.calls[dutyKey{agent, toolUse}]; have != nil {
		return *have, true
	}
	found, any := noDuty, false
	for key, have := range u.calls {
		if !known && key.toolUse == toolUse {
			found, any = found.with(*have), true
		}
	}
	return found, any
}

// end returns the duty of a call that has ended.
func (u *duties) end(agent, toolUse string) (duty, bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	key := dutyKey{agent, toolUse}
	have := u.calls[key]
	if have == nil {
		return duty{}, false
	}
	if have.open--; have.open <= 0 {
		delete(u.calls, key)
	}
	return *have, true
}

// clear forgets calls that can not end any more: their process is gone.
func (u *duties) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls, u.failed, u.hidden = nil, nil, nil
}

// fail keeps a duty for the event of a failed call's result.
func (u *duties) fail(toolUse string, d duty) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.failed == nil || len(u.failed) >= maxDuties {
		u.failed = make(map[string]duty)
	}
	u.failed[toolUse] = d
}

// shown is the content of a call's result as events hold it.
func (u *duties) shown(tool, toolUse string, content json.RawMessage) json.RawMessage {
	u.mu.Lock()
	d, owed := u.failed[toolUse]
	delete(u.failed, toolUse)
	u.mu.Unlock()
	if !owed {
		return content
	}
	return d.shape(tool, content)
}

// shape applies a duty to the output of a call, in the output's own shape.
func (u duty) shape(tool string, output json.RawMessage) json.RawMessage {
	if !u.withhold && u.limit < 0 {
		return output // only plugins had to see it
	}
	v, ok := decodeOutput(output)
	if u.withhold || !ok {
		return withheldOutput(tool, output)
	}
	cut := cutter{left: u.limit, limit: u.limit, rule: u.rule, tool: tool}
	b, ok := encodeOutput(cut.value("", v))
	switch {
	case !ok:
		return withheldOutput(tool, output)
	case !cut.told:
		return output // nothing was cut: the very bytes
	}
	if b, ok = keepShape(tool, output, b); !ok {
		return withheldOutput(tool, output)
	}
	return b
}

// cutter cuts the texts of a value to a number of bytes in total.
type cutter struct {
	left, limit int
	rule, tool  string
	told        bool
}

func (c *cutter) value(key string, v any) any {
	switch v := v.(type) {
	case string:
		if keepsWord(c.tool, key, v) {
			return v
		}
		return c.text(v)
	case []any:
		for i := range v {
			v[i] = c.value(key, v[i])
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = c.value(k, v[k])
		}
	}
	return v
}

func (c *cutter) text(s string) string {
	if len(s) <= c.left {
		c.left -= len(s)
		return s
	}
	s, c.left = strings.ToValidUTF8(s[:c.left], ""), 0
	if !c.told {
		c.told = true
		s += fmt.Sprintf("\n[cut at %d bytes by rule %s]", c.limit, c.rule)
	}
	return s
}

// meet covers a tool's output on its way to the model and changes it as its call's
// obligations want, in this order, so that a cut never splits a secret in two.
func (p *process) meet(input map[string]json.RawMessage, output json.RawMessage) json.RawMessage {
	s, tool, id := p.session, textOf(input["tool_name"]), textOf(input["tool_use_id"])
	u, owed := s.duties.end(textOf(input["agent_id"]), id)
	if !owed {
		return s.cover(tool, id, output, nil)
	}
	there := s.seeOutput(u.plugins)
	covered := s.cover(tool, id, output, u.plugins)
	if !there || !s.seeOutput(u.plugins) { // looked at twice: it may have come or gone in between
		s.unseen(u, tool, id)
		u.withhold = true
	}
	return u.shape(tool, covered)
}

// unseen tells that an output is withheld since a plugin that has to see it does not.
func (s *Session) unseen(u duty, tool, toolUse string) {
	s.notice("policy", fmt.Sprintf("the output of a call is withheld: rule %s wants plugin %s to see it, which does not see the output of tools now", u.rule, strings.Join(u.plugins, ", ")), map[string]any{
		"rule": u.rule, "toolName": tool, "toolUseID": toolUse,
	})
}

// unmetFailure tells that a failed call's output reached the model: the CLI
// offers no way to change it (CLI 2.1.197).
func (p *process) unmetFailure(input map[string]json.RawMessage) {
	u, owed := p.session.duties.end(textOf(input["agent_id"]), textOf(input["tool_use_id"]))
	if !owed {
		return
	}
	u.withhold = u.withhold || len(u.plugins) > 0 // they see the output of calls that succeed only
	p.session.duties.fail(textOf(input["tool_use_id"]), u)
	p.session.notice("policy", "a call failed, and the CLI hands the output of a failed call to the model as it is; in the events it is treated as rule "+u.rule+" wants", map[string]any{
		"rule": u.rule, "toolUseID": textOf(input["tool_use_id"]),
	})
	p.session.engine.log.Warn("output of a failed call reached the model", "session", p.session.id, "rule", u.rule)
}
