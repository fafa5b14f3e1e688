package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/door"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/guard"
)

// doorFolder is where servers put the sockets at which their owner answers.
func doorFolder(stateFolder string) string { return filepath.Join(stateFolder, "doors") }

// ownersDoor is the socket of this server; the zero value is none.
type ownersDoor struct{ *door.Door }

// openDoor makes the socket; none, and a line in the log, where that is not
// possible.
func openDoor(s *settings, logger *slog.Logger) ownersDoor {
	if s.stateFolder == "" {
		logger.Warn("no door for approvals", "problem", "there is no state folder (a home folder, or XDG_STATE_HOME); gatehouse approve cannot reach this server")
		return ownersDoor{}
	}
	d, err := door.Listen(doorFolder(s.stateFolder), guard.PID())
	if err != nil {
		logger.Warn("no door for approvals", "problem", err)
		return ownersDoor{}
	}
	return ownersDoor{d}
}

// approvers are those given, and people where there is a door.
func (d ownersDoor) approvers(others ...string) []string {
	if d.Door != nil {
		others = append(others, "human")
	}
	return others
}

// open lets people in. The goroutine ends with the door.
func (d ownersDoor) open(eng *engine.Engine, logger *slog.Logger) {
	if d.Door != nil {
		go d.Serve(keeper{eng, logger, new(atomic.Int64)})
	}
}

func (d ownersDoor) close() {
	if d.Door != nil {
		d.Close()
	}
}

// keeper answers what comes through the door.
type keeper struct {
	engine *engine.Engine
	logger *slog.Logger
	told   *atomic.Int64 // when a refusal was told last, nanoseconds since 1970
}

// tellEvery is the least time between two refusals that are told: who is turned
// away can come again at once, and must not fill events and logs.
const tellEvery = time.Second

// maxInputShown bounds the input of one question, in bytes as shown.
const maxInputShown = 24 << 10

func (k keeper) Pending() []door.Question {
	var all []door.Question
	for _, q := range k.engine.Questions() {
		all = append(all, ownersView(q))
	}
	return all
}

func ownersView(q engine.OpenQuestion) door.Question {
	a, r, t := q.Action, q.Request, q.Decision.Ask
	out := door.Question{
		ID: q.ID, Session: r.SessionID, Cwd: engine.Visible(r.Session.Cwd), Type: a.Type, Tool: engine.Visible(r.Tool), Agent: engine.Visible(r.AgentID),
		Bytes: len(r.Input), SHA256: a.InputSHA256, Rule: engine.Visible(a.Rule), Reason: engine.Visible(q.Decision.Reason), Approvers: whoMay(t),
		Quorum: t.Quorum, ApprovedBy: a.ApprovedBy, Scope: a.Scope, ScopeTTL: a.ScopeTTL, Created: q.Created.UTC(), Deadline: q.Deadline.UTC(),
	}
	for _, f := range engine.ShownFields(r.Input, t.Fields) {
		if f.Missing {
			f.Value = "(not there)"
		}
		out.Fields = append(out.Fields, door.Field{Pointer: engine.Visible(f.Pointer), Value: f.Value})
	}
	out.Input, out.Cut = door.Shorten(engine.ShownInput(r.Input), maxInputShown)
	return out
}

// whoMay names the approvers of a question, [] for anybody.
func whoMay(t permission.AskTerms) []string {
	switch {
	case t.Approver != "":
		return []string{t.Approver}
	case t.Approvers != nil:
		return t.Approvers
	}
	return []string{}
}

// errWords refuses an allow that would leave a question of the model unanswered.
var errWords = errors.New("a question of the model wants one of its options, which gatehouse approve cannot choose: answer it in the client or at the prompt of gatehouse run, or deny it")

func (k keeper) Answer(ctx context.Context, p door.Peer, a door.Answer) error {
	for _, q := range k.engine.Questions() {
		if q.ID != a.ID {
			continue
		}
		if q.Action.Type == "question" && a.Allow {
			return coded{engine.Errorf(engine.InvalidArgument, "%w", errWords)}
		}
		session, err := k.engine.Session(q.Request.SessionID)
		if err == nil {
			ctx = engine.WithCaller(ctx, permission.Caller{Client: "gatehouse", Version: readVersion().Version, Transport: "door", UID: p.UID})
			err = session.Answer(ctx, engine.Answer{
				RequestID: a.ID, Allow: a.Allow, DenyMessage: denyMessage(a), Interrupt: a.Interrupt && !a.Allow, Approver: "human", Digest: a.Digest,
			})
		}
		if err != nil {
			return coded{err}
		}
		k.logger.Info("answered at the door", "session", q.Request.SessionID, "request", a.ID, "allow", a.Allow, "rule", q.Decision.Rule, "uid", p.UID, "pid", p.PID)
		return nil
	}
	return coded{engine.Errorf(engine.PermissionRequestNotFound, "request %q: %w", a.ID, permission.ErrNotFound)}
}

func denyMessage(a door.Answer) string {
	switch reason := strings.TrimSpace(a.Reason); {
	case a.Allow:
		return ""
	case reason == "":
		return "Permission denied by a person"
	default:
		return reason
	}
}

// Refused tells of a process that tried to answer and may not: to the session
// it belongs to, and in the log.
func (k keeper) Refused(p door.Peer, session, reason string) {
	now, last := time.Now().UnixNano(), k.told.Load()
	if now-last < int64(tellEvery) || !k.told.CompareAndSwap(last, now) {
		return
	}
	k.logger.Warn("turned away at the door", "uid", p.UID, "pid", p.PID, "session", session, "reason", reason)
	k.engine.TellSession(session, "door", fmt.Sprintf("process %d of this session came to the door where people answer; %s", p.PID, reason))
}

// coded gives an engine's error the word of its code.
type coded struct{ error }

func (c coded) Code() string  { return string(engine.CodeOf(c.error)) }
func (c coded) Unwrap() error { return c.error }
