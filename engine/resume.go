package engine

import (
	"context"
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
)

// How long a resume token is good.
const (
	DefaultResumeTTL = 30 * 24 * time.Hour
	MaxResumeTTL     = 30 * 24 * time.Hour
)

// ResumeToken returns a token by which the session can be resumed after the
// server has forgotten it. It is empty when the server has no secret, for a
// session that leaves no transcript, and when the options are too large for one
// (Info.Warnings says so).
func (s *Session) ResumeToken() string {
	if s.engine.sealer == nil || s.keptOnly || !s.persists() {
		return ""
	}
	now := time.Now().UTC().Truncate(time.Second)
	c := claims{Session: s.id, Cwd: s.cwd, Issued: now, Expires: now.Add(s.engine.o.ResumeTTL), Options: s.params}
	c.Options.Cwd, c.Options.AdditionalDirs = s.cwd, s.dirs
	s.mu.Lock()
	c.Turns, c.CostUSD = s.info.TotalTurns, s.info.TotalCostUSD
	c.Options.DisallowedTools = joined(s.params.DisallowedTools, s.rules.deny)
	c.Options.PermissionMode, c.Plans = s.heldModeLocked(), s.mode == modePlan
	s.mu.Unlock()
	if err := s.remember(); err != nil {
		s.warn("resumeToken is left out: " + err.Error())
		return ""
	}
	token, err := s.engine.sealer.seal(c)
	if err != nil {
		s.warn("resumeToken is left out: " + err.Error())
		return ""
	}
	return token
}

// Resume continues a session that is no longer kept, from the transcript the
// CLI wrote; with Reply.Fork a copy of it. It returns when the CLI has told of
// the session. Codes: SESSION_NOT_FOUND (not allowed here, or no transcript),
// PERMISSION_DENIED (token, ceiling or policy), INVALID_ARGUMENT, SESSION_BUSY.
func (e *Engine) Resume(ctx context.Context, p ResumeParams) (*Session, error) {
	t, err := e.resume(ctx, p)
	if err != nil {
		return nil, err
	}
	return t.session, nil
}

func (e *Engine) resume(ctx context.Context, p ResumeParams) (_ *Turn, err error) {
	if err := validatePrompt(p.Reply.Prompt); err != nil {
		return nil, err
	}
	ticket := e.slots.take() // see Engine.start
	defer func() {
		if err != nil {
			ticket.leave()
		}
	}()
	asked := admission.Request{Action: admission.Resume, SessionID: clip(p.SessionID), Parameters: p.Options.Raw}
	leave, err := e.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	c, err := e.claims(p)
	if err != nil {
		e.recordRefusal(ctx, nil, asked, err)
		return nil, err
	}
	s, err := e.resumed(c, p)
	if err != nil {
		e.recordRefusal(ctx, nil, asked, err)
		return nil, err
	}
	s.caller = callerOf(ctx)
	defer func() {
		if err != nil {
			s.end(err) // a refused session leaves no context behind
			s.goneBack()
		}
	}()
	if err := s.sameFolders(c, p); err != nil {
		e.recordRefusal(ctx, s, asked, err)
		return nil, err
	}
	put, err := s.takePlace(ctx, p.Reply.Fork)
	if err != nil {
		return nil, err
	}
	defer put()
	if err := s.refuseCallers(); err != nil {
		e.recordRefusal(ctx, s, asked, err)
		return nil, err
	}
	if err := e.admit(ctx, s, s.admission(ctx, admission.Resume, p.Reply.Prompt, s.params.raw())); err != nil {
		return nil, err
	}
	if err := s.judgeMentions(ctx, p.Reply.Prompt); err != nil {
		return nil, err
	}
	if err := e.checkExecutable(ctx, s.executable()); err != nil {
		return nil, err
	}
	s.working.limit, s.working.ticket = p.Reply.TurnTimeout, ticket
	t, err := s.begin(ctx, launch{resume: c.Session, at: p.At, fork: p.Reply.Fork}, firstPrompt{p.Reply.Prompt, p.Reply.SessionInitTimeout, false}, leave)
	if err != nil {
		return nil, unknownTranscript(p.SessionID, err)
	}
	return t, nil
}

// sameFolders refuses folders that are not, or no longer, those the token
// signs: a link may have been put in the place of one.
func (s *Session) sameFolders(c claims, p ResumeParams) error {
	if s.cwd != c.Cwd {
		return Errorf(PermissionDenied, "resume refused by rule engine.resume_token: cwd %q is not the folder the token signs; name the folder the session was started in", p.Options.Cwd)
	}
	for _, dir := range s.dirs {
		if !slices.Contains(c.Options.AdditionalDirs, dir) {
			return Errorf(PermissionDenied, "resume refused by rule engine.resume_token: additional directory %q leads to another place than when the token was made; start a new session", dir)
		}
	}
	return nil
}

// claims checks what may be resumed at all, then the token.
func (e *Engine) claims(p ResumeParams) (claims, error) {
	var none claims
	switch {
	case !e.o.DiskResume && e.isKept(p.SessionID):
		return none, e.notAtWork(p.SessionID)
	case !e.o.DiskResume:
		return none, e.notKnown(p.SessionID)
	case e.sealer == nil:
		return none, Errorf(PermissionDenied, "resume refused by rule engine.resume_token: the server has no CLAUDE_CODE_MCP_RESUME_SECRET, so no token can be checked; set it for the server")
	case p.Token == "":
		return none, Errorf(PermissionDenied, "resume refused by rule engine.resume_token: session %q is not in memory, and no resumeToken was given; pass the one that claude_code or claude_code_reply returned", p.SessionID)
	}
	c, err := e.sealer.open(p.Token)
	switch {
	case err != nil:
		return none, Errorf(PermissionDenied, "resume refused by rule engine.resume_token: %w", err)
	case c.Session != p.SessionID:
		return none, Errorf(PermissionDenied, "resume refused by rule engine.resume_token: the token is for another session")
	case time.Now().After(c.expiry(e.o.ResumeTTL)):
		return none, Errorf(PermissionDenied, "resume refused by rule engine.resume_token: the token expired at %s ([limits] resume_ttl); start a new session", c.expiry(e.o.ResumeTTL).Format(time.RFC3339))
	case strings.TrimSpace(p.Options.Cwd) == "":
		return none, Errorf(InvalidArgument, "cwd is required to resume a session from disk; name the folder it was started in")
	case p.At != "" && !uuidForm.MatchString(p.At):
		return none, Errorf(InvalidArgument, "resumeSessionAt %q: want the UUID of a message", clip(p.At))
	}
	return c, nil
}

var uuidForm = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// resumed makes the session with the options that hold for it.
func (e *Engine) resumed(c claims, p ResumeParams) (*Session, error) {
	given := p.Options
	given.Prompt = p.Reply.Prompt
	given.SessionInitTimeout, given.PermissionTimeout = p.Reply.SessionInitTimeout, p.Reply.PermissionTimeout
	given.AdditionalDirs = slices.Clone(given.AdditionalDirs)
	for i, dir := range given.AdditionalDirs {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.Cwd, dir)
		}
		real, err := folder("additionalDirectories", dir)
		if err != nil {
			return nil, err
		}
		given.AdditionalDirs[i] = real
	}
	params, err := narrowed(c.Options, given, defaultSources(insideAny(c.Cwd, e.o.Trusted)))
	if err != nil {
		return nil, err
	}
	r, err := e.recallAll(c.Session)
	switch {
	case err != nil:
		return nil, err
	case r.Cancelled:
		return nil, endedForGood()
	}
	params.Cwd, params.DisallowedTools = given.Cwd, joined(params.DisallowedTools, r.Deny)
	if r.Mode != "" {
		params.PermissionMode = stricter(modeAsked(params), r.Mode)
	}
	if err := params.validate(); err != nil {
		return nil, err
	}
	s := e.newSession(params, "")
	if c.Plans || c.Options.PermissionMode == modePlan {
		s.plansOn()
	}
	s.mark(r.Taint...)
	if r.Prompt != "" {
		s.prompt = r.Prompt
	}
	if p.Reply.Fork {
		s.parent = c.Session
	} else {
		s.id = c.Session
		s.info.TotalTurns, s.info.TotalCostUSD = max(c.Turns, r.Turns), max(c.CostUSD, r.CostUSD)
		s.prompts = r.Prompts
	}
	if err := s.locate(); err != nil {
		s.end(err)
		return nil, err
	}
	return s, nil
}

// noTranscript is the CLI's word for a missing transcript.
const noTranscript = "No conversation found"

// lostTranscript is unknownTranscript for a result that came before the session began.
func (p *process) lostTranscript(r *Result) {
	if p.launch.resume == "" || p.begun() || !r.IsError || r.Code != "" || !strings.Contains(r.Result, noTranscript) {
		return
	}
	err := unknownTranscript(p.launch.resume, &Error{Code: Internal, Message: r.Result})
	r.Code, r.Result = CodeOf(err), err.Error()
}

// unknownTranscript gives the CLI's word for a missing transcript its code.
func unknownTranscript(id string, err error) error {
	typed, ok := errors.AsType[*Error](err)
	if !ok || !strings.Contains(typed.Message, noTranscript) {
		return err
	}
	return &Error{Code: SessionNotFound, Message: "session \"" + clip(id) + "\" has no transcript in this folder any more; start a new one. " + typed.Message, Err: typed}
}

// notKnown says that a session is not in memory, and what could be done.
func (e *Engine) notKnown(id string) *Error {
	return e.notHere(id, "is not known: it expired, or the server was restarted")
}

// notAtWork is notKnown for a session that is kept.
func (e *Engine) notAtWork(id string) *Error {
	return e.notHere(id, "is of an earlier run, or expired; its history can be read with claude_code_check")
}

func (e *Engine) notHere(id, what string) *Error {
	if e.o.DiskResume {
		return Errorf(SessionNotFound, "session %q %s; pass its resumeToken and cwd to claude_code_reply, or start a new one", clip(id), what)
	}
	return Errorf(SessionNotFound, "session %q %s; start a new one (CLAUDE_CODE_MCP_ALLOW_DISK_RESUME=1 lets claude_code_reply resume from the CLI's transcript)", clip(id), what)
}
