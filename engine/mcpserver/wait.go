package mcpserver

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// progressEvery is the pause between two progress notifications of one wait.
// Proxies and clients give up connections that are silent for a minute.
const progressEvery = 10 * time.Second

// waitable is a session that can be waited for.
type waitable interface {
	readable
	// ResumeToken is empty when none is given out.
	ResumeToken() string
	// Wait blocks until an event with an id >= after exists, a question is open,
	// no turn is under way, or ctx ends.
	Wait(ctx context.Context, after int64)
}

var _ waitable = (*engine.Session)(nil)

// await reads a session, and again until there is news or the time is over.
// With d == 0 it reads once. It returns what it has when ctx ends.
func await(ctx context.Context, s waitable, o options, d time.Duration, progress func(context.Context, string)) answer {
	deadline := time.Now().Add(d)
	spoke := time.Now()
	for {
		a, news := read(s, o)
		left := time.Until(deadline)
		if news || left <= 0 || ctx.Err() != nil {
			return a
		}
		pause := min(left, time.Until(spoke.Add(progressEvery)))
		waitFor(ctx, s, after(a, o), pause)
		if now := time.Now(); now.Sub(spoke) >= progressEvery && ctx.Err() == nil {
			progress(ctx, fmt.Sprintf("session %s is %s", a.SessionID, a.Status))
			spoke = now
		}
	}
}

// after is the event id that would be news. Readers who see no events wait for
// questions and the end of the turn only.
func after(a answer, o options) int64 {
	if o.noEvents || a.NextCursor == nil {
		return math.MaxInt64
	}
	return *a.NextCursor
}

func waitFor(ctx context.Context, s waitable, after int64, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	s.Wait(ctx, after)
}

// started is the answer of claude_code and claude_code_reply. With a wait it
// also has actions, result and nextCursor, which is from: the id of the first
// event of this turn. Events themselves are left to a poll, and not skipped.
func started(ctx context.Context, c call, s waitable, from int64, d time.Duration) answer {
	info := s.Info()
	a := answer{SessionID: info.ID, Status: engine.Running.String(), PollInterval: pollInterval(engine.Running)}
	if d > 0 {
		a = await(ctx, s, options{noEvents: true, structuredOutput: true}, d, c.progress)
		a.Events, a.NextCursor = nil, &from
		a.LastEventID, a.LastToolUseID = nil, ""
	}
	a.ResumeToken = s.ResumeToken() // last: it also signs the totals so far
	a.Warnings = s.Info().Warnings
	return a
}
