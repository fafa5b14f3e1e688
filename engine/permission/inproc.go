package permission

import (
	"context"
	"time"
)

// The phases of a call of a tool in this process.
const (
	PhaseCall   = "call"   // before it runs
	PhaseResult = "result" // before its result goes to the session
)

// InprocRequest is a call of a tool that lives in this process, or its result,
// to judge beside the gate.
type InprocRequest struct {
	Call     Request       // the tool with its full name, its input, the session
	Server   string        // the in-process server that has the tool
	Phase    string        // [PhaseCall] or [PhaseResult]
	Result   InprocResult  // zero in phase call
	Duration time.Duration // of the call; 0 in phase call
	Passed   Decision      // how the call passed the gate; the engine refuses those that did not by itself
	Approver string        // who answered, where somebody was asked
}

// InprocResult describes a result; its content is not shown to deciders.
type InprocResult struct {
	IsError   bool
	Bytes     int
	Blocks    []string // kinds of the content blocks
	JSONShape string   // kind of the structured content; empty without one
}

// InprocDecider judges calls of tools in this process and their results. Anything
// but Allow refuses: nobody can be asked there and nothing changed. It must be safe
// for concurrent use, honour ctx and not keep r.Call.Input.
type InprocDecider interface {
	Inproc(ctx context.Context, r InprocRequest) Decision
}
