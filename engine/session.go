package engine

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Session is one governed conversation. It is safe for concurrent use.
type Session struct {
	engine  *Engine
	id      string // the CLI's session id too, chosen by us
	parent  string // the session this one was forked from
	created time.Time
	caller  permission.Caller // who started, forked or resumed it
	prompt  string            // SHA-256 of its first prompt, hexadecimal
	params  StartParams       // as admitted
	shown   StartParams       // the same, redacted, for whoever asks

	cwd      string // resolved
	dirs     []string
	trusted  bool
	snapshot snapshot
	servers  []ownServer // of the owner, admitted; each launch but an isolated one gets them

	flooring    sync.Once
	floor       time.Duration // see startFloor
	offering    sync.Once
	toolOffer   toolOffer       // see offer
	toolServers []offeredServer // admitted, by name; each launch gets them. Set under mu, while the session begins

	log       *event.Log
	approvals *permission.Approvals
	memo      permission.Memo
	trip      tripwire
	calls     calls
	spilled   spilled
	history   history
	agents    agents
	folders   folders
	grants    grantList
	asked     window // questions of the last minute
	duties    duties
	observing observing
	keeping   keeping
	noted     notes                   // audit records of this minute
	program   atomic.Pointer[program] // the executable of its last process
	onRecord  atomic.Bool             // the audit log knows of its start
	lifted    atomic.Bool             // questions were lifted since it was last told that they are not, see lift

	hurry  chan struct{} // closed, under mu, when there is no time for a soft end; nil for a kept session
	heirOf *Session      // of this run and ended, which this one takes up; nil: none, or done. Guarded by Engine.mu once it begins
	again  bool          // it takes a session up, whose place in the store it has
	kept   *keptState    // of a kept session, its record

	ctx    context.Context // ends when the session is cancelled or the engine closes
	steady context.Context // the same without an end, see untilDone
	end    context.CancelCauseFunc
	done   chan struct{} // closed when nothing of a cancelled session is left
	work   sync.WaitGroup

	origins   sync.Mutex // held while the log is told the session's origin
	told      *event.Origin
	origin    launch     // the first one; guarded by launching after begin
	recording sync.Mutex // held while the record is written
	launching sync.Mutex // held while a process is started or stopped
	isolated  bool       // no settings files from now on; guarded by launching

	mu            sync.Mutex
	state         State
	changed       chan struct{} // closed and replaced at every change of state
	proc          *process      // nil while none runs
	touched       time.Time     // at the last change of state, or use
	used          time.Time     // when a client or the owner last had to do with it
	turnStarted   time.Time
	started       bool // the CLI has told of the session at least once, so it can be resumed
	info          Info // totals, tools, result
	actions       map[string]Action
	mode          string
	beyond        string       // mode outside of plan mode, see followMode
	rules         sessionRules // added by answers
	approvalTTL   time.Duration
	turn          int
	working       *Turn     // the newest; nil for a kept session
	prompts       int       // turns that have ended
	lastOutput    string    // see Info.LastOutput
	words         lastWords // of the turn under way
	signs         signs     // the same
	toolCalls     int
	denies        int
	deniesInTurn  int
	asks          int
	cancelReason  string
	cancelSource  string
	final         bool                    // cancelled for good: no token resumes it
	stopped       bool                    // cancelled by Stop: Continue takes it up again
	heldBy        *Session                // takes it up, or has; nil: none
	before        State                   // the cancel
	keptOnly      bool                    // nothing of it runs here, see Engine.Find; set when it is made
	abandoned     bool                    // its start failed
	finished      bool                    // done is closed, or about to be
	forgotten     bool                    // the engine does not know it any more: its history is given back when it is finished
	busyFrom      int64                   // id of the event the turn under way begins with
	resultID      *int64                  // of the event that told info.Result
	untold        map[string]openQuestion // questions whose answer no event has told
	noneUntold    chan struct{}           // closed when there are none; nil while nobody waits for that
	lastTool      string                  // name of the tool used last
	cancelledTime time.Time
}

func (e *Engine) newSession(p StartParams, parent string) *Session {
	now := time.Now()
	s := &Session{
		engine: e, id: newUUID(), parent: parent, created: now, params: p,
		caller: permission.Caller{UID: -1}, prompt: digest([]byte(p.Prompt)),
		log:       event.NewLog(e.o.MaxEventBytes, e.o.Redactors...),
		approvals: permission.NewApprovals(max(e.o.MaxPending, 0)),
		done:      make(chan struct{}), changed: make(chan struct{}), hurry: make(chan struct{}),
		touched: now, used: now, turnStarted: now, actions: make(map[string]Action),
		mode: modeAsked(p), beyond: modeBeyond(modeAsked(p)),
		approvalTTL: p.PermissionTimeout,
	}
	if s.approvalTTL <= 0 {
		s.approvalTTL = e.o.ApprovalTimeout
	}
	s.ctx, s.end = context.WithCancelCause(e.ctx)
	s.steady = context.WithoutCancel(s.ctx)
	s.working = s.newTurn(0)
	s.tellOrigin()
	return s
}

// covered is p with its texts redacted; what could not be is left out.
func (s *Session) covered(p StartParams) StartParams {
	raw, err := json.Marshal(p)
	if err != nil {
		return StartParams{}
	}
	var shown StartParams
	raw, _, _ = s.log.Redact(s.untilDone(), event.Payload{Sink: event.SinkEvent, Kind: event.Notice, Data: raw})
	if json.Unmarshal(raw, &shown) != nil {
		return StartParams{}
	}
	return shown
}

// ID returns the session's id, a UUID.
func (s *Session) ID() string { return s.id }

// update is the only place where the state changes.
func (s *Session) update(t trigger) error {
	s.mu.Lock()
	err := s.updateLocked(t)
	s.mu.Unlock()
	if err == nil {
		s.keepState()
	}
	return err
}

func (s *Session) updateLocked(t trigger) error {
	next, err := s.state.after(t)
	if err != nil {
		return err
	}
	s.touched = time.Now()
	if !s.state.Busy() && next.Busy() {
		s.turnStarted = s.touched
		if s.log != nil {
			s.busyFrom, _ = s.log.Next()
		}
		s.working = s.ownTurn(s.busyFrom) // see beginReply
	}
	if next == Cancelled && s.state != Cancelled {
		s.before = s.state
	}
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// touch notes that somebody asked for the session.
func (s *Session) touch() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched = time.Now()
	s.used = s.touched
}

// maxWarnings bounds a session's warnings.
const maxWarnings = 50

// warn notes that a parameter will not do what it says.
func (s *Session) warn(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.info.Warnings) < maxWarnings && !slices.Contains(s.info.Warnings, text) {
		s.info.Warnings = append(s.info.Warnings, text)
	}
}

// must applies a trigger that the table allows; what cannot happen is logged.
func (s *Session) must(t trigger) {
	if err := s.update(t); err != nil {
		s.engine.log.Error("session state", "session", s.id, "error", err)
	}
}

// Info returns the session as it is now.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.info
	i.ID, i.ParentID, i.State, i.Params = s.id, s.parent, s.state, s.shown
	if i.Params.Cwd == "" {
		i.Params.Cwd = s.cwd // the default is worth knowing
	}
	i.Mode = s.mode
	i.Queued, i.Prompts, i.LastOutput = s.working.queued(), s.prompts, s.lastOutput
	i.CreatedAt, i.LastActiveAt = s.created, s.touched
	i.CancelledAt, i.CancelledReason, i.CancelledSource, i.Stopped = s.cancelledTime, s.cancelReason, s.cancelSource, s.stopped
	i.Tools, i.Warnings = slices.Clone(i.Tools), slices.Clone(i.Warnings)
	if next, _ := s.log.Next(); next > 0 {
		last := next - 1
		i.LastEventID = &last
	}
	return i
}

// standing is the state alone, at less cost than Info.
func (s *Session) standing() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// Events returns the events from cursor on (nil: the oldest kept), at most max (<= 0: all).
func (s *Session) Events(cursor *int64, max int) event.Page { return s.log.After(cursor, max) }

// Wait blocks until an event with an id >= after is there, a question is open,
// the session is not busy, or ctx ends.
func (s *Session) Wait(ctx context.Context, after int64) {
	for {
		next, appended := s.log.Next()
		if after == math.MaxInt64 {
			appended = nil // no event will do: not one of them is worth waking up for
		}
		s.mu.Lock()
		news := next > after || !s.state.Busy() || len(s.actions) > 0
		s.used = time.Now()
		changed := s.changed
		s.mu.Unlock()
		if news {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-appended:
		case <-changed:
		}
	}
}

// Pending lists what the session waits for, oldest first.
func (s *Session) Pending() []Action {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]Action, 0, len(s.actions))
	for _, a := range s.actions {
		a.RemainingMS = permission.Left(time.Now(), a.ExpiresAt).Milliseconds()
		list = append(list, a)
	}
	slices.SortFunc(list, func(a, b Action) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return list
}

// Done is closed when a cancelled session's process and goroutines are gone.
func (s *Session) Done() <-chan struct{} { return s.done }

// append stores an event made of any value that encodes as a JSON object.
func (s *Session) append(kind event.Kind, payload any) event.Event {
	return s.add(event.Payload{Kind: kind}, payload)
}

// add is append for an event of which more is known; sort.Data is not. before is
// what was covered in it already.
func (s *Session) add(sort event.Payload, payload any, before ...event.Redaction) event.Event {
	raw, err := json.Marshal(payload)
	if err != nil {
		raw, _ = json.Marshal(map[string]string{"type": "withheld", "message": "event could not be encoded"})
	}
	sort.Data = raw
	return s.noteRedactions(s.log.Add(s.untilDone(), sort, before...))
}

// notice tells clients something of our own.
func (s *Session) notice(kind, message string, more map[string]any) {
	payload := map[string]any{"type": kind, "message": message}
	for k, v := range more {
		payload[k] = v
	}
	s.append(event.Notice, payload)
	s.noteNotice(kind, message)
}

// withheldText stands for a text that could not be redacted.
const withheldText = "[withheld: redaction ended with an error]"

// redactText covers secrets in a text on its way to a sink.
func (s *Session) redactText(sink event.Sink, text string) string {
	return s.redactSort(event.Payload{Sink: sink, Kind: event.Notice}, text)
}

// redactSort is redactText for a text of which more is known; sort.Data is not.
func (s *Session) redactSort(sort event.Payload, text string) string {
	raw, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return withheldText
	}
	var out map[string]string
	sort.Data = raw
	raw, _, ok := s.log.Redact(s.untilDone(), sort)
	if !ok || json.Unmarshal(raw, &out) != nil {
		return withheldText
	}
	return out["text"]
}

// untilDone is the session's context without its end, for redaction that has to
// come to an end whatever happens to the session: a secret is found or it is not.
func (s *Session) untilDone() context.Context {
	if s.steady == nil {
		return context.WithoutCancel(s.ctx)
	}
	return s.steady
}

// forLog is a text as the server's own log may show it.
func (s *Session) forLog(text string) string { return s.redactText(event.SinkLog, text) }
