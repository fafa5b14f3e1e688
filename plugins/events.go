package plugins

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"sync"
)

// Bounds of the events that wait to be told to plugins. What finds no room is lost.
const (
	MaxWaiting      = 1024     // events of a session, for one plugin
	MaxWaitingBytes = 64 << 20 // of payload, of all sessions and plugins: the session and plugin with most of it loses what waits
	MaxObserved     = 16384    // sessions times plugins of which anything is known
)

// waitingCost is what an event costs beside its payload, about.
const waitingCost = 512

// delivery tells a plugin of one event. An error says that the plugin did not
// take it.
type delivery func(ctx context.Context, plugin string, e observed) error

// observed is one event as it waits.
type observed struct {
	session string
	doc     *document
	bytes   int
	ended   bool // no event: the session ended
}

// observation brings the events of sessions to plugins, one after the other for
// each session and plugin, and beside one another for different ones.
//
//	Observe ── add ──► queue{session, plugin} ── run (one goroutine while it has events) ──► deliver
//	Annotate ─ wait ─► until what was added before is through
type observation struct {
	deliver delivery
	ended   func(kvScope) // the session's last event is through
	told    func(scope kvScope, message string)

	ctx  context.Context // ends the goroutines
	stop context.CancelFunc
	done sync.WaitGroup // of them

	mu     sync.Mutex
	queues map[kvScope]*queue
	bytes  int
	closed bool
	over   map[string]int   // events lost by plugin as there was no room for another queue
	turns  map[string]slots // by plugin: it is told of few events at a time, so that the events of others come through
}

// queue is what waits for one session and plugin. It is kept while it has events, or
// lost some: that is forgotten when the session ends.
type queue struct {
	waiting        []observed
	bytes          int // of what waits
	running        bool
	added, through uint64
	moved          chan struct{} // made for who waits, closed when through grows; nil: nobody does
	ending         int           // ends of the session that wait
	losses                       // of the session up to the first end that waits
	resumed        losses        // of what came behind the last of them
}

func newObservation(deliver delivery, ended func(kvScope), told func(kvScope, string)) *observation {
	o := &observation{deliver: deliver, ended: ended, told: told, queues: make(map[kvScope]*queue), over: make(map[string]int), turns: make(map[string]slots)}
	o.ctx, o.stop = context.WithCancel(context.Background())
	return o
}

// add has a plugin told of an event.
func (o *observation) add(plugin string, e observed) {
	scope := kvScope{e.session, plugin}
	for of, why := range o.enter(scope, e) {
		o.told(of, why)
	}
}

// enter returns whose events are lost by it and why, the first time in a session.
func (o *observation) enter(scope kvScope, e observed) (lost map[kvScope]string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil
	}
	lost = make(map[kvScope]string)
	q := o.queues[scope]
	switch {
	case q == nil && e.ended:
		o.ended(scope)
		return nil
	case q == nil && len(o.queues) >= MaxObserved:
		if o.over[scope.plugin]++; o.over[scope.plugin] == 1 {
			lost[scope] = fmt.Sprintf("events of more than %d sessions wait for plugins", MaxObserved)
		}
		return lost
	case q == nil:
		q = new(queue)
		o.queues[scope] = q
	}
	e.bytes += waitingCost
	if !e.ended && (len(q.waiting) >= MaxWaiting || !o.room(q, e.bytes, lost)) {
		if why := q.latest().lose(tooManyWait); why != "" {
			lost[scope] = why
		}
		return lost
	}
	if e.ended {
		q.ending++
		q.resumed = losses{} // of a session that is over
	}
	q.waiting = append(q.waiting, e)
	q.added++
	q.bytes += e.bytes
	o.bytes += e.bytes
	o.start(scope, q)
	return lost
}

// start has a queue run that has events.
func (o *observation) start(scope kvScope, q *queue) {
	if !q.running {
		q.running = true
		o.done.Go(func() { o.run(scope, q) }) // ends when nothing waits any more, or with close
	}
}

// run brings what waits in a queue.
func (o *observation) run(scope kvScope, q *queue) {
	for {
		e, more := o.next(scope, q)
		if !more {
			return
		}
		var err error
		if !e.ended {
			err = o.tell(scope.plugin, e)
		}
		if why := o.settle(scope, q, e, err); why != "" {
			o.told(scope, why)
		}
	}
}

// tell waits for the plugin's turn and tells it of an event.
func (o *observation) tell(plugin string, e observed) error {
	turn := o.turn(plugin)
	select {
	case turn <- struct{}{}:
	case <-o.ctx.Done():
		return o.ctx.Err()
	}
	defer turn.release()
	return o.deliver(o.ctx, plugin, e)
}

// turn is as many as there are slots for events: those of one plugin do not stand in
// line before those of another.
func (o *observation) turn(plugin string) slots {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.turns[plugin] == nil {
		o.turns[plugin] = newSlots(max(1, runtime.GOMAXPROCS(0)/2))
	}
	return o.turns[plugin]
}

// next takes the oldest event; without one the queue stops running.
func (o *observation) next(scope kvScope, q *queue) (e observed, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(q.waiting) == 0 || o.closed {
		if q.running = false; q.lost == 0 && len(q.waiting) == 0 && o.queues[scope] == q {
			delete(o.queues, scope)
		}
		return e, false
	}
	e, q.waiting[0] = q.waiting[0], observed{}
	q.waiting = q.waiting[1:]
	q.bytes -= e.bytes
	return e, true
}

// settle notes that an event is through.
func (o *observation) settle(scope kvScope, q *queue, e observed, err error) (why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case e.ended:
		q.losses = losses{}
		if q.ending--; q.ending == 0 {
			q.losses, q.resumed = q.resumed, losses{}
		}
		if o.queues[scope] == q { // else its plugin is gone
			o.ended(scope)
		}
	case err != nil && !o.closed:
		why = q.lose(err.Error())
	}
	o.bytes -= e.bytes
	q.through++
	q.move()
	return why
}

// wait returns when all events that were added for a session and a plugin before
// are through, or with ctx. An error says that some were lost.
func (o *observation) wait(ctx context.Context, scope kvScope) error {
	o.mu.Lock()
	q := o.queues[scope]
	if n := o.over[scope.plugin]; n > 0 {
		o.mu.Unlock()
		return fmt.Errorf("%d events were lost: more than %d sessions were observed; restart the server", n, MaxObserved)
	}
	if q == nil {
		o.mu.Unlock()
		return nil
	}
	for added := q.added; q.through < added && q.latest().lost == 0; {
		if q.moved == nil {
			q.moved = make(chan struct{})
		}
		moved := q.moved
		o.mu.Unlock()
		select {
		case <-moved:
		case <-o.ctx.Done():
			return errors.New("the server ends")
		case <-ctx.Done():
			return fmt.Errorf("events before this call are not through: %w", context.Cause(ctx))
		}
		o.mu.Lock()
	}
	defer o.mu.Unlock()
	if l := q.latest(); l.lost > 0 {
		return fmt.Errorf("%d events of this session were lost; the first: %s", l.lost, l.why)
	}
	return nil
}

// retain forgets what is known of plugins that are not meant.
func (o *observation) retain(meant func(plugin string) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for scope, q := range o.queues {
		if meant(scope.plugin) {
			continue
		}
		o.bytes -= q.bytes
		q.through += uint64(len(q.waiting))
		q.waiting = nil
		q.move()
		delete(o.queues, scope)
	}
	maps.DeleteFunc(o.over, func(plugin string, _ int) bool { return !meant(plugin) })
	maps.DeleteFunc(o.turns, func(plugin string, _ slots) bool { return !meant(plugin) })
}

// close ends the goroutines and waits for them.
func (o *observation) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.stop()
	o.done.Wait()
}
