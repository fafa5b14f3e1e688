package engine

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// rereadPause is before a page is asked for again that the store could not give.
const rereadPause = 100 * time.Millisecond

// Pages yields the events of the turn under way as they come, or those of the last
// turn where none is. It begins with the first event of that turn, each time it is
// ranged over, and ends when the turn has ended and everything was yielded; when
// ctx ends; or when the loop is left. A cancelled session's ends when nothing of it
// runs any more. What follows a reply is another turn: range again after
// [Session.Prompt].
//
// A page has all that is there, up to [event.PageBytes] where it comes from a
// Store. ResetTo is set where events before it are not kept any more: readers who
// take longer than memory lasts miss the oldest ones, not the newest. Truncated
// says that the next page is there already.
//
// After each question that opens there is a page on which [Session.Pending] lists
// it; such a page may be without events. While it is open the turn waits, so what
// is asked has to be answered, in the loop or elsewhere, or it times out as a deny.
func (s *Session) Pages(ctx context.Context) iter.Seq[event.Page] {
	return func(yield func(event.Page) bool) {
		r := reader{s: s, next: s.turnBegan()}
		for ctx.Err() == nil {
			m := s.moment()
			_, appended := s.log.Next()
			p, news := r.read(m)
			if news && !yield(p) {
				return
			}
			switch {
			case p.Truncated && !news:
				pause(ctx, rereadPause)
			case p.Truncated:
			case m.over:
				return
			default:
				m.wait(ctx, appended)
			}
		}
	}
}

// reader is one range over Pages.
type reader struct {
	s    *Session
	next int64
	told []string // ids of the questions that were open at the last page
}

// read returns the next page and whether it tells of anything. m was taken before.
func (r *reader) read(m moment) (p event.Page, news bool) {
	p = r.s.Events(&r.next, 0)
	r.next = p.Next
	opened := slices.ContainsFunc(m.open, func(id string) bool { return !slices.Contains(r.told, id) })
	r.told = m.open
	return p, len(p.Events) > 0 || p.ResetTo != nil || opened
}

// moment is how a session stands at one moment.
type moment struct {
	over    bool     // no turn is under way, and nothing that is cancelled ends still
	open    []string // ids of the open questions
	changed <-chan struct{}
	done    <-chan struct{} // nil unless it is cancelled
}

func (s *Session) moment() moment {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = time.Now()
	m := moment{over: !s.state.Busy(), changed: s.changed}
	for id := range s.actions {
		m.open = append(m.open, id)
	}
	if s.state == Cancelled {
		m.done = s.done
		select {
		case <-s.done:
		default:
			m.over = false
		}
	}
	return m
}

func (m moment) wait(ctx context.Context, appended <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-appended:
	case <-m.changed:
	case <-m.done:
	}
}

// turnBegan is the id of the first event of the turn under way, or of the last one.
func (s *Session) turnBegan() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.busyFrom
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
