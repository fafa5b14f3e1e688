package engine

import (
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// agents is what a session knows of its sub-agents. The CLI names an agent in
// each of its calls, tells its type in hooks, and the call that started it in a
// task_started message before the agent's first call (CLI 2.1.197).
type agents struct {
	mu      sync.Mutex
	known   map[string]permission.Agent // by agent id
	order   []string
	starts  map[string]string // calls that start agents, to the agent that made them
	started []string
}

// maxAgents bounds the agents, and the calls that start some, a session
// remembers; the oldest are forgotten first, and then have no type and depth 1.
const maxAgents = 256

// calling notes a call that may start an agent.
func (a *agents) calling(r permission.Request) {
	if r.Tool != "Agent" && r.Tool != "Task" || r.ToolUseID == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.starts == nil {
		a.starts = make(map[string]string)
	}
	if _, again := a.starts[r.ToolUseID]; !again {
		a.started = append(a.started, r.ToolUseID)
	}
	a.starts[r.ToolUseID] = r.AgentID
	if len(a.started) > maxAgents {
		delete(a.starts, a.started[0])
		a.started = a.started[1:]
	}
}

// learn notes what the CLI tells of an agent: its type, and the call that
// started it; either may be empty.
func (a *agents) learn(id, kind, toolUse string) {
	if id == "" {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = make(map[string]permission.Agent)
	}
	agent, again := a.known[id]
	if !again {
		agent.Depth = 1
		a.order = append(a.order, id)
	}
	if kind != "" {
		agent.Type = beginning(kind)
	}
	if toolUse != "" {
		agent.ParentToolUseID, agent.Depth = toolUse, a.known[a.starts[toolUse]].Depth+1
	}
	a.known[id] = agent
	if len(a.order) > maxAgents {
		delete(a.known, a.order[0])
		a.order = a.order[1:]
	}
}

// of returns what is known of an agent; the zero value is the main thread.
func (a *agents) of(id string) permission.Agent {
	if id == "" {
		return permission.Agent{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if agent, ok := a.known[id]; ok {
		return agent
	}
	return permission.Agent{Depth: 1}
}
