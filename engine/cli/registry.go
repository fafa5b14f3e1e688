package cli

// Registry keeps on disk which processes of sessions live, so that those a crash
// left behind can be found by id, start time and marker and ended: [Sweep]. It is
// safe for concurrent use; a nil Registry keeps nothing.
type Registry struct{}

// Entry is one process as the registry knows it.
type Entry struct {
	PID     int    `json:"pid"`
	Start   string `json:"start"` // as the system tells it, so that a reused pid is not mistaken for it
	Boot    string `json:"boot"`  // id of the machine's run; pids of another mean nothing
	Group   int    `json:"pgid"`
	Session string `json:"session"` // the marker in its environment, see MarkerEnv
}

// OpenRegistry begins the file at path, which must not exist.
func OpenRegistry(path string) (*Registry, error) { return &Registry{}, nil }

// Close ends the registry; the file is removed when no process is left in it.
func (r *Registry) Close() error { return nil }

// ReadRegistry returns the processes that a registry's file, also one of a server
// that crashed, holds as living. A torn last line is left out.
func ReadRegistry(path string) ([]Entry, error) { return nil, nil }

// Sweep ends those of the entries that still are what they were, everything they
// started, and every process that bears one of their markers, until none is left.
// It returns how many it ended.
func Sweep(entries []Entry) (ended int, err error) { return 0, nil }

// MaxProcesses is how many processes this program may run at once under its limit
// on open files.
func MaxProcesses() int { return 0 }
