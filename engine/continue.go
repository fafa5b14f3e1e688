package engine

import (
	"context"
	"time"
)

// Continue sends a prompt to a session by its id alone: one of this run, one that
// Stop ended (not one that Cancel did), or one that is only kept, whose options are
// then those of its record. It returns as Begin does. The codes are those of Prompt,
// and SESSION_NOT_FOUND for an id that neither this run nor the store knows.
func (e *Engine) Continue(ctx context.Context, id string, p ReplyParams) (*Turn, error) {
	s, err := e.Find(id)
	if err != nil {
		return nil, err
	}
	return s.reply(ctx, p, true)
}

// StopParams say how a session is stopped.
type StopParams struct {
	Reason string // shown with the session
	Source string // who stopped it, as Info.CancelledSource
	Force  bool   // no time for the CLI to end its turn and write its transcript
}

// Stop ends what the session does, and its processes, and returns when they are gone,
// or with the cause of ctx's end. The session is Cancelled, but not for good: Continue
// takes it up again. Stopping what has stopped is no error. It is admitted as a cancel.
func (s *Session) Stop(ctx context.Context, p StopParams) error {
	if err := s.Cancel(ctx, p.Reason, p.Source); err != nil {
		return err
	}
	select {
	case <-s.Done():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Bypass says whether, and until when, Engine.Configure has enabled the mode
// bypassPermissions.
type Bypass struct {
	Enabled bool
	Until   time.Time // zero unless Enabled
}

// Configure is a decision about the engine itself, with action "enable_bypass",
// "disable_bypass" or "get_config", and returns what holds after it.
func (e *Engine) Configure(ctx context.Context, action string) (Bypass, error) {
	return Bypass{}, Errorf(PermissionDenied, "configure refused by rule engine.configure: %s is not there yet", action)
}
