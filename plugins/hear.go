package plugins

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// MaxBehind is how long a verdict waits for events of its session that the plugin
// was not told of yet.
const MaxBehind = 10 * time.Second

// question is one call or request that plugins judge. Its documents are made once
// for all of them.
type question struct {
	hook    Hook
	session string // scope of kv; empty: none
	exact   *document
	covered func() (*document, error) // for plugins with Redacted
}

// ask begins a question. sort says how its document is covered.
func (h *Host) ask(ctx context.Context, hook Hook, m members, session string, sort event.Payload) *question {
	q := &question{hook: hook, session: session, exact: newDocument(hook, m)}
	q.covered = sync.OnceValues(func() (*document, error) { return h.cover(ctx, hook, m, sort) })
	return q
}

// cover is the document with its secrets covered, and what was covered listed in it.
func (h *Host) cover(ctx context.Context, hook Hook, m members, sort event.Payload) (*document, error) {
	if h.options.Cover == nil {
		return nil, errCover
	}
	var err error
	if sort.Data, err = m.join(); err != nil {
		return nil, err
	}
	sort.Sink = event.SinkPlugin
	data, found, ok := event.Redact(ctx, []event.Redactor{h.options.Cover}, sort)
	if !ok {
		return nil, errCover
	}
	covered, err := split(data)
	if err != nil {
		return nil, err
	}
	list := make([]coveredPart, len(found))
	for i, f := range found {
		list[i] = coveredPart(f)
	}
	covered.put("redactions", list)
	return newDocument(hook, covered), nil
}

// hear asks plugins beside one another; how many run at once is up to their slots.
// Each is heard whatever the others say or do.
func (h *Host) hear(ctx context.Context, plugins []*plugin, q *question) []permission.Annotation {
	said := make([]permission.Annotation, len(plugins))
	if len(plugins) == 1 {
		said[0] = h.hearOne(ctx, plugins[0], q)
		return said
	}
	var all sync.WaitGroup
	for i, p := range plugins {
		all.Go(func() { said[i] = h.hearOne(ctx, p, q) }) // ends with the call's deadline at the latest
	}
	all.Wait()
	return said
}

func (h *Host) hearOne(ctx context.Context, p *plugin, q *question) permission.Annotation {
	began := time.Now()
	o, err := h.judge(ctx, p, q)
	a := permission.Annotation{Plugin: p.config.Name, SHA256: p.sha256, Took: time.Since(began)}
	if err != nil {
		a.Error, a.Verdict = visible(err.Error()), p.config.OnError.verdict()
		a.Binding = a.Verdict != permission.Abstain
	} else {
		a.Verdict, a.Reason, a.Values = o.Verdict, o.Reason, o.Annotations
		a.Binding = p.config.Binding != BindingNone && a.Verdict > permission.Allow
	}
	if a.Verdict == permission.Ask && q.hook == SessionAdmit && a.Error != "" {
		a.Verdict = permission.Deny
	}
	return a
}

// judge asks one plugin. A panic of ours is its failure: it must not be heard as
// silence, and not stop the others.
func (h *Host) judge(ctx context.Context, p *plugin, q *question) (o Outcome, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("plugin %q: %s: panic: %v", p.config.Name, q.hook, v)
		}
	}()
	doc := q.exact
	if p.config.Redacted {
		if doc, err = q.covered(); err != nil {
			return o, fmt.Errorf("plugin %q: %w", p.config.Name, err)
		}
	}
	if err := h.upToDate(ctx, p, q.session); err != nil {
		return o, fmt.Errorf("plugin %q: %w", p.config.Name, err)
	}
	return p.call(ctx, q.hook, doc, q.session)
}

// verdict is what a failure means. Any other value denies, as the zero one does.
func (e OnError) verdict() permission.Effect {
	switch e {
	case ErrorSkips:
		return permission.Abstain
	case ErrorAsks:
		return permission.Ask
	}
	return permission.Deny
}
