package engine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Who may answer, and how often a session may ask.

// The approvers there are. A client that has groups is one of them too.
const (
	approverClient = "client" // answers polls
	approverHuman  = "human"  // a person at a door of the owner
)

// approver is the word of policies for whoever gives an answer.
func (a Answer) approver() string {
	if a.Approver == approverHuman {
		return approverHuman
	}
	return approverClient
}

// mayApprove says whether an allow of approver counts. Groups are the caller's,
// and so the client's.
func (s *Session) mayApprove(t permission.AskTerms, approver string) bool {
	switch {
	case t.Approver == approverHuman && approver != approverHuman:
		return false
	case t.Approvers == nil || slices.Contains(t.Approvers, approver):
		return true
	}
	return approver == approverClient && slices.ContainsFunc(s.caller.Groups, func(g string) bool { return slices.Contains(t.Approvers, g) })
}

// unreachable says why a question cannot be approved by anybody here, "" when it can.
func (s *Session) unreachable(t permission.AskTerms) string {
	can := 0
	for _, a := range s.engine.o.Approvers {
		if s.mayApprove(t, a) {
			can++
		}
	}
	switch want := max(t.Quorum, 1); {
	case can >= want:
		return ""
	case len(s.engine.o.Approvers) == 0:
		return "nobody can answer here"
	case can == 0:
		return fmt.Sprintf("an approval has to come from %s, and here only %s can answer", wanted(t), orNobody(s.engine.o.Approvers))
	default:
		return fmt.Sprintf("it takes %d approvers, and here only %d of those who may (%s) can answer", want, can, orNobody(s.engine.o.Approvers))
	}
}

func wanted(t permission.AskTerms) string {
	switch {
	case t.Approvers == nil:
		return t.Approver
	case t.Approver != "":
		return t.Approver + " out of " + orNobody(t.Approvers)
	}
	return orNobody(t.Approvers)
}

func orNobody(names []string) string {
	if len(names) == 0 {
		return "nobody"
	}
	return strings.Join(names, ", ")
}

// errAskRate is why a question is not put.
var errAskRate = errors.New("too many questions in one minute")

// window counts what happened in the last minute.
type window struct {
	mu    sync.Mutex
	times []time.Time // at most as many as are allowed
}

// take notes one more; false when max happened within the last minute. max <= 0
// is no limit.
func (w *window) take(now time.Time, max int) bool {
	if max <= 0 {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times = slices.DeleteFunc(w.times, func(t time.Time) bool { return now.Sub(t) >= time.Minute })
	if len(w.times) >= max {
		return false
	}
	w.times = append(w.times, now)
	return true
}
