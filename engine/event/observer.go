package event

// Observer is told of a session's events once they were redacted and stored.
// It is safe for concurrent use.
type Observer interface {
	// Observe is told of one event, in the order of their ids within a session. It
	// returns soon: a slow observer holds up its session. It must not change e, nor
	// append to the log that e is of.
	Observe(o *Origin, e Event)
	// Ended says that no event of the session follows, unless it is resumed.
	Ended(sessionID string)
}

// Observe has observers told of the events in memory, but for those that others were
// told of before, and of all that follow, until [Log.EndObserving]. Partial ones are
// left out. It is for a log that has
// its history already: ids move up when it gets one. Observers must not panic.
func (l *Log) Observe(observers ...Observer) {
	if len(observers) == 0 {
		return
	}
	l.write.Lock()
	defer l.write.Unlock()
	l.observers = observers
	for _, e := range l.events {
		if e.ID >= l.observed {
			l.observe(e)
		}
	}
}

// EndObserving tells observers that no event follows. It may be called again, and
// does nothing then.
func (l *Log) EndObserving(sessionID string) {
	l.write.Lock()
	defer l.write.Unlock()
	for _, o := range l.observers {
		o.Ended(sessionID)
		l.observed = l.next
	}
	l.observers = nil
}

// observe tells of one event; l.write is held, so that the order is that of the ids.
func (l *Log) observe(e Event) {
	if e.Type == Partial {
		return
	}
	for _, o := range l.observers {
		o.Observe(l.origin.Load(), e)
	}
}
