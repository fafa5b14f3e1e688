package engine

import "context"

// CLIVersion asks the CLI of Options.Executable for its version, once an
// Engine. The error is the one Start would answer for that CLI: it was not
// found, is not the Claude Code CLI, or is too old; a version that is too old
// is returned beside it.
func (e *Engine) CLIVersion(ctx context.Context) (string, error) {
	err := e.checkExecutable(ctx, e.o.Executable)
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.versions[e.o.Executable], err
}
