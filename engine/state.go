package engine

import "fmt"

// State is where a session stands.
type State uint8

// The states. Cancelled is terminal for a Session: Engine.Continue makes another one of
// its id. The wire names are those clients know.
const (
	Starting  State = iota // process started, no init yet
	Running                // a turn is under way
	Waiting                // at least one question is open
	Idle                   // the last turn ended well
	Failed                 // the last turn or the process failed; a reply may still come
	Cancelled              // ended from outside, for good or not
)

// String returns the wire name.
func (s State) String() string {
	switch s {
	case Starting, Running:
		return "running"
	case Waiting:
		return "waiting_permission"
	case Idle:
		return "idle"
	case Cancelled:
		return "cancelled"
	}
	return "error"
}

// MarshalText writes the wire name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Busy reports whether a turn is under way.
func (s State) Busy() bool { return s == Starting || s == Running || s == Waiting }

type trigger uint8

const (
	initialized trigger = iota // system/init arrived
	asked                      // a question was opened
	settled                    // the last open question was answered, in a turn
	settledIdle                // the same, outside a turn: a background task had asked
	turnDone
	turnFailed // also: init timeout
	prompted
	exited // the process ended
	cancelled
	triggers
)

var triggerNames = [...]string{"initialized", "asked", "settled", "settled idle", "turn done", "turn failed", "prompted", "exited", "cancelled"}

func (t trigger) String() string { return triggerNames[t] }

const never = State(255)

// transitions[state][trigger] is the state that follows; never marks a trigger
// that cannot happen there. Background tasks begin turns of their own, so an
// idle session can be initialized or asked.
var transitions = [...][triggers]State{
	Starting:  {initialized: Running, asked: Waiting, settled: never, settledIdle: never, turnDone: never, turnFailed: Failed, prompted: never, exited: Failed, cancelled: Cancelled},
	Running:   {initialized: Running, asked: Waiting, settled: never, settledIdle: never, turnDone: Idle, turnFailed: Failed, prompted: never, exited: Failed, cancelled: Cancelled},
	Waiting:   {initialized: Waiting, asked: Waiting, settled: Running, settledIdle: Idle, turnDone: Idle, turnFailed: Failed, prompted: never, exited: Failed, cancelled: Cancelled},
	Idle:      {initialized: Running, asked: Waiting, settled: never, settledIdle: never, turnDone: Idle, turnFailed: Failed, prompted: Running, exited: Idle, cancelled: Cancelled},
	Failed:    {initialized: Running, asked: Waiting, settled: never, settledIdle: never, turnDone: Idle, turnFailed: Failed, prompted: Running, exited: Failed, cancelled: Cancelled},
	Cancelled: {initialized: never, asked: Cancelled, settled: Cancelled, settledIdle: Cancelled, turnDone: Cancelled, turnFailed: Cancelled, prompted: never, exited: Cancelled, cancelled: never},
}

// after returns the state that follows s on t. It is pure; an impossible
// trigger leaves s and returns an error.
func (s State) after(t trigger) (State, error) {
	next := transitions[s][t]
	if next != never {
		return next, nil
	}
	switch {
	case t == prompted && s == Cancelled:
		return s, Errorf(CancelledCode, "session was cancelled; start a new one")
	case t == prompted:
		return s, Errorf(SessionBusy, "session is %s; wait until it is idle, or cancel it", s)
	}
	return s, fmt.Errorf("session state %s: %s cannot happen", s, t)
}
