package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// governedCall is a call of a tool in this process, from the CLI's message to the
// answer. It is judged, recorded, delivered, and its result judged and covered.
type governedCall struct {
	process *process
	key     callKey
	server  string
	link    ToolLink
	message rpcMessage
	id      json.RawMessage // of the message
	call    permission.Request
	passed  pass

	ctx    context.Context // ends with the process, and when the CLI withdraws the call
	cancel context.CancelFunc
	settle func() bool // its request is not watched any more; nil: it never was
	reply  func(json.RawMessage)

	answered atomic.Bool

	duty      duty      // of the decisions made here; set before what follows
	began     time.Time // of the call itself
	delivered bool      // guarded by governing.order
}

// governCall takes in a call; everything that waits is left to a goroutine.
func (p *process) governCall(ctx context.Context, server string, link ToolLink, m rpcMessage, reply func(json.RawMessage)) {
	c, err := p.newCall(server, link, m, reply)
	if err != nil {
		reply(rpcError(m.id, rpcInvalidRequest, err.Error()))
		return
	}
	g := &p.governing
	if err := g.enter(c); err != nil {
		c.cancel()
		reply(rpcError(m.id, rpcInvalidRequest, "tools/call refused: "+err.Error()))
		return
	}
	c.watch(ctx)
	if !g.place() {
		c.answer(c.toolError(fmt.Sprintf("The call of %s was refused, because %d calls of this process are being judged; try again.", clip(c.call.Tool), maxJudged)))
		return
	}
	if c.plain() && c.passed.decision.Effect != permission.Abstain {
		c.judge() // there is nothing to wait for
		return
	}
	if !g.start(c.judge) { // ends with the call's delivery, at most with the bounds of judging and of the audit log
		g.leavePlace()
		c.answer(c.toolError(endedText))
	}
}

// newCall reads a call; with an error it cannot be understood.
func (p *process) newCall(server string, link ToolLink, m rpcMessage, reply func(json.RawMessage)) (*governedCall, error) {
	if m.id == nil {
		return nil, errors.New("tools/call: a call needs an id")
	}
	params, err := members(orEmpty(m.params), "name", "arguments", "_meta", "task")
	if err != nil {
		return nil, fmt.Errorf("tools/call: params: %w", err)
	}
	var name string
	if json.Unmarshal(params["name"], &name) != nil || name == "" {
		return nil, errors.New("tools/call: params.name: want a text")
	}
	input, given := params["arguments"]
	if given && !isObject(input) {
		return nil, errors.New("tools/call: params.arguments: want an object")
	}
	if meta, given := params["_meta"]; given && !isObject(meta) {
		return nil, errors.New("tools/call: params._meta: want an object")
	}
	if _, given := params["task"]; given { // its result would come by tasks/result, where nobody judges it
		return nil, errors.New("tools/call: params.task: calls as tasks are refused")
	}
	id, _ := readID(m.id) // it was read before
	s, tool, toolUse := p.session, inprocTool(server, name), textOf(member(params["_meta"], "claudecode/toolUseId"))
	c := &governedCall{process: p, key: callKey{server, id}, server: server, link: link, message: m, id: m.id, reply: reply, duty: noDuty}
	c.passed = p.governing.passes.take(toolUse, tool, orEmpty(input))
	c.call = s.request(permission.DoorInproc, tool, toolUse, c.passed.agent, "", orEmpty(input))
	c.ctx, c.cancel = context.WithCancel(p.ctx)
	return c, nil
}

func orEmpty(object json.RawMessage) json.RawMessage {
	if object == nil {
		return json.RawMessage("{}")
	}
	return object
}

// answer is the one answer of the call; later ones are dropped.
func (c *governedCall) answer(response json.RawMessage) {
	if !c.answered.CompareAndSwap(false, true) {
		return
	}
	c.process.governing.leave(c)
	if c.settle != nil {
		c.settle()
	}
	c.cancel()
	c.reply(response)
}

// watch gives the call up when its request is withdrawn before it runs.
func (c *governedCall) watch(ctx context.Context) {
	g := &c.process.governing
	g.order.Lock() // withdrawn waits for it, so that settle is there
	defer g.order.Unlock()
	c.settle = context.AfterFunc(ctx, func() { g.withdrawn(c) })
}

// giveUp answers a call that was not delivered and never will be.
func (c *governedCall) giveUp() {
	c.cancel()
	c.answer(c.toolError(cancelledText))
}

func (c *governedCall) toolError(message string) json.RawMessage { return toolError(c.id, message) }

// judge decides whether the call runs, writes that down, and delivers it.
func (c *governedCall) judge() {
	s := c.process.session
	d := s.judgeInproc(c.ctx, c.request(permission.PhaseCall), c.process.governing.leavePlace)
	if c.ctx.Err() != nil {
		c.answer(c.toolError(cancelledText))
		return
	}
	if d.Effect != permission.Allow {
		c.refuse(d, permission.PhaseCall, permission.InprocResult{})
		return
	}
	permit, err := s.permittedCall(c.ctx, c.call, d)
	switch {
	case c.ctx.Err() != nil:
		s.noteWithdrawn(c.call)
		c.answer(c.toolError(cancelledText))
		return
	case err != nil:
		c.refuse(denyUnrecorded(d, err), permission.PhaseCall, permission.InprocResult{})
		return
	}
	s.tell(c.call, d)
	s.passed(d.Labels)
	c.duty, _ = dutyOf(d)
	c.deliver(permit)
}

// plain reports that nobody is asked about calls, and nothing recorded.
func (c *governedCall) plain() bool {
	e := c.process.session.engine
	return len(e.o.Inproc) == 0 && e.auditor == nil && c.process.session.keeping.place.Load() == nil
}

// covers reports whether anything is redacted at all.
func (s *Session) covers() bool { return len(s.engine.o.Redactors) > 0 }

// request is what deciders are asked about.
func (c *governedCall) request(phase string) permission.InprocRequest {
	return permission.InprocRequest{Call: c.call, Server: c.server, Phase: phase, Passed: c.passed.decision, Approver: c.passed.approver}
}

// deliver hands the call to its server. Nothing else does, and it wants the permit
// that only a written record gives.
func (c *governedCall) deliver(permit permit) {
	g := &c.process.governing
	if !permit.written { // a defect of ours: every call comes by permittedCall
		c.process.session.engine.log.Error("a call without a permit was held back", "session", c.process.session.id)
		c.answer(c.toolError("The call was not run: the decision was not recorded (" + ruleAudit + ")."))
		return
	}
	g.order.Lock()
	defer g.order.Unlock()
	if c.ctx.Err() != nil { // it came in between
		c.process.session.noteWithdrawn(c.call)
		c.answer(c.toolError(cancelledText))
		return
	}
	c.delivered, c.began = true, time.Now()
	c.link.Deliver(c.message.raw, c.replyOfLink)
}

// replyOfLink takes the answer of the link, which is not kept waiting for what is done
// with it.
func (c *governedCall) replyOfLink(response json.RawMessage) {
	took := time.Since(c.began)
	if c.plain() && !c.process.session.covers() {
		c.result(response, took)
		return
	}
	if !c.process.governing.start(func() { c.result(response, took) }) { // ends with the bounds of judging and of redaction
		c.answer(c.toolError(endedText))
	}
}

// refuse tells everybody that the call, or its result, was refused.
func (c *governedCall) refuse(d permission.Decision, phase string, result permission.InprocResult) {
	p, s := c.process, c.process.session
	rec := record(c.call, d, "deny", "policy", "")
	rec.Door, rec.Phase, rec.about.phase, rec.about.result = string(c.call.Door), phase, phase, result
	rec.Message, rec.Interrupt = s.refusalText(d), d.Effect == permission.Halt || s.tooManyDenials()
	s.mu.Lock()
	s.denies++
	s.mu.Unlock()
	s.denied(c.ctx, &rec)
	if rec.Interrupt {
		p.governing.start(p.interrupt) // ends with the CLI's answer or its own time limit
	}
	what := "The call"
	if phase == permission.PhaseResult {
		what = "The call ran, but its result"
	}
	p.governing.settled.add(c.call)
	c.answer(c.toolError(fmt.Sprintf("%s was refused by rule %s: %s", what, cmp.Or(d.Rule, "engine.default"), rec.Message)))
}
