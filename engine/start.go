package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Start admits and starts a session. It returns when the CLI has told of the
// session, or at once when the turn has to queue for a free slot. ctx covers
// the start only. Errors are *Error; a session that could not be started is
// gone again.
func (e *Engine) Start(ctx context.Context, p StartParams) (*Session, error) {
	t, err := e.start(ctx, p, false)
	if err != nil {
		return nil, err
	}
	return t.session, nil
}

// Begin is Start that returns as soon as the session is admitted and there: it is
// listed from then on, and how its start went is the result of the turn. ctx covers
// the admission only.
func (e *Engine) Begin(ctx context.Context, p StartParams) (*Turn, error) {
	return e.start(ctx, p, true)
}

func (e *Engine) start(ctx context.Context, p StartParams, detached bool) (_ *Turn, err error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	ticket := e.slots.take() // here: who comes first goes first, however long it takes to decide on each
	defer func() {
		if err != nil {
			ticket.leave()
		}
	}()
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := e.newSession(p, "")
	s.caller, s.working.ticket = callerOf(ctx), ticket
	defer func() {
		if err != nil {
			s.end(err) // a refused session leaves no context behind
		}
	}()
	if err := s.locate(); err != nil {
		return nil, err
	}
	if err := s.refuseCallers(); err != nil { // programs may be named from the folder
		e.recordRefusal(ctx, s, admission.Request{Action: admission.Start, Parameters: p.raw()}, err)
		return nil, err
	}
	if err := e.admit(ctx, s, s.admission(ctx, admission.Start, p.Prompt, p.raw())); err != nil {
		return nil, err
	}
	if err := s.judgeMentions(ctx, p.Prompt); err != nil {
		return nil, err
	}
	if err := e.checkExecutable(ctx, s.executable()); err != nil {
		return nil, err
	}
	s.working.limit = p.TurnTimeout
	return s.begin(ctx, launch{}, firstPrompt{p.Prompt, p.SessionInitTimeout, detached}, leave)
}

// startsPerCore are the starts that are looked at at once, for each core. A
// thousand of them would share the processors until their policies, and those of
// the sessions that run, missed their deadline.
const startsPerCore = 2

// enter waits for the turn of a start, first come, first served. leave may be
// called more than once.
func (e *Engine) enter(ctx context.Context) (leave func(), err error) {
	turn := e.starts.take()
	if err := turn.wait(ctx); err != nil {
		return nil, Errorf(CancelledCode, "start was cancelled while it waited for its turn: %w", err)
	}
	return turn.leave, nil
}

// firstPrompt is what a session begins with.
type firstPrompt struct {
	text     string
	timeout  time.Duration // of the start of its process; 0 = DefaultInitTimeout
	detached bool          // nobody waits for that start
}

// begin registers a new session and starts its first turn. ready is called when
// nothing is left to do but to wait for a process.
func (s *Session) begin(ctx context.Context, l launch, p firstPrompt, ready func()) (*Turn, error) {
	s.tellOrigin() // only now the folder and the caller are known
	s.shown = s.covered(s.params)
	if err := s.engine.room(s); err != nil {
		s.end(err)
		return nil, err
	}
	if err := s.keep(ctx, l, p.text); err != nil {
		s.end(err)
		return nil, err
	}
	if err := s.engine.join(s); err != nil {
		s.unkeep()
		s.end(err)
		return nil, err
	}
	s.observe()
	s.origin = l
	s.takeSnapshot()
	s.tellSwitches()
	s.takeServers(ctx)
	if p.timeout <= 0 {
		p.timeout = DefaultInitTimeout
	}
	ready()
	t := s.firstInLine()
	free := t.ticket.ready()
	if free && !p.detached {
		s.gotSlot()
		if err := s.runAttended(ctx, t, l, p); err != nil {
			s.abandon(err)
			return nil, err
		}
		return t, nil
	}
	if !free {
		s.tellQueued(t)
	}
	s.beside(func() { s.runFirst(t, l, p) }) // ends when the turn has started or the session ends
	return t, nil
}

// firstInLine is the first turn of a session that is registered and kept.
func (s *Session) firstInLine() *Turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.working
	t.from = s.busyFrom // where its events begin in the history of an earlier run
	if t.ticket == nil {
		t.ticket = s.engine.slots.take()
	}
	return t
}

// beside runs f beside the session. Of one that is cancelled nothing new begins: its
// end does not wait for that.
func (s *Session) beside(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state != Cancelled {
		s.work.Go(f)
	}
}

// runAttended starts the first turn while the caller waits: the end of ctx is the
// end of the start, too.
func (s *Session) runAttended(ctx context.Context, t *Turn, l launch, p firstPrompt) error {
	defer t.end(nil)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })()
	return t.run(ctx, l, p.text, p.timeout)
}

// runFirst starts the first turn of a session for which nobody waits.
func (s *Session) runFirst(t *Turn, l launch, p firstPrompt) {
	defer t.end(nil)
	err := t.waitForSlot()
	if err == nil {
		err = t.run(t.ctx, l, p.text, p.timeout)
	}
	if err != nil {
		t.fail(err)
	}
}

// tellQueued tells that the turn has to wait for a slot.
func (s *Session) tellQueued(t *Turn) {
	if !t.ticket.waits() {
		return // it has one by now
	}
	s.notice("queued", fmt.Sprintf("%d turns run already ([limits] max_concurrent); this one starts when one ends", s.engine.o.MaxConcurrent), nil)
}

// abandon takes a session back whose start failed: nobody has its id, or it is
// kept as it was before it should be resumed.
func (s *Session) abandon(err error) {
	s.disown()
	s.cancel("start failed: "+err.Error(), "start")
	s.engine.forget(s)
}

func (s *Session) executable() string {
	if s.params.Executable != "" {
		return s.params.Executable
	}
	return s.engine.o.Executable
}

// takeSnapshot vets an untrusted project's settings and tells what was left out.
func (s *Session) takeSnapshot() {
	if s.trusted {
		return
	}
	p, err := openProject(s.cwd)
	if err != nil {
		return // the start will fail at the folder itself
	}
	defer p.root.Close()
	s.snapshot = p.snapshot(func(text string) string { return s.redactText(event.SinkModel, text) })
	if s.params.SettingSources != nil {
		s.snapshot = snapshot{deny: s.snapshot.deny} // isolation was asked for; what tightens stays
		return
	}
	if len(s.snapshot.leftOut) > 0 {
		s.notice("project_settings", "the folder is not trusted ([workspace] trusted), so its own settings are not loaded live", map[string]any{"leftOut": s.snapshot.leftOut})
	}
}

// admission is the request as policy sees it.
func (s *Session) admission(ctx context.Context, action admission.Action, prompt string, raw map[string]json.RawMessage) admission.Request {
	r := admission.Request{
		Action: action, SessionID: s.id, Parameters: raw,
		Cwd: s.cwd, CwdInsideRoots: insideAny(s.cwd, s.engine.o.Roots), Roots: s.engine.o.Roots, Trusted: s.trusted,
		Mentions: s.mentions(prompt),
	}
	switch action {
	case admission.Start:
		r.SessionID, r.Parameters = "", withMode(raw, s.params.PermissionMode)
	case admission.Resume:
		r.Session = s.facts()
	default:
		r.Session = s.facts()
		r.Target = admission.Target{State: s.standing().String(), OwnedByPeer: identity(callerOf(ctx)) == identity(s.caller)}
	}
	for _, d := range s.dirs {
		r.AdditionalDirs = append(r.AdditionalDirs, admission.Dir{Path: d, Inside: insideAny(d, s.engine.o.Roots)})
	}
	if !slices.Contains([]admission.Action{admission.Start, admission.Reply, admission.Fork, admission.Resume}, action) {
		return r // the folder's files say nothing about these
	}
	if p, err := openProject(s.cwd); err == nil {
		r.Project = p.facts()
		p.root.Close()
	}
	return r
}

func (s *Session) mentions(prompt string) []string {
	if s.engine.o.Mentions == nil || !strings.Contains(prompt, "@") {
		return nil
	}
	return s.engine.o.Mentions(prompt)
}

// judgeMentions judges each @path of a prompt as a Read: the CLI attaches such
// files with no question. Only an allow lets the prompt pass, since a prompt
// cannot wait half sent.
func (s *Session) judgeMentions(ctx context.Context, prompt string) error {
	if !strings.Contains(prompt, "@") {
		return nil
	}
	if s.engine.o.Mentions == nil {
		s.refused(ctx, permission.Request{Door: permission.DoorMention, Tool: "Read"}, "engine.mentions", "the prompt holds an \"@\", and no mention finder is configured")
		return Errorf(PermissionDenied, "prompt refused by rule engine.mentions: it holds an \"@\" and no mention finder is configured (Options.Mentions)")
	}
	for _, path := range s.mentions(prompt) {
		input, _ := json.Marshal(map[string]string{"file_path": path})
		r := s.request(permission.DoorMention, "Read", "", "", "", input)
		d := s.bound(r, s.weigh(ctx, r))
		if err := s.mentioned(ctx, r, d); err != nil {
			return err
		}
		if d.Effect != permission.Allow {
			return Errorf(PermissionDenied, "prompt refused by rule %s: it mentions @%s, which the CLI would read without asking: %s (write the path without \"@\", so that the read itself is judged)", d.Rule, path, s.reasonText(d))
		}
		s.passed(d.Labels)
		s.tell(r, d)
	}
	return nil
}

// request makes a permission request with the session's facts of this moment.
func (s *Session) request(door permission.Door, tool, toolUse, agent, title string, input json.RawMessage) permission.Request {
	return permission.Request{
		SessionID: s.id, Door: door, ToolUseID: toolUse, AgentID: agent, Tool: tool, Input: input, Title: title,
		Folder: s.folders.of(agent), Agent: s.agents.of(agent), Caller: s.caller, Session: s.facts(),
	}
}

// facts are what policies see of the session.
func (s *Session) facts() permission.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := permission.Session{
		Cwd: s.cwd, Roots: slices.Clone(s.engine.o.Roots), AdditionalDirs: slices.Clone(s.dirs), Trusted: s.trusted, Mode: s.mode,
		AllowedTools: slices.Concat(s.params.AllowedTools, s.rules.allow), DisallowedTools: slices.Concat(s.params.DisallowedTools, s.rules.deny),
		Model: s.params.Model, Turn: s.turn, ToolCalls: s.toolCalls, Denies: s.denies, Asks: s.asks,
		CostUSD: s.info.TotalCostUSD, MaxBudgetUSD: s.params.MaxBudgetUSD, MaxTurns: s.params.MaxTurns,
		Parent: s.parent, Started: s.created, PromptSHA256: s.prompt, Turns: s.info.TotalTurns, SandboxOn: sandboxOn(s.params.Sandbox),
		McpServers: s.serverNames(), InprocServers: s.toolServerNames(), NoHooks: s.params.NoHooks, NoTickets: s.params.NoTickets,
	}
	s.history.fill(&f)
	return f
}
