package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"syscall"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Record before effect: what lets something happen is in the audit log before it
// does. A record that cannot be written makes an allow a deny, and refuses a
// start, a reply and an approval; a deny and a cancel take effect all the same.
//
// A record that came too late may still be written: the log then holds an allow
// and, after it, the deny by engine.audit, which is what happened.

// ruleAudit denies what cannot be recorded.
const ruleAudit = "engine.audit"

const (
	// auditPatience is how long an answer waits for its record.
	auditPatience = 10 * time.Second
	// maxRecording bounds the records that are being written at once; what finds no
	// room waits for it, as long as for the log itself.
	maxRecording = 4096
)

// auditor hands records to Options.Audit.
type auditor struct {
	to      audit.Recorder
	writing chan struct{} // a token for each record under way
}

func newAuditor(to audit.Recorder) *auditor {
	if to == nil {
		return nil
	}
	return &auditor{to: to, writing: make(chan struct{}, maxRecording)}
}

// errAuditSlow ends the wait for a record.
var errAuditSlow = fmt.Errorf("the audit log did not answer within %s", auditPatience)

// record returns when r is durable; it waits no longer than ctx and auditPatience,
// whatever the log does. Without a log there is nothing to wait for.
func (a *auditor) record(ctx context.Context, r audit.Record) error {
	if a == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, auditPatience, errAuditSlow)
	defer cancel()
	select {
	case a.writing <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	done := make(chan error, 1)
	go func() { // ends when the log answers
		err := a.once(ctx, r)
		<-a.writing
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *auditor) once(ctx context.Context, r audit.Record) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("audit log: panic: %v", p)
		}
	}()
	return a.to.Record(ctx, r)
}

// note hands on what need not be waited for.
func (a *auditor) note(r audit.Record) {
	if a != nil {
		a.to.Note(r)
	}
}

// unrecorded is why an allow that could not be written down is a deny.
type unrecorded struct {
	rule string // ruleAudit or ruleStore
	why  string // for people
	err  error
}

func (u *unrecorded) Error() string { return u.why }
func (u *unrecorded) Unwrap() error { return u.err }

func unaudited(err error) *unrecorded {
	return &unrecorded{ruleAudit, fmt.Sprintf("it could not be recorded in the audit log (%s), and nothing runs that is not; it works again as soon as %s", auditTrouble(err), auditCure(err)), err}
}

// deny is the decision that takes an allow's place.
func (u *unrecorded) deny(d permission.Decision) permission.Decision {
	d = deniedBy(d, u.rule, u.why)
	d.AgentMessage = "The call was not run, because it could not be recorded (" + u.rule + "). The fault is the machine's, not the call's: tell the user, who can see the reason, before you try again."
	return d
}

// denyUnrecorded is unrecorded.deny for an error of Session.permitted.
func denyUnrecorded(d permission.Decision, err error) permission.Decision {
	u, ok := errors.AsType[*unrecorded](err)
	if !ok {
		u = unaudited(err) // cannot happen
	}
	return u.deny(d)
}

// refusal is the error of what a caller asked for.
func refusal(action string, err error) *Error {
	rule := ruleAudit
	if u, ok := errors.AsType[*unrecorded](err); ok {
		rule = u.rule
	}
	return Errorf(Internal, "%s refused by rule %s: %w", action, rule, err)
}

// unkept is for an error of Session.stored.
func unkept(err error) *unrecorded {
	return &unrecorded{ruleStore, "its event could not be written to the session store, and nothing runs that is not recorded: " + err.Error(), err}
}

// auditTrouble names the class of an error: its text may hold more than a client
// should see. The server's log has it whole.
func auditTrouble(err error) string {
	switch {
	case errors.Is(err, errAuditSlow), errors.Is(err, context.DeadlineExceeded):
		return errAuditSlow.Error()
	case errors.Is(err, context.Canceled):
		return "the wait for it was given up"
	case noRoom(err):
		return "no room on its disk"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return "its folder cannot be written to"
	}
	return "a write error, which the server's log names"
}

func auditCure(err error) string {
	if noRoom(err) {
		return "there is room, or [audit] dir names another disk"
	}
	return "the folder of [audit] dir can be written to"
}

// noRoom reports a full disk or a spent quota.
func noRoom(err error) bool {
	const diskFull = syscall.Errno(112) // of Windows
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, diskFull)
}

// logUnaudited tells the owner, who alone may see the whole error.
func (e *Engine) logUnaudited(r audit.Record, err error) {
	e.log.Error("audit log", "record", string(r.Kind), "session", r.Session, "error", err)
}
