package engine

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// judgeWithin bounds the judgement of one call or result by all deciders.
const judgeWithin = 5 * time.Second

// Rules by which a call in this process is decided without a policy.
const (
	ruleInproc = "engine.inproc" // whether it passed the gate
	ruleBusy   = "engine.busy"
)

// place takes one of the places of calls that are being judged, leavePlace gives it back.
func (g *governing) place() bool {
	select {
	case g.tokens(&g.judging) <- struct{}{}:
		return true
	default:
		return false
	}
}

func (g *governing) leavePlace() { <-g.tokens(&g.judging) }

// resultPlace waits for a place of results; false when it took too long.
func (g *governing) resultPlace(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, judgeWithin)
	defer cancel()
	select {
	case g.tokens(&g.results) <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (g *governing) leaveResultPlace() { <-g.tokens(&g.results) }

func (g *governing) tokens(list *chan struct{}) chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if *list == nil {
		*list = make(chan struct{}, maxJudged)
	}
	return *list
}

// judgeInproc asks all deciders for tools in this process. It returns in time even
// where one of them hangs; done is called when the last of them has ended.
func (s *Session) judgeInproc(ctx context.Context, r permission.InprocRequest, done func()) permission.Decision {
	began := time.Now()
	d := s.askInproc(ctx, r, done)
	d.Took = time.Since(began)
	if d.Effect == permission.Allow {
		d = s.bound(r.Call, d)
	}
	return d
}

func (s *Session) askInproc(ctx context.Context, r permission.InprocRequest, done func()) permission.Decision {
	deciders := s.engine.o.Inproc
	if d, settled := passedGate(r, len(deciders)); settled {
		done()
		return d
	}
	ctx, cancel := context.WithTimeout(ctx, judgeWithin)
	defer cancel()
	said := make(chan permission.Decision, 1)
	s.engine.workers.Start(func() { // ends when the deciders have answered; who hangs keeps its place
		defer done()
		said <- judgedByAll(ctx, deciders, r)
	})
	select {
	case d := <-said:
		return d
	case <-ctx.Done():
	}
	return inprocDeny("engine.timeout", fmt.Sprintf("it was not judged within %s", judgeWithin))
}

// passedGate refuses a call that did not pass the gate, whoever would allow it: the
// CLI has to ask about every call, so one it did not ask about is not to be trusted.
// What did pass is decided here only where nobody else is there to do so.
func passedGate(r permission.InprocRequest, deciders int) (d permission.Decision, settled bool) {
	if r.Phase == permission.PhaseCall && r.Passed.Effect == permission.Abstain {
		return inprocDeny(ruleInproc, "the call did not pass the gate with this tool and input, or the approval was used up by an earlier one"), true
	}
	return permission.Decision{Effect: permission.Allow, Rule: ruleInproc, By: "engine"}, deciders == 0
}

func inprocDeny(rule, reason string) permission.Decision {
	return permission.Decision{Effect: permission.Deny, Rule: rule, Reason: reason, By: "engine", Severity: "high", Rules: []string{"deny:" + rule}}
}

// judgedByAll is the strictest of what the deciders say.
func judgedByAll(ctx context.Context, deciders []permission.InprocDecider, r permission.InprocRequest) permission.Decision {
	if len(deciders) == 1 {
		return judgedByOne(ctx, deciders[0], r)
	}
	var out permission.Decision
	revisions := make([]string, len(deciders))
	for i, decider := range deciders {
		d := judgedByOne(ctx, decider, r)
		if revisions[i] = d.Revision; i == 0 {
			out = d
			continue
		}
		out = strictest(out, d)
	}
	out.Revision = strings.Trim(strings.Join(revisions, "+"), "+")
	return out
}

// strictest is the stricter of two, with what both add.
func strictest(a, b permission.Decision) permission.Decision {
	win, other := a, b
	if b.Effect > a.Effect {
		win, other = b, a
	}
	win.Rules, win.Diagnostics = append(a.Rules[:len(a.Rules):len(a.Rules)], b.Rules...), append(a.Diagnostics[:len(a.Diagnostics):len(a.Diagnostics)], b.Diagnostics...)
	if win.Effect == permission.Allow {
		win = win.With(other)
	}
	return win
}

// judgedByOne allows, denies or halts, whatever the decider does.
func judgedByOne(ctx context.Context, decider permission.InprocDecider, r permission.InprocRequest) (d permission.Decision) {
	defer func() {
		if v := recover(); v != nil {
			d = inprocDeny("engine.panic", "a decider panicked")
			d.Diagnostics = []string{fmt.Sprint(v)}
		}
	}()
	if decider == nil {
		return inprocDeny("engine.no_policy", "a decider is nil")
	}
	switch d = decider.Inproc(ctx, r); d.Effect {
	case permission.Allow, permission.Deny, permission.Halt:
		d.UpdatedInput = nil
		return d
	case permission.Ask, permission.Modify:
		return deniedBy(d, "engine.decode", "rule "+d.Rule+": a call of a tool in the server is allowed or denied, it cannot "+d.Effect.String())
	case permission.Abstain:
		return deniedBy(d, "engine.default", "no policy allows this call of a tool in the server")
	}
	return deniedBy(d, "engine.decode", "a decider answered with an unknown effect")
}
