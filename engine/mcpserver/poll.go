package mcpserver

import (
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Bounds of one answer.
const (
	defaultMaxEvents = 200 // in minimal mode

	// maxPageBytes bounds the events of one answer, in either mode. An answer is
	// sent twice (structured and as text), and clients cut what is too long
	// without telling us where; truncated and nextCursor let them continue.
	maxPageBytes = 256 << 10
)

// options is what a reader wants to see of a session. The zero value is
// everything there is about minimal mode, but no event.
type options struct {
	cursor    *int64 // next event wanted; nil = the oldest kept
	full      bool   // responseMode full
	maxEvents int

	noEvents, noActions, noResult              bool
	usage, modelUsage, structuredOutput, tools bool
	terminalEvents                             bool // keep result events beside the top-level result
}

// answer is what claude_code_check returns, and claude_code with waitMs.
type answer struct {
	SessionID     string `json:"sessionId"`
	Status        string `json:"status"`
	PollInterval  int64  `json:"pollInterval,omitempty"` // ms; absent when nothing runs
	ResumeToken   string `json:"resumeToken,omitempty"`  // of claude_code and claude_code_reply
	CursorResetTo *int64 `json:"cursorResetTo,omitempty"`
	cancellation

	Events          *[]event.Event  `json:"events,omitempty"`
	NextCursor      *int64          `json:"nextCursor,omitempty"`
	Truncated       bool            `json:"truncated,omitempty"`
	TruncatedFields []string        `json:"truncatedFields,omitempty"`
	FilteredEvents  int             `json:"filteredEvents,omitempty"` // passed by nextCursor, not in events
	Actions         []engine.Action `json:"actions,omitempty"`
	Result          *engine.Result  `json:"result,omitempty"`
	AvailableTools  []toolView      `json:"availableTools,omitempty"`
	LastEventID     *int64          `json:"lastEventId,omitempty"`
	LastToolUseID   string          `json:"lastToolUseId,omitempty"`
	Warnings        []string        `json:"warnings,omitempty"` // of claude_code and claude_code_reply
}

// readable is the part of *engine.Session that polling needs.
type readable interface {
	Events(cursor *int64, max int) event.Page
	Pending() []engine.Action
	Info() engine.Info
}

var _ readable = (*engine.Session)(nil)

// read looks at a session once. The second value says whether there is
// anything a waiting reader wants to know now.
func read(s readable, o options) (answer, bool) {
	// State first, events after: what a state was reached by is then in the
	// page, and a terminal state is never told without its last events.
	info := s.Info()
	a := answer{
		SessionID: info.ID, Status: info.State.String(), PollInterval: pollInterval(info.State),
		cancellation: cancellationOf(info),
	}
	if !o.noResult && (info.State == engine.Idle || info.State == engine.Failed) && info.Result != nil {
		a.Result = o.result(*info.Result)
	}
	a.readEvents(s, o)
	pending := s.Pending()
	if !o.noActions {
		a.Actions = wireActions(pending)
	}
	if o.tools {
		a.AvailableTools = describeTools(info.Tools)
	}
	a.LastEventID, a.LastToolUseID = info.LastEventID, info.LastToolUseID
	// What is truncated is read on from the next cursor, also where nothing of it
	// is shown: to wait with the old one would read it over and over.
	visible := a.Events != nil && len(*a.Events) > 0 || a.Truncated
	return a, visible || a.CursorResetTo != nil || len(pending) > 0 || !info.State.Busy() || info.State == engine.Waiting
}

// readEvents fills the page: events that the mode shows, until the reader's or
// our own limit. nextCursor passes what was filtered.
func (a *answer) readEvents(s readable, o options) {
	if o.noEvents && o.cursor == nil {
		a.Events = &[]event.Event{}
		return
	}
	page := s.Events(o.cursor, 0)
	next := page.Next
	a.NextCursor, a.CursorResetTo = &next, page.ResetTo
	events := []event.Event{}
	if !o.noEvents {
		events = a.window(page, o)
	}
	a.Events = &events
}

func (a *answer) window(page event.Page, o options) []event.Event {
	if page.Truncated { // more is on the disk
		a.Truncated, a.TruncatedFields = true, []string{"events"}
	}
	events, size := make([]event.Event, 0, min(len(page.Events), o.maxEvents)), 0
	for _, e := range page.Events {
		shaped, ok := o.shape(e)
		if !ok {
			a.FilteredEvents++
			continue
		}
		// The first one always goes out, however large: the cursor must not stall.
		size += len(shaped.Data)
		if len(events) > 0 && (len(events) == o.maxEvents || size > maxPageBytes) {
			*a.NextCursor = e.ID
			a.Truncated, a.TruncatedFields = true, []string{"events"}
			return events
		}
		events = append(events, shaped)
	}
	if a.Result != nil && !o.terminalEvents && !page.Truncated {
		events = a.dropLastTerminal(events)
	}
	return events
}

// dropLastTerminal leaves out the event that the top-level result repeats. Only
// the newest does; results of earlier turns stay.
func (a *answer) dropLastTerminal(events []event.Event) []event.Event {
	for i := len(events) - 1; i >= 0; i-- {
		if events[i].Type.Terminal() {
			a.FilteredEvents++
			return append(events[:i], events[i+1:]...)
		}
	}
	return events
}

// result copies r without what was not asked for.
func (o options) result(r engine.Result) *engine.Result {
	if !o.usage {
		r.Usage = nil
	}
	if !o.modelUsage {
		r.ModelUsage = nil
	}
	if !o.structuredOutput {
		r.StructuredOutput = nil
	}
	if len(r.PermissionDenials) == 0 || isNull(r.PermissionDenials) {
		r.PermissionDenials = json.RawMessage("[]")
	}
	return &r
}

// wireActions makes sure that clients find an object to show.
func wireActions(actions []engine.Action) []engine.Action {
	for i := range actions {
		if len(actions[i].Input) == 0 {
			actions[i].Input = json.RawMessage("{}")
		}
	}
	return actions
}
