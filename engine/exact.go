package engine

import (
	"encoding/json"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// A record holds what may be shown. A session may go on with the options of its record
// only if they are the very ones it was started with.

// keepParams prepares the options for the record.
func (s *Session) keepParams() {
	s.keeping.params = s.shownParams()
	s.keeping.exact = s.keptExactly(s.keeping.params)
}

// keptExactly reports whether the kept options are the session's own.
func (s *Session) keptExactly(kept []byte) bool {
	p := s.params
	p.Raw = nil
	if len(p.Env) > 0 || len(p.McpServers) > 0 || len(p.Sandbox) > 0 || p.Executable != "" || p.DebugFile != "" {
		return false // never kept
	}
	own, err := jsonOf(p)
	if err != nil || len(kept) == 0 || canonical(own) != canonical(kept) {
		return false
	}
	_, same := s.uncovered(s.dirs)
	return same
}

// keptRules are the rules that answers added, where they may be kept as they are.
func (s *Session) keptRules() (deny []string, whole bool) {
	s.mu.Lock()
	deny = slices.Clone(s.rules.deny)
	s.mu.Unlock()
	return s.uncovered(deny)
}

// uncovered returns texts in which redaction finds nothing; same is false, and there
// are none, where it does.
func (s *Session) uncovered(texts []string) (_ []string, same bool) {
	if len(texts) == 0 {
		return nil, true
	}
	raw, err := jsonOf(map[string][]string{"texts": texts})
	if err != nil {
		return nil, false
	}
	var shown struct {
		Texts []string `json:"texts"`
	}
	raw, _, ok := s.log.Redact(s.untilDone(), event.Payload{Sink: event.SinkEvent, Kind: event.Notice, Data: raw})
	if !ok || json.Unmarshal(raw, &shown) != nil || !slices.Equal(shown.Texts, texts) {
		return nil, false
	}
	return texts, true
}
