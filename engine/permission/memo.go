package permission

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"io"
	"sync"
)

// memoBound is how many unclaimed decisions a Memo keeps. A call claims its
// entry within milliseconds; more entries than this means calls that never came.
const memoBound = 256

type memoKey struct {
	agent, toolUse, tool, folder, revision string
	input, answered                        [sha256.Size]byte
}

// Memo carries a decision from the first door to the second, so that a call is
// judged once. An entry is used once, and only for the very same input under
// the same policies, mode and rules of the session. A person's answer is never put here.
type Memo struct {
	mu      sync.Mutex
	entries map[memoKey]Decision
	order   []memoKey
}

func keyOf(r Request, revision string) memoKey {
	return memoKey{r.AgentID, r.ToolUseID, r.Tool, r.Folder, revision, sha256.Sum256(canonical(r.Input)), answered(r.Session)}
}

// answered stands for what an answer to another call may have changed between the two
// doors: a decision that was made without it must not count.
func answered(s Session) (sum [sha256.Size]byte) {
	h := sha256.New()
	io.WriteString(h, s.Mode)
	for _, list := range [][]string{s.AllowedTools, s.DisallowedTools} {
		io.WriteString(h, "\x00\x00")
		for _, rule := range list {
			io.WriteString(h, rule)
			io.WriteString(h, "\x00")
		}
	}
	h.Sum(sum[:0])
	return sum
}

// canonical orders the keys of a JSON text: the CLI writes the same input in
// another order at its second door. Numbers stay as written.
func canonical(raw json.RawMessage) []byte {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	b, err := json.Marshal(v)
	if err != nil {
		return raw
	}
	return b
}

// Put keeps d for the next Take of the same request.
func (m *Memo) Put(r Request, revision string, d Decision) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = make(map[memoKey]Decision)
	}
	k := keyOf(r, revision)
	if _, ok := m.entries[k]; !ok {
		m.order = append(m.order, k)
	}
	m.entries[k] = d
	for len(m.order) > memoBound {
		delete(m.entries, m.order[0])
		m.order = m.order[1:]
	}
}

// Take returns the decision kept for r and forgets it.
func (m *Memo) Take(r Request, revision string) (Decision, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := keyOf(r, revision)
	d, ok := m.entries[k]
	if !ok {
		return Decision{}, false
	}
	delete(m.entries, k)
	for i, o := range m.order {
		if o == k {
			m.order = append(m.order[:i], m.order[i+1:]...)
			break
		}
	}
	return d, true
}
