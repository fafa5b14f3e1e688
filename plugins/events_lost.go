package plugins

import (
	"cmp"
	"fmt"
)

// losses are events that a plugin was not told of.
type losses struct {
	lost int
	why  string // the first was lost
}

var tooManyWait = fmt.Sprintf("more than %d events of one session, or %d bytes of all, wait for plugins", MaxWaiting, MaxWaitingBytes)

// latest are the losses of the session that runs now.
func (q *queue) latest() *losses {
	if q.ending > 0 {
		return &q.resumed
	}
	return &q.losses
}

// lose counts an event and returns why for the first.
func (l *losses) lose(why string) string {
	if l.lost++; l.lost > 1 {
		return ""
	}
	l.why = why
	return why
}

// room makes room for n bytes more in a queue at the cost of those that hold more
// than it would, the largest first: a session that floods one plugin must not make
// others lose their events.
func (o *observation) room(q *queue, n int, lost map[kvScope]string) bool {
	for o.bytes+n > MaxWaitingBytes {
		var scope kvScope
		largest := q
		for s, other := range o.queues {
			if other.bytes > largest.bytes {
				scope, largest = s, other
			}
		}
		if largest == q || largest.bytes <= q.bytes+n {
			return false
		}
		if why := o.drop(largest); why != "" {
			lost[scope] = why
		}
	}
	return true
}

// drop loses all events that wait in a queue. Ends of the session stay.
func (o *observation) drop(q *queue) (why string) {
	var ends []observed
	ending := q.ending
	for _, e := range q.waiting {
		if e.ended {
			ends = append(ends, e)
			ending--
			continue
		}
		of := &q.losses
		if ending == 0 {
			of = q.latest()
		}
		why = cmp.Or(why, of.lose(tooManyWait))
		o.bytes -= e.bytes
		q.bytes -= e.bytes
		q.through++
	}
	q.waiting = ends
	q.move()
	return why
}

// move tells who waits that some are through.
func (q *queue) move() {
	if q.moved != nil {
		close(q.moved)
		q.moved = nil
	}
}
