package engine

import (
	"path/filepath"
	"sync"
)

// folders is where the CLI's calls run now. Its shell keeps the folder of a cd
// for later calls, of each agent by itself, and its hooks tell it (CLI 2.1.197).
type folders struct {
	mu    sync.Mutex
	known map[string]string // by agent id, "" for the main thread
	order []string
}

// at notes the folder a hook tells. One that is not absolute is unknown, which
// resolves no relative path.
func (f *folders) at(agent, folder string) {
	if !filepath.IsAbs(folder) {
		folder = unknownFolder
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = make(map[string]string)
	}
	if _, again := f.known[agent]; !again && agent != "" {
		f.order = append(f.order, agent)
	}
	f.known[agent] = folder
	if len(f.order) > maxAgents {
		delete(f.known, f.order[0])
		f.order = f.order[1:]
	}
}

// unknownFolder is relative, so that nothing is resolved against it.
const unknownFolder = "unknown"

// of returns where an agent's next call runs; empty when no hook told it yet,
// which is where the session started.
func (f *folders) of(agent string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if folder, ok := f.known[agent]; ok {
		return folder
	}
	return f.known[""]
}

// reset forgets all: a new process begins where the session started.
func (f *folders) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.order = nil, nil
}
