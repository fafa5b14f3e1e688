package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"
)

// plugin is one loaded plugin.
type plugin struct {
	host     *Host
	config   Config // checked, with defaults filled in
	sha256   string // of the file
	hooks    []Hook // that it is called at, in the order of [Hooks]
	tools    []Tool
	settings *tape // its part of documents, /config
	compiled time.Duration

	code   *code
	spare  *pool
	lanes  [3]lane // of calls, of tools_call and of session_event
	health health
	users  int // sets it is in, guarded by Host.mu

	telling sync.Mutex // news of it are told in the order they happen
	gone    bool       // it was replaced or removed: there are no news of it any more

	mu      sync.Mutex
	running map[*exchange]context.CancelFunc // calls in flight, which Close can end
}

// call calls a hook once, under all limits and with the plugin's health kept. An
// error means that on_error holds: it says what happened and which limit it was,
// and begins with `plugin "name": `. session is the scope of kv; empty: of none.
// The caller holds the set the plugin is in, see [Host.hold].
func (p *plugin) call(ctx context.Context, hook Hook, d *document, session string) (Outcome, error) {
	return p.callFor(ctx, hook, d, session, func(Outcome) error { return nil })
}

// callFor is call with a look at the outcome: one that accept refuses is a failure
// as any other.
func (p *plugin) callFor(ctx context.Context, hook Hook, d *document, session string, accept func(Outcome) error) (Outcome, error) {
	started := p.host.now()
	if p.host.isClosed() {
		return Outcome{}, p.failed(hook, errClosed)
	}
	turn, err := p.enter(hook, started)
	if err != nil {
		return Outcome{}, p.failed(hook, err)
	}
	out, err := p.attempt(ctx, turn, &exchange{plugin: p, hook: hook, doc: p.view(d), session: session})
	out.Took = p.host.now().Sub(started)
	if err == nil {
		err = accept(out)
	}
	if err != nil {
		err = p.failed(hook, err)
		out = Outcome{Log: out.Log, Took: out.Took, Memory: out.Memory}
	}
	p.settle(turn, err)
	return out, err
}

// enter asks the plugin's health whether a call may be made. Calls of tools have no
// part in it: what a model gives them must not silence a plugin at other hooks.
func (p *plugin) enter(hook Hook, now time.Time) (turn, error) {
	if hook == ToolsCall {
		return turnNone, nil
	}
	return p.health.enter(now)
}

// view is a document as this plugin sees it.
func (p *plugin) view(d *document) *view {
	v := &view{document: d, config: p.settings}
	if len(p.config.Data) > 0 && p.host.options.Data != nil {
		v.data = sync.OnceValue(p.data)
	}
	return v
}

// data is the part of the policies' data that it sees. Data that cannot be written
// is no JSON, so that the call fails when it is asked for.
func (p *plugin) data() *tape {
	raw, err := selectData(p.host.options.Data(), p.config.Data)
	if err != nil {
		p.host.log.Warn("plugin data", "plugin", p.config.Name, "error", err)
	}
	return newTape(raw)
}

// attempt waits for a slot and calls.
func (p *plugin) attempt(ctx context.Context, turn turn, x *exchange) (Outcome, error) {
	lane, err := p.slot(ctx, x.hook)
	if err != nil {
		return Outcome{}, &hostFault{err}
	}
	defer lane.release()
	if err := p.health.remains(turn); err != nil {
		return Outcome{}, err
	}
	limit := p.config.Timeout
	if x.hook == ToolsCall {
		limit = p.config.ToolTimeout
	}
	x.began = p.host.now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, timedOut(limit))
	defer cancel()
	p.starts(x, cancel)
	defer p.ends(x)
	return p.run(ctx, x)
}

// slot waits for a slot of the lane that calls of a hook take.
func (p *plugin) slot(ctx context.Context, hook Hook) (l lane, err error) {
	switch ended := p.host.ended; hook {
	case ToolsCall:
		l = p.lanes[1]
		err = l.take(ctx, ended)
	case SessionEvent:
		l = p.lanes[2]
		err = l.queue(ctx, ended, nil) // one that failed would be lost for good
	default:
		l = p.lanes[0]
		err = l.take(ctx, ended)
	}
	return l, err
}

// run calls the guest once, in an instance that is taken for it.
func (p *plugin) run(ctx context.Context, x *exchange) (out Outcome, err error) {
	i, err := p.instance(ctx)
	if err != nil {
		return Outcome{}, err
	}
	err = i.call(ctx, x)
	out = x.outcome()
	out.Memory = i.size()
	x.log.tell(ctx, p.host.log, p.config.Name, x.hook)
	p.spare.done(i, err == nil && p.config.Reuse)
	return out, err
}

// instance takes a spare one, or makes one in the call's own time.
func (p *plugin) instance(ctx context.Context) (*instance, error) {
	if i := p.spare.take(); i != nil {
		return i, nil
	}
	return p.make(ctx)
}

// make makes an instance. What it logs while it begins goes to the log.
func (p *plugin) make(ctx context.Context) (*instance, error) {
	x := &exchange{plugin: p}
	i, err := p.code.instantiate(ctx, x)
	x.log.tell(ctx, p.host.log, p.config.Name, "_initialize")
	if err != nil {
		return nil, fmt.Errorf("making an instance: %w", err)
	}
	return i, nil
}

// starts notes a call, which is cancelled at once where all are to end: the one that
// cancels them may have been here already.
func (p *plugin) starts(x *exchange, cancel context.CancelFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = make(map[*exchange]context.CancelFunc)
	}
	p.running[x] = cancel
	select {
	case <-p.host.ended:
		cancel()
	default:
	}
}

func (p *plugin) ends(x *exchange) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, x)
}

// cancel ends the calls in flight.
func (p *plugin) cancel() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, cancel := range p.running {
		cancel()
	}
}

func (x *exchange) outcome() Outcome {
	return Outcome{
		Verdict: x.verdict, Reason: x.reason, Annotations: x.notes, Output: json.RawMessage(x.output), Log: x.log.texts(),
	}
}

// callError is a failed call, as it is told.
type callError struct {
	plugin  string
	hook    Hook
	onError OnError
	cause   error
}

func (e *callError) Error() string {
	text := fmt.Sprintf("plugin %q: %v in %s", e.plugin, e.cause, e.hook)
	if e.hook == ToolsCall || e.hook == ToolsList {
		return text // the error is the answer
	}
	return text + " (on_error = " + string(e.onError) + ")"
}

func (e *callError) Unwrap() error { return e.cause }

func (p *plugin) failed(hook Hook, cause error) error {
	return &callError{plugin: p.config.Name, hook: hook, onError: p.config.OnError, cause: cause}
}

// hostFault is a failure that tells nothing of the plugin: its health is not touched.
type hostFault struct{ error }

func (e *hostFault) Unwrap() error { return e.error }

// timedOut is the cause of a call's end at its limit.
type timedOut time.Duration

func (t timedOut) Error() string { return "stopped after " + time.Duration(t).String() }

// settle keeps the plugin's health by how a call ended.
func (p *plugin) settle(turn turn, err error) {
	if turn == turnNone {
		return
	}
	var theirs *hostFault
	result := succeeded
	switch {
	case errors.As(err, &theirs):
		result = neutral
	case err != nil:
		result = failing
	}
	p.telling.Lock()
	defer p.telling.Unlock()
	if kind := p.health.leave(p.host.now(), turn, result, err); kind != "" && !p.gone {
		p.host.tell(kind, p)
	}
}
