package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Start admits and starts a session. It returns when the CLI has told of the
// session, or at once when the turn has to queue for a free slot. ctx covers
// the start only. Errors are *Error; a session that could not be started is
// gone again.
func (e *Engine) Start(ctx context.Context, p StartParams) (_ *Session, err error) {
	if err := p.validate(); err != nil {
		return nil, err
	}
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	s := e.newSession(p, "")
	s.caller = callerOf(ctx)
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
	if err := s.begin(ctx, launch{}, p.Prompt, p.SessionInitTimeout, leave); err != nil {
		return nil, err
	}
	return s, nil
}

// startsPerCore are the starts that are looked at at once, for each core. A
// thousand of them would share the processors until their policies, and those of
// the sessions that run, missed their deadline.
const startsPerCore = 2

// enter waits for the turn of a start, first come, first served. leave may be
// called more than once.
func (e *Engine) enter(ctx context.Context) (leave func(), err error) {
	if err := e.starts.wait(ctx); err != nil {
		return nil, Errorf(CancelledCode, "start was cancelled while it waited for its turn: %w", err)
	}
	return sync.OnceFunc(e.starts.put), nil
}

// begin registers a new session and starts its first turn. ready is called when
// nothing is left to do but to wait for a process.
func (s *Session) begin(ctx context.Context, l launch, prompt string, timeout time.Duration, ready func()) error {
	s.tellOrigin() // only now the folder and the caller are known
	s.shown = s.covered(s.params)
	if err := s.engine.room(s.id); err != nil {
		s.end(err)
		return err
	}
	if err := s.keep(ctx, l, prompt); err != nil {
		s.end(err)
		return err
	}
	if err := s.engine.join(s); err != nil {
		s.unkeep()
		s.end(err)
		return err
	}
	s.observe()
	s.origin = l
	s.takeSnapshot()
	s.takeServers(ctx)
	if timeout <= 0 {
		timeout = DefaultInitTimeout
	}
	ready()
	if s.engine.slots.try() {
		s.gotSlot()
		if err := s.firstTurn(ctx, l, prompt, timeout); err != nil {
			s.abandon(err)
			return err
		}
		return nil
	}
	s.notice("queued", fmt.Sprintf("%d turns run already ([limits] max_concurrent); this one starts when one ends", s.engine.o.MaxConcurrent), nil)
	s.work.Go(func() { // ends when the turn has started or the session ends
		if s.engine.slots.wait(s.ctx) != nil {
			return
		}
		s.gotSlot()
		if err := s.firstTurn(s.ctx, l, prompt, timeout); err != nil {
			s.fail(err)
		}
	})
	return nil
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
		r.SessionID = ""
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
		McpServers: s.serverNames(), InprocServers: s.toolServerNames(),
	}
	s.history.fill(&f)
	return f
}
