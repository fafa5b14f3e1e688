package event

// Observer is told of a session's events once they were redacted and stored.
// It is safe for concurrent use.
type Observer interface {
	// Observe is told of one event, in the order of their ids within a session. It
	// returns soon: a slow observer holds up its session. It must not change e.
	Observe(o *Origin, e Event)
	// Ended says that no event of the session follows, unless it is resumed.
	Ended(sessionID string)
}
