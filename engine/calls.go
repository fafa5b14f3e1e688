package engine

import "sync"

// calls knows the tools of a session's latest calls by their ids, for results
// name the id only. Of an id that repeats the latest call counts.
type calls struct {
	mu    sync.Mutex
	tools map[string]string
	order []string // as they came first
}

// maxCalls bounds the ids remembered; the oldest are forgotten first, and their
// results are then of no tool in particular.
const maxCalls = 1024

// learn notes a call.
func (c *calls) learn(id, tool string) {
	if id == "" || tool == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.tools == nil {
		c.tools = make(map[string]string)
	}
	if _, again := c.tools[id]; !again {
		c.order = append(c.order, id)
	}
	c.tools[id] = tool
	if len(c.order) > maxCalls {
		delete(c.tools, c.order[0])
		c.order = c.order[1:]
	}
}

// tool returns the tool of a call, "" when it is not known.
func (c *calls) tool(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.tools[id]
}
