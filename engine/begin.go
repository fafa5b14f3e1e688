package engine

import "context"

// Begin is Prompt for who waits for the turn itself: it returns as soon as the turn is
// there, of a fork too, and how that one starts is the result of the turn.
func (s *Session) Begin(ctx context.Context, p ReplyParams) (*Turn, error) {
	return s.reply(ctx, p, true)
}

// BeginResume is Resume that returns the turn. It waits for the CLI, which alone knows
// whether there is a transcript.
func (e *Engine) BeginResume(ctx context.Context, p ResumeParams) (*Turn, error) {
	return e.resume(ctx, p)
}
