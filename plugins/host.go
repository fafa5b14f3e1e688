package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Host holds the plugins in force. It is safe for concurrent use.
type Host struct {
	options    Options // without Plugins
	slots      slots   // of calls, see [lane]
	toolSlots  slots   // of tools_call
	eventSlots slots   // of session_event: slow ones must not hold up verdicts
	warming    slots   // of instances made ahead
	now        func() time.Time
	log        *slog.Logger
	idle       atomic.Int64 // bytes that instances that wait have
	held       atomic.Int64 // bytes of text that streams hold back
	memories   memories     // of instances
	kv         kvStore
	events     *observation

	loading sync.Mutex    // one Reload or Close at a time
	ended   chan struct{} // closed when calls are to end, see Close
	freed   chan struct{} // closed at the end of Close

	mu          sync.Mutex
	current     *set
	live        map[*plugin]bool   // all that are not closed, in force or not
	left        sync.WaitGroup     // sets that are still used
	stopLoading context.CancelFunc // of a Reload that is under way; nil: none is
	closed      bool
}

var (
	_ permission.Annotator = (*Host)(nil)
	_ admission.Annotator  = (*Host)(nil)
	_ event.Redactor       = (*Host)(nil)
	_ event.Streamer       = (*Host)(nil)
	_ event.Observer       = (*Host)(nil)
)

var errClosed = errors.New("plugins: the host is closed")

func newHost(o Options) *Host {
	o.Plugins = nil
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	half := max(parallel()/2, 2)
	h := &Host{
		options: o, now: time.Now, log: o.Logger,
		slots: newSlots(parallel()), toolSlots: newSlots(ToolSlots), eventSlots: newSlots(half), warming: newSlots(parallel() / 2),
		ended: make(chan struct{}), freed: make(chan struct{}), live: make(map[*plugin]bool),
	}
	h.events = newObservation(h.deliver, h.kv.drop, h.lost)
	return h
}

// tell tells news. The caller holds p.telling.
func (h *Host) tell(kind NewsKind, p *plugin) {
	if h.options.Told == nil {
		return
	}
	info := p.info()
	h.options.Told(News{Kind: kind, Plugin: info, Error: info.Error})
}

// inForce are the plugins in the order they are called in, for a look. Who calls
// one takes it from hold.
func (h *Host) inForce() []*plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current.plugins
}

// at are those of inForce that are called at a hook.
func (h *Host) at(hook Hook) []*plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current.at[hook]
}

// hold gives the plugins that are called at a hook. None of them is closed before
// release is called, which has to be.
func (h *Host) hold(hook Hook) (plugins []*plugin, release func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.current
	if len(s.at[hook]) == 0 || s.gone {
		return s.at[hook], func() {} // nobody calls them: the host is closed
	}
	s.users++
	return s.at[hook], func() { h.release(s) }
}

// Plugins tells of all plugins, in the order they are called in.
func (h *Host) Plugins() []Info {
	var all []Info
	for _, p := range h.inForce() {
		all = append(all, p.info())
	}
	return all
}

// Revision names the plugins in force with their settings; empty: there are none.
func (h *Host) Revision() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.current.revision
}

func (p *plugin) info() Info {
	healthy, last := p.health.state()
	info := Info{
		Name: p.config.Name, Path: p.config.Path, SHA256: p.sha256, Pinned: p.config.SHA256 != "",
		Hooks: p.hooks, Order: p.config.Order, Binding: p.config.Binding, OnError: p.config.OnError,
		Timeout: p.config.Timeout, Memory: p.config.Memory, Healthy: healthy, Error: last, Compiled: p.compiled,
	}
	for _, t := range p.tools {
		info.Tools = append(info.Tools, t.Name)
	}
	return info
}

func (p *plugin) healthy() bool {
	ok, _ := p.health.state()
	return ok
}

// Outcome is what one call gave.
type Outcome struct {
	Verdict     permission.Effect // Abstain: it passed
	Reason      string
	Annotations map[string]json.RawMessage
	Output      json.RawMessage // nil: none
	Log         []string        // "level: text"
	Took        time.Duration   // waiting for a slot included
	Memory      int64           // bytes of linear memory at its end
}

// Try calls one hook with a document given as a JSON object, as the commands
// "plugin run" and "plugin check" do: members that are missing are filled in. The
// error is why the outcome would not count; on_error is not applied.
func (h *Host) Try(ctx context.Context, name string, hook Hook, document json.RawMessage) (Outcome, error) {
	plugins, release := h.hold(hook)
	defer release()
	i := slices.IndexFunc(plugins, func(p *plugin) bool { return p.config.Name == name })
	if i < 0 {
		return Outcome{}, fmt.Errorf("plugin %q: is not loaded, or not called in %s", name, hook)
	}
	d, err := triedDocument(hook, document)
	if err != nil {
		return Outcome{}, fmt.Errorf("plugin %q: %w", name, err)
	}
	session, _, _ := (&view{document: d}).get("/session/id")
	if h.options.Trying {
		plugins[i].health.forget()
	}
	return plugins[i].callFor(ctx, hook, d, string(session), func(o Outcome) error { return checkOutput(plugins[i], hook, d, o.Output) })
}

func triedDocument(hook Hook, object json.RawMessage) (*document, error) {
	if len(object) == 0 {
		object = json.RawMessage(`{}`)
	}
	if err := checkJSON(object); err != nil {
		return nil, fmt.Errorf("document %w", err)
	}
	m := map[string]json.RawMessage{}
	if !rawjson.Each(object, func(literal, value []byte) {
		if name, err := rawjson.Name(literal); err == nil {
			m[name] = value
		}
	}) {
		return nil, fmt.Errorf("document is %s, want an object", rawjson.Kind(object))
	}
	maps.DeleteFunc(m, func(name string, _ json.RawMessage) bool { return name == "abi" || name == "hook" })
	return newDocument(hook, m), nil
}
