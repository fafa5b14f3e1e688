package policy

import (
	"strconv"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// memoBound is how many decisions a Set remembers; the oldest go first.
const memoBound = 1024

// maxMemoKey bounds the bytes of one call that is remembered.
const maxMemoKey = 64 << 10

// decisionMemo answers equal calls again while the rules that decided say that
// their answer holds (the cache of a decision). Rules that did not speak are
// part of an answer too, so whatever any layer's rules look at is part of the
// key, and where they look at the clock or the last calls, nothing is remembered.
type decisionMemo struct {
	off   bool // rules look at what changes with every call
	parts []memoPart

	mu      sync.Mutex
	entries map[string]memoEntry
	order   []string // ring of the keys, oldest at next
	next    int
}

type memoEntry struct {
	holds    bool
	decision permission.Decision
	facts    string // that have to be the same again; empty when no file matters
	until    time.Time
}

// memoPart is one field of the document that may change within a session.
type memoPart struct {
	field, inner string
	add          func([]byte, *permission.Request) []byte
}

// neverSame are fields that differ with every call, or are not of the call at all.
var neverSame = [][2]string{
	{"now_ns", ""}, {"decision_id", ""}, {"tool", "use_id"}, {"signals", ""}, {"plugins", ""},
	{"budget", "wall_s"}, {"budget", "tool_calls"}, {"history", "last"}, {"history", "tool_calls"}, {"history", "tools"},
}

var memoParts = []memoPart{
	{"door", "", func(b []byte, r *permission.Request) []byte { return text0(b, string(r.Door)) }},
	{"title", "", func(b []byte, r *permission.Request) []byte { return text0(b, r.Title) }},
	{"suggestions", "", func(b []byte, r *permission.Request) []byte { return text0(b, string(r.Suggested)) }},
	{"blocked_path", "", func(b []byte, r *permission.Request) []byte { return text0(b, r.Blocked) }},
	{"agent", "", func(b []byte, r *permission.Request) []byte {
		b = text0(text0(b, r.AgentID), r.Agent.Type)
		return text0(number0(b, r.Agent.Depth), r.Agent.ParentToolUseID)
	}},
	{"caller", "", func(b []byte, r *permission.Request) []byte {
		b = text0(text0(text0(b, r.Caller.Client), r.Caller.Version), r.Caller.Transport)
		return texts0(text0(text0(number0(b, r.Caller.UID), r.Caller.Subject), r.Caller.Remote), r.Caller.Groups)
	}},
	{"session", "turn", func(b []byte, r *permission.Request) []byte { return number0(b, r.Session.Turn) }},
	{"budget", "", func(b []byte, r *permission.Request) []byte {
		b = strconv.AppendFloat(b, r.Session.CostUSD, 'g', -1, 64)
		b = strconv.AppendFloat(append(b, 0), r.Session.MaxBudgetUSD, 'g', -1, 64)
		return number0(number0(append(b, 0), r.Session.Turns), r.Session.MaxTurns)
	}},
	{"history", "", func(b []byte, r *permission.Request) []byte {
		return texts0(number0(number0(b, r.Session.Denies), r.Session.Asks), r.Session.Taint)
	}},
}

// newDecisionMemo chooses what belongs to the key by what the layers look at.
func newDecisionMemo(layers []inputReads) *decisionMemo {
	m := &decisionMemo{entries: map[string]memoEntry{}, order: make([]string, memoBound)}
	for _, reads := range layers {
		for _, f := range neverSame {
			m.off = m.off || memoPart{field: f[0], inner: f[1]}.read(reads)
		}
	}
	for _, part := range memoParts {
		for _, reads := range layers {
			if part.read(reads) {
				m.parts = append(m.parts, part)
				break
			}
		}
	}
	return m
}

func (p memoPart) read(reads inputReads) bool {
	if p.inner != "" || reads.whole(p.field) {
		return reads.some(p.field, p.inner)
	}
	return reads.within(p.field)
}

// keyBuffers are reused: a key is built for every call.
var keyBuffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// get returns what was decided about an equal call a while ago.
func (m *decisionMemo) get(r *permission.Request) memoEntry {
	if m.off || len(r.Input) > maxMemoKey {
		return memoEntry{}
	}
	buffer := keyBuffers.Get().(*[]byte)
	defer keyBuffers.Put(buffer)
	*buffer = m.key((*buffer)[:0], r)
	m.mu.Lock()
	e := m.entries[string(*buffer)]
	m.mu.Unlock()
	if e.holds && time.Now().After(e.until) {
		return memoEntry{}
	}
	return e
}

// put remembers a decision for ttl.
func (m *decisionMemo) put(r *permission.Request, d permission.Decision, ttl time.Duration, facts string) {
	if m.off || len(r.Input) > maxMemoKey || len(facts) > maxMemoKey {
		return
	}
	key := string(m.key(nil, r))
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.entries[key]; !known {
		delete(m.entries, m.order[m.next])
		m.order[m.next] = key
		m.next = (m.next + 1) % len(m.order)
	}
	m.entries[key] = memoEntry{holds: true, decision: d, facts: facts, until: time.Now().Add(ttl)}
}

// key joins everything of a request that rules may look at.
func (m *decisionMemo) key(b []byte, r *permission.Request) []byte {
	s := &r.Session
	b = text0(text0(text0(b, r.Tool), string(r.Input)), r.SessionID)
	b = text0(text0(text0(text0(b, s.Cwd), r.Folder), s.Mode), s.Model)
	b = texts0(texts0(texts0(texts0(b, s.Roots), s.AdditionalDirs), s.AllowedTools), s.DisallowedTools)
	b = texts0(texts0(b, s.McpServers), s.InprocServers)
	b = strconv.AppendBool(strconv.AppendBool(strconv.AppendBool(b, s.McpServers == nil), s.Trusted), s.SandboxOn)
	b = strconv.AppendBool(strconv.AppendBool(b, s.NoHooks), s.NoTickets)
	for i := range m.parts {
		b = m.parts[i].add(b, r)
	}
	return b
}

// text0 adds a text behind its length, so that two texts cannot be read as others.
func text0(b []byte, s string) []byte { return append(number0(b, len(s)), s...) }

func texts0(b []byte, list []string) []byte {
	b = number0(b, len(list))
	for _, s := range list {
		b = text0(b, s)
	}
	return b
}

func number0(b []byte, n int) []byte { return append(strconv.AppendInt(b, int64(n), 10), 0) }
