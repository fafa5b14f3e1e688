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
	MaxWaitingBytes = 64 << 20 // of payload, of all sessions and plugins
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
	turns  map[string]slots // by plugin: it is told of few events at a time, so that it leaves slots to verdicts
}

// queue is what waits for one session and plugin. It is kept while it has events, or
// lost some: that is forgotten when the session ends.
type queue struct {
	waiting        []observed
	running        bool
	added, through uint64
	moved          chan struct{} // made for who waits, closed when through grows; nil: nobody does
	ending         int           // ends of the session that wait
	lost           int
	why            string // the first was lost
}

func newObservation(deliver delivery, ended func(kvScope), told func(kvScope, string)) *observation {
	o := &observation{deliver: deliver, ended: ended, told: told, queues: make(map[kvScope]*queue), over: make(map[string]int), turns: make(map[string]slots)}
	o.ctx, o.stop = context.WithCancel(context.Background())
	return o
}

// add has a plugin told of an event.
func (o *observation) add(plugin string, e observed) {
	scope := kvScope{e.session, plugin}
	why := o.enter(scope, e)
	if why != "" {
		o.told(scope, why)
	}
}

// enter returns why the event is lost, the first time in a session.
func (o *observation) enter(scope kvScope, e observed) (why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ""
	}
	q := o.queues[scope]
	switch {
	case q == nil && e.ended:
		o.ended(scope)
		return ""
	case q == nil && len(o.queues) >= MaxObserved:
		if o.over[scope.plugin]++; o.over[scope.plugin] > 1 {
			return ""
		}
		return fmt.Sprintf("events of more than %d sessions wait for plugins", MaxObserved)
	case q == nil:
		q = new(queue)
		o.queues[scope] = q
	}
	e.bytes += waitingCost
	if !e.ended && (len(q.waiting) >= MaxWaiting || o.bytes+e.bytes > MaxWaitingBytes) {
		return q.lose(fmt.Sprintf("more than %d events of one session, or %d bytes of all, wait for plugins", MaxWaiting, MaxWaitingBytes))
	}
	if e.ended {
		q.ending++
	}
	q.waiting = append(q.waiting, e)
	q.added++
	o.bytes += e.bytes
	if !q.running {
		q.running = true
		o.done.Go(func() { o.run(scope, q) }) // ends when nothing waits any more, or with close
	}
	return ""
}

// lose counts an event and returns why for the first.
func (q *queue) lose(why string) string {
	if q.lost++; q.lost > 1 {
		return ""
	}
	q.why = why
	return why
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

// turn is half of the slots that calls have, one at least.
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
	return e, true
}

// settle notes that an event is through.
func (o *observation) settle(scope kvScope, q *queue, e observed, err error) (why string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case e.ended:
		q.lost, q.why = 0, ""
		q.ending--
		if o.queues[scope] == q { // else its plugin is gone
			o.ended(scope)
		}
	case err != nil && !o.closed:
		why = q.lose(err.Error())
	}
	o.bytes -= e.bytes
	q.through++
	if q.moved != nil {
		close(q.moved)
		q.moved = nil
	}
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
	for added := q.added; q.through < added && (q.lost == 0 || q.ending > 0); {
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
	if q.lost > 0 {
		return fmt.Errorf("%d events of this session were lost; the first: %s", q.lost, q.why)
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
		for _, e := range q.waiting {
			o.bytes -= e.bytes
			q.through++
		}
		if q.waiting = nil; q.moved != nil {
			close(q.moved)
			q.moved = nil
		}
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
