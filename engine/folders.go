package engine

import (
	"path/filepath"
	"sync"
)

// folders is where the CLI's calls run now. Its shell keeps the folder of a cd
// for later calls, of each agent by itself, and its hooks tell it (CLI 2.1.197).
type folders struct {
	mu    sync.Mutex
	start string            // where the session started, and its agents unless something moved
	known map[string]string // by agent id, "" for the main thread
	order []string
	moved bool // the main thread was elsewhere once, or an agent was forgotten
}

// at notes the folder a hook tells. One that is not absolute is unknown, which
// resolves no relative path.
func (f *folders) at(agent, folder string) {
	if !filepath.IsAbs(folder) {
		folder = unknownFolder
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note(agent, folder)
}

// untold notes a hook without a folder. Where hooks told the agent's before,
// nobody knows it now; a CLI that never tells keeps no cd between calls.
func (f *folders) untold(agent string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, told := f.known[agent]; told {
		f.note(agent, unknownFolder)
	}
}

func (f *folders) note(agent, folder string) {
	if f.known == nil {
		f.known = make(map[string]string)
	}
	if _, again := f.known[agent]; !again && agent != "" {
		f.order = append(f.order, agent)
	}
	f.known[agent] = folder
	f.moved = f.moved || agent == "" && folder != f.start
	if len(f.order) > maxAgents {
		delete(f.known, f.order[0])
		f.order, f.moved = f.order[1:], true
	}
}

// unknownFolder is relative, so that nothing is resolved against it.
const unknownFolder = "unknown"

// of returns where an agent's next call runs; empty is where the session started.
// An agent that no hook told of is there, unless it may have begun elsewhere.
func (f *folders) of(agent string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	folder, told := f.known[agent]
	if !told && agent != "" && f.moved {
		return unknownFolder
	}
	return folder
}

// reset forgets all: a new process begins where the session started.
func (f *folders) reset(start string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start, f.known, f.order, f.moved = start, nil, nil, false
}
