package engine

import (
	"context"
	"errors"
	"time"
)

// Continue sends a prompt to a session by its id alone: one of this run, one that
// Stop ended (not one that Cancel did), or one that is only kept, whose options are
// then those of its record. It returns as Begin does: how a start went is the result
// of the turn. The codes are those of Prompt; SESSION_NOT_FOUND for an id that neither
// this run nor the store knows, and for a kept session whose options are not all kept;
// CANCELLED for one that was cancelled for good.
func (e *Engine) Continue(ctx context.Context, id string, p ReplyParams) (*Turn, error) {
	if err := validatePrompt(p.Prompt); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		s, err := e.Find(id)
		if CodeOf(err) == SessionNotFound && !e.elsewhere(id) {
			return nil, Errorf(SessionNotFound, "session %q is not known: no server of this user ran it, or its record is not kept any more ([store]); start a new one", clip(id))
		}
		if err != nil {
			return nil, err
		}
		if !s.keptOnly && s.standing() != Cancelled {
			return s.reply(ctx, p, true)
		}
		t, err := e.takeUp(ctx, s, p)
		if !errors.Is(err, errForgotten) || try == continueTries {
			return t, err
		}
		pause(ctx, continuePause) // then it is only kept, or not known
	}
}

// Continue tries again while the engine forgets the session, which takes a moment.
const (
	continueTries = 100
	continuePause = 10 * time.Millisecond
)

// elsewhere says whether another server is at work on the session.
func (e *Engine) elsewhere(id string) bool {
	if e.o.Store == nil || !uuidForm.MatchString(id) {
		return false
	}
	r, err := e.o.Store.Session(id)
	return err == nil && r.Live
}
