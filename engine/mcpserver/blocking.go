package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// A call with timeout, and every one with Options.Sync, waits for the end of its
// turn and answers the whole result at the top level. Questions of the turn are
// answered meanwhile by other calls, or by the owner.

// blockingAnswer is the answer of such a call.
type blockingAnswer struct {
	Status string `json:"status"` // "idle", "error" or "cancelled"
	engine.Result
	StopReason  *string  `json:"stopReason,omitempty"` // never null here
	ResumeToken string   `json:"resumeToken,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
}

// fails makes the answer an error of MCP as well.
func (a blockingAnswer) fails() bool { return a.IsError }

// blocking reports whether the call waits for its turn, which leaves waitMs nothing
// to say.
func (s *server) blocking(a *arguments) bool {
	why := "the server answers when a turn has ended ([tools] sync)"
	if a.has("timeout") {
		why = "a call with timeout answers when its turn has ended"
	} else if !s.sync {
		return false
	}
	if a.wait() > 0 {
		a.fail("waitMs: %s, so there is nothing else to wait for; leave waitMs out", why)
	}
	return true
}

// blockingStart is how long the CLI may take to tell of its session where a call waits
// for its turn and names no time. Clients of the first version know one limit, that of
// the turn, and nobody waits for less than that.
const blockingStart = time.Minute

// startWithin is the sessionInitTimeoutMs of such a call.
func startWithin(given time.Duration) time.Duration { return cmp.Or(given, blockingStart) }

// answering says what the tools answer; otherwise is what they do without Options.Sync.
func (s *server) answering(otherwise string) string {
	if s.sync {
		return "Returns when the turn has ended, with the whole result. Without permissionMode what would ask is denied."
	}
	return otherwise
}

// unattended is the mode of a session of Options.Sync whose caller names none: who
// waits for the end of a turn answers no questions.
func (s *server) unattended(p *engine.StartParams) {
	if s.sync && p.PermissionMode == "" {
		p.PermissionMode = "dontAsk"
	}
}

// awaitTurn waits for the turn and tells how it ended. A client that gives the call up
// ends the turn; the end of its connection, or of the server, does not.
func awaitTurn(ctx context.Context, c call, t *engine.Turn) (blockingAnswer, error) {
	s := t.Session()
	tell := func() { c.progress(ctx, "session "+s.ID()+" is "+s.Info().State.String()) }
	tell() // at once: its id is all it takes to poll it, and to answer it
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-t.Done():
			return turnAnswer(t), nil
		case <-ctx.Done():
			if CancelledByClient(ctx) {
				t.Abort(engine.Errorf(engine.CancelledCode, "the turn was cancelled by the client that waited for it; the session can be continued"))
			}
			return blockingAnswer{}, context.Cause(ctx)
		case <-tick.C:
			tell()
		}
	}
}

func turnAnswer(t *engine.Turn) blockingAnswer {
	s := t.Session()
	a := blockingAnswer{Status: engine.Idle.String(), Result: t.Result()}
	a.StopReason, a.Result.StopReason = a.Result.StopReason, nil
	switch {
	case s.Info().State == engine.Cancelled:
		a.Status = engine.Cancelled.String()
	case a.IsError:
		a.Status = engine.Failed.String()
	}
	if len(a.PermissionDenials) == 0 || isNull(a.PermissionDenials) {
		a.PermissionDenials = json.RawMessage("[]")
	}
	a.ResumeToken = s.ResumeToken() // last: it also signs the totals so far
	a.Warnings = s.Info().Warnings
	return a
}
