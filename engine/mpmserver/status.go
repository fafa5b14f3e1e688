package mpmserver

import (
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// The statuses of sessions.
const (
	starting  = "starting"  // its turn waits for a slot, or its process begins
	active    = "active"    // a turn is under way
	completed = "completed" // the last turn ended well
	failing   = "error"     // it did not
	halted    = "stopped"   // until it is continued
)

var statuses = []string{starting, active, completed, failing, halted}

func statusOf(i engine.Info) string {
	switch {
	case i.State == engine.Starting, i.Queued && i.State.Busy():
		return starting
	case i.State.Busy():
		return active
	case i.State == engine.Idle:
		return completed
	case i.State == engine.Cancelled:
		return halted
	}
	return failing
}

// sessionView is a session as clients see it.
type sessionView struct {
	SessionID        string  `json:"session_id"`
	Status           string  `json:"status"`
	StartTime        string  `json:"start_time"`
	WorkingDirectory string  `json:"working_directory"` // "" where policy does not let it be shown
	LastActivity     string  `json:"last_activity"`
	MessageCount     int     `json:"message_count"` // turns that have ended
	LastOutput       *string `json:"last_output"`   // null where the last of them had none

	started time.Time
}

// viewOf shows a session; whole says that its folder may be shown.
func viewOf(i engine.Info, whole bool) sessionView {
	v := sessionView{
		SessionID: i.ID, Status: statusOf(i), StartTime: timeText(i.CreatedAt), LastActivity: timeText(i.LastActiveAt),
		MessageCount: i.Prompts, started: i.CreatedAt,
	}
	if whole {
		v.WorkingDirectory = i.Params.Cwd
	}
	if i.LastOutput != "" {
		v.LastOutput = &i.LastOutput
	}
	return v
}

// timeText is ISO 8601 in UTC with microseconds, as Python writes it.
func timeText(t time.Time) string {
	return t.UTC().Format("2006-01-02T15:04:05.000000") + "+00:00"
}
