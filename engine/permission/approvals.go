package permission

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sort"
	"sync"
	"time"
)

// Errors of Approvals.
var (
	ErrNotFound = errors.New("no such pending request: it was answered, withdrawn or timed out")
	ErrFull     = errors.New("too many pending requests")
)

// Question is a call that waits for an answer.
type Question struct {
	ID       string // 128 random bits, hex; single use
	Request  Request
	Decision Decision // why it is asked
	Created  time.Time
	Deadline time.Time

	answer chan Verdict // buffered: exactly one verdict is sent
}

// Verdict is the answer to a Question.
type Verdict struct {
	Allow       bool
	Input       json.RawMessage // what runs; the question's own input unless changed
	Permissions json.RawMessage // updates for the session, already judged; nil = none
	Message     string          // deny: what the model reads
	Interrupt   bool            // deny: end the turn too
	Source      string          // "respond", "human", "timeout", "cancel", "cli", "process"
	Approver    string          // "client" or "human"; empty when nobody answered
	Folder      string          // where the call runs, as Request.Folder
	Judged      *Decision       // of what changed since it was asked; nil when nothing did
}

// same says whether two approvals let the very same call run.
func (v Verdict) same(o Verdict) bool {
	return v.Folder == o.Folder && bytes.Equal(v.Input, o.Input) && bytes.Equal(v.Permissions, o.Permissions)
}

// Approvals holds the open questions of one session. The first answer wins.
type Approvals struct {
	max int              // 0 = no bound
	now func() time.Time // for tests

	mu    sync.Mutex
	open  map[string]Question
	votes map[string]map[string]Verdict // by question and approver: allows that are not enough yet
}

// NewApprovals makes an empty set that holds at most max questions (0 = no bound).
func NewApprovals(max int) *Approvals {
	return &Approvals{max: max, now: time.Now, open: make(map[string]Question), votes: make(map[string]map[string]Verdict)}
}

// Open registers a question for a call. The caller must Wait for it.
func (a *Approvals) Open(r Request, d Decision, timeout time.Duration) (Question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.max > 0 && len(a.open) >= a.max {
		return Question{}, ErrFull
	}
	now := a.now()
	q := Question{ID: newID(), Request: r, Decision: d, Created: now, Deadline: now.Add(timeout), answer: make(chan Verdict, 1)}
	a.open[q.ID] = q
	return q, nil
}

// wallEvery is how often the wall clock is looked at: timers stand still while the
// machine sleeps.
const wallEvery = 10 * time.Second

// Passed reports whether a deadline is over by either clock: the monotonic one,
// which nobody can set, and the wall clock, which goes on while the machine sleeps.
func Passed(now, deadline time.Time) bool {
	return now.After(deadline) || now.Round(0).After(deadline.Round(0))
}

// Left is how long it is to a deadline, by the clock that comes first; not below 0.
func Left(now, deadline time.Time) time.Duration {
	return max(min(deadline.Sub(now), deadline.Round(0).Sub(now.Round(0))), 0)
}

// Wait blocks until the question is answered or its deadline passes; ctx ending
// is a deny with the given source "cancel". It always returns a verdict.
func (a *Approvals) Wait(ctx context.Context, q Question) Verdict {
	timer := time.NewTimer(min(Left(a.now(), q.Deadline), wallEvery))
	defer timer.Stop()
	for {
		select {
		case v := <-q.answer:
			return v
		case <-timer.C:
			if left := Left(a.now(), q.Deadline); left > 0 {
				timer.Reset(min(left, wallEvery))
				continue
			}
			return a.settle(q, Verdict{Message: "nobody answered the permission request in time; the call was not run", Source: "timeout"})
		case <-ctx.Done():
			return a.settle(q, Verdict{Message: "the permission request was withdrawn", Source: cause(ctx)})
		}
	}
}

// settle closes the question with v unless an answer came first.
func (a *Approvals) settle(q Question, v Verdict) Verdict {
	a.mu.Lock()
	defer a.mu.Unlock()
	select {
	case first := <-q.answer:
		return first
	default:
		a.drop(q.ID)
		return v
	}
}

func (a *Approvals) drop(id string) {
	delete(a.open, id)
	delete(a.votes, id)
}

func cause(ctx context.Context) string {
	if s, ok := errors.AsType[interface {
		error
		Source() string
	}](context.Cause(ctx)); ok {
		return s.Source()
	}
	return "cancel"
}

// Get returns an open question.
func (a *Approvals) Get(id string) (Question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.open[id]
	if !ok || Passed(a.now(), q.Deadline) {
		return Question{}, ErrNotFound
	}
	return q, nil
}

// Answer gives v to the waiter, after it has called before, if that is not nil.
// Where the question wants several approvers, an allow counts once for each and
// left says how many are still missing; the waiter is then told nothing, and
// only allows of the very same input count together. The first deny settles.
// ErrNotFound when somebody else was first or the deadline passed; before is
// called for the answer that settles only. It must not use the Approvals.
func (a *Approvals) Answer(id string, v Verdict, before func()) (left int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q, ok := a.open[id]
	if !ok || Passed(a.now(), q.Deadline) {
		return 0, ErrNotFound
	}
	if left := a.vote(q, v); left > 0 {
		return left, nil
	}
	a.drop(id)
	if before != nil {
		before()
	}
	q.answer <- v // buffered, and only the one who removed q sends
	return 0, nil
}

// vote counts an allow and says how many more it takes. There are at most as
// many votes as kinds of approvers.
func (a *Approvals) vote(q Question, v Verdict) (left int) {
	if !v.Allow || q.Decision.Ask.Quorum <= 1 {
		return 0
	}
	if a.votes[q.ID] == nil {
		a.votes[q.ID] = make(map[string]Verdict)
	}
	a.votes[q.ID][v.Approver] = v
	given := 0
	for _, other := range a.votes[q.ID] {
		if other.same(v) {
			given++
		}
	}
	return q.Decision.Ask.Quorum - given
}

// Pending lists the open questions, oldest first.
func (a *Approvals) Pending() []Question {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]Question, 0, len(a.open))
	for _, q := range a.open {
		list = append(list, q)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Created.Before(list[j].Created) })
	return list
}

func newID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails since Go 1.24
	return hex.EncodeToString(b[:])
}
