package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// OpenQuestion is a question as its owner may see it: Request.Input is the exact
// input, not redacted. It must not reach a client or a log.
type OpenQuestion struct {
	permission.Question
	Action Action // what clients see of it, redacted
}

// Questions lists the open questions of all sessions, oldest first.
func (e *Engine) Questions() []OpenQuestion {
	var all []OpenQuestion
	for _, s := range e.all() {
		for _, q := range s.approvals.Pending() {
			s.mu.Lock()
			action, shown := s.actions[q.ID]
			s.mu.Unlock()
			if shown { // else it is being opened, or was settled just now
				all = append(all, OpenQuestion{q, action})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b OpenQuestion) int { return a.Created.Compare(b.Created) })
	return all
}

// ShownInput is an input as people read it: a line for each member of the
// object, texts as they are with invisible characters escaped, and lines of a
// text marked, so that none of them looks like another member.
func ShownInput(input json.RawMessage) string {
	members := membersOf(input)
	if members == nil {
		return visible(string(input))
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(members)) {
		fmt.Fprintf(&b, "%s: %s\n", visible(name), shownMember(members[name]))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func shownMember(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return visible(string(raw))
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = visible(lines[i])
	}
	return strings.Join(lines, "\n  | ")
}

// ShownFields are the values that pointers (RFC 6901) name in an input, made
// visible; at most 16 are looked up.
func ShownFields(input json.RawMessage, pointers []string) []ActionField {
	return actionFields(input, pointers, func(text string) string { return text })
}

// TellSession adds a notice to the events of one session; an id that is not
// known is nobody to tell. It is no use of the session, so its idle time goes on.
func (e *Engine) TellSession(id, kind, message string) {
	e.mu.Lock()
	s := e.sessions[id]
	e.mu.Unlock()
	if s != nil {
		s.notice(kind, message, nil)
	}
}

// Visible is text with the characters escaped that a reader would not see.
func Visible(text string) string { return visible(text) }
