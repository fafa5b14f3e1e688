package mpmserver

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxTimeout bounds the argument timeout, in seconds, the same as in schema/*.json.
const maxTimeout = 24 * 60 * 60

// limit is how long a turn may take, from its slot on.
type limit struct {
	d     time.Duration // 0 = the engine's own limit
	given string        // in seconds, as clients are told
}

// limit reads the argument timeout. 0 is the default, as for other session servers.
func (f *family) limit(c mcpserver.Call) limit {
	seconds := c.Number("timeout", 0)
	if seconds < 0 || seconds > maxTimeout {
		c.Refuse("timeout: want seconds from 0 to %d, got %v", maxTimeout, seconds)
		return limit{}
	}
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case seconds > 0:
		d = max(d, 1) // shorter than the clock can tell, but a limit still
	default:
		d = f.o.Timeout
		seconds = d.Seconds()
	}
	return limit{d, strconv.FormatFloat(seconds, 'g', -1, 64)}
}

// Pauses of a call that waits for its turn.
const (
	progressEvery = 10 * time.Second       // proxies and clients give up connections that are silent for a minute
	phaseEvery    = 250 * time.Millisecond // between two looks at what the turn does
)

// stopWait bounds the stop of a session whose client gave its call up: the ladder
// that ends a process has bounds of its own, below this one.
const stopWait = time.Minute

// answerTurn waits for the turn and answers the call.
func (f *family) answerTurn(ctx context.Context, c mcpserver.Call, t *engine.Turn, l limit) (*mcp.CallToolResult, error) {
	err := follow(ctx, c, t)
	if err == nil {
		return f.turnAnswer(ctx, c, t, l), nil
	}
	// Such calls are answered too: that there is a session is worth knowing.
	v := turnView{SessionID: t.Session().ID(), ErrorType: engine.SessionError, Error: "call was cancelled by the client"}
	if mcpserver.CancelledByClient(ctx) {
		giveUp(ctx, t)
	} else {
		// The server's end ends the session too, and one that serves
		// further connections keeps it: others may wait for it.
		v.Error = fmt.Sprintf("the server, or the connection, ended before the turn did: %v", err)
	}
	return v.result(c), nil
}

// follow waits for the end of the turn and tells the client what it does meanwhile.
// The error is the cause of the end of ctx.
func follow(ctx context.Context, c mcpserver.Call, t *engine.Turn) error {
	tick := time.NewTicker(phaseEvery)
	defer tick.Stop()
	began, told, spoke := time.Now(), "", time.Time{}
	for {
		now := time.Now()
		if phase := phaseOf(t.Session().Info()); phase != told || now.Sub(spoke) >= progressEvery {
			c.Progress(ctx, fmt.Sprintf("session %s: %s (%d s)", t.Session().ID(), phase, int(now.Sub(began).Seconds())))
			told, spoke = phase, now
		}
		select {
		case <-t.Done():
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// phaseOf is what a turn does.
func phaseOf(i engine.Info) string {
	switch {
	case i.Queued:
		return "waiting for a slot"
	case i.State == engine.Waiting:
		return "waiting for an approval"
	}
	return "working"
}

// giveUp stops the session of a turn that nobody waits for any more, unless the turn
// has ended. It is decided like any stop; where policy refuses it, the turn goes on.
func giveUp(ctx context.Context, t *engine.Turn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWait)
	defer cancel()
	_ = t.Stop(ctx, engine.StopParams{Reason: "the client gave up its call", Source: "client"})
}
