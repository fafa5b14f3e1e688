package engine

import (
	"sync"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// shapedFailures are calls whose failure was told as their duties want: what the hook says
// of such a call needs nothing more.
type shapedFailures struct {
	mu    sync.Mutex
	calls map[settledKey]int
}

// settledKey names a call; ids may repeat.
type settledKey struct{ tool, toolUse string }

// add notes one; over the bound all are forgotten, and then the hook tells more than
// it needs to.
func (s *shapedFailures) add(r permission.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil || len(s.calls) >= maxPasses {
		s.calls = make(map[settledKey]int)
	}
	if r.ToolUseID != "" {
		s.calls[settledKey{r.Tool, r.ToolUseID}]++
	}
}

// take says whether a call was one of them, and forgets it.
func (s *shapedFailures) take(tool, toolUse string) bool {
	key := settledKey{tool, toolUse}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.calls[key]
	if n <= 1 {
		delete(s.calls, key)
	} else {
		s.calls[key] = n - 1
	}
	return n > 0
}

func (s *shapedFailures) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}
