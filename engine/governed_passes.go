package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// maxPasses bounds the allows of a process that are remembered for its tools; the
// oldest are forgotten first, and their calls have then not passed the gate.
const maxPasses = 1024

// passes are the allows that were sent for tools of this process: each lets one call
// with this very input say that it passed the gate.
type passes struct {
	mu    sync.Mutex
	open  map[passKey][]pass
	order []passKey // as they came
}

type passKey struct {
	toolUse, tool string
	input         [sha256.Size]byte
}

// pass is how a call passed the gate; the zero value: it did not.
type pass struct {
	decision permission.Decision
	approver string // who answered, where somebody was asked
	agent    string
}

// add notes an allow; it must be called before it is sent.
func (p *passes) add(toolUse, tool string, input json.RawMessage, how pass) {
	if toolUse == "" {
		return
	}
	key := passKey{toolUse, tool, inputKey(input)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = make(map[passKey][]pass)
	}
	p.open[key] = append(p.open[key], how)
	p.order = append(p.order, key)
	if len(p.order) > maxPasses {
		p.drop(0)
	}
}

// take uses one up.
func (p *passes) take(toolUse, tool string, input json.RawMessage) pass {
	key := passKey{toolUse, tool, inputKey(input)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.open[key]) == 0 {
		return pass{}
	}
	how := p.open[key][0]
	p.drop(slices.Index(p.order, key))
	return how
}

// drop forgets one by its place; p.mu is held.
func (p *passes) drop(at int) {
	key := p.order[at]
	p.order = slices.Delete(p.order, at, at+1)
	if p.open[key] = p.open[key][1:]; len(p.open[key]) == 0 {
		delete(p.open, key)
	}
}

// clear forgets all: their calls can not come any more.
func (p *passes) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open, p.order = nil, nil
}

// inputKey is equal for inputs of one meaning to the CLI, which reads and writes
// them anew: members in any order, and numbers as a float64 holds them.
func inputKey(raw json.RawMessage) [sha256.Size]byte {
	var v any
	if json.Unmarshal(raw, &v) != nil { // a number no float64 holds, which the CLI cannot have either
		return sha256.Sum256([]byte(canonical(raw)))
	}
	b, err := json.Marshal(v)
	if bytes.Contains(b, []byte("-0")) {
		b, err = json.Marshal(withoutNegativeZero(v))
	}
	if err != nil {
		return sha256.Sum256(raw)
	}
	return sha256.Sum256(b)
}

// withoutNegativeZero is v as the CLI writes it: there -0 is 0.
func withoutNegativeZero(v any) any {
	switch v := v.(type) {
	case float64:
		if v == 0 {
			return 0.0
		}
	case []any:
		for i := range v {
			v[i] = withoutNegativeZero(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = withoutNegativeZero(v[k])
		}
	}
	return v
}

// pass remembers an allow that goes out for a tool of this process.
func (p *process) pass(r permission.Request, input json.RawMessage, d permission.Decision, source string) {
	rest, mcp := strings.CutPrefix(r.Tool, "mcp__")
	if server, _, _ := strings.Cut(rest, "__"); !mcp || p.session.toolServer(server) == nil { // no such name has __ in it
		return
	}
	d.UpdatedInput, d.Context = nil, nil
	p.governing.passes.add(r.ToolUseID, r.Tool, input, pass{d, approverOf(source), r.AgentID})
}

// approverOf names who let a call run, "" where nobody was asked.
func approverOf(source string) string {
	switch source {
	case "respond":
		return approverClient
	case "human":
		return approverHuman
	case "grant": // somebody's earlier approval
		return source
	}
	return ""
}

// inprocTool is the full name of a server's tool, as the CLI spells it: what is no
// letter, digit, _ or - becomes a _ (two for what takes two in UTF-16).
func inprocTool(server, tool string) string {
	plain := func(r rune) bool {
		return r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	}
	var b strings.Builder
	b.Grow(len(server) + len(tool) + len("mcp____"))
	b.WriteString("mcp__" + server + "__")
	for _, r := range tool {
		switch {
		case plain(r):
			b.WriteRune(r)
		case r > 0xFFFF:
			b.WriteString("__")
		default:
			b.WriteByte('_')
		}
	}
	return b.String()
}
