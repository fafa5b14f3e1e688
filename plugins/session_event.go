package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Observe calls session_event of the plugins that want events of the kind, later
// and in order.
func (h *Host) Observe(o *event.Origin, e event.Event) {
	if o == nil {
		return
	}
	h.kv.began(o.SessionID)
	var doc *document
	for _, p := range h.at(SessionEvent) {
		if !p.config.wants(e.Type) {
			continue
		}
		if doc == nil {
			doc = newDocument(SessionEvent, eventMembers(o, &e))
		}
		h.events.add(p.config.Name, observed{session: o.SessionID, doc: doc, bytes: len(e.Data)})
	}
}

// wants says whether a plugin is told of events of a kind.
func (c *Config) wants(kind event.Kind) bool {
	if c.Events == nil {
		return kind != event.Partial
	}
	return slices.Contains(c.Events, kind)
}

// eventFacts is /event.
type eventFacts struct {
	ID        int64           `json:"id"`
	Type      event.Kind      `json:"type"`
	Timestamp string          `json:"timestamp"`
	Data      json.RawMessage `json:"data,omitempty"`
}

func eventMembers(o *event.Origin, e *event.Event) members {
	m := members{}
	m.origin(o)
	m.put("event", eventFacts{e.ID, e.Type, e.Timestamp.UTC().Format(time.RFC3339Nano), e.Data})
	return m
}

// Ended forgets what plugins keep for a session, once they were told of its events.
// A session that is resumed later begins with nothing kept.
func (h *Host) Ended(sessionID string) {
	h.kv.over(sessionID)
	for _, p := range h.inForce() {
		h.events.add(p.config.Name, observed{session: sessionID, ended: true})
	}
}

// deliver tells one plugin of one event. A failure that is not skipped makes the
// plugin's verdicts of the session fail: it may have missed what they depend on.
func (h *Host) deliver(ctx context.Context, name string, e observed) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("plugin %q: %s: panic: %v", name, SessionEvent, v)
		}
	}()
	plugins, release := h.hold(SessionEvent)
	defer release()
	for _, p := range plugins {
		if p.config.Name == name {
			_, err = p.call(ctx, SessionEvent, e.doc, e.session)
		}
	}
	return err
}

// lost tells the log that a plugin misses events of a session; once for each.
func (h *Host) lost(scope kvScope, why string) {
	h.log.Warn("plugin misses events of a session", slog.String("plugin", scope.plugin), slog.String("session", scope.session), slog.String("error", visible(why)))
}

// upToDate waits until a plugin was told of the events of a session before now, if
// it could remember any of them.
func (h *Host) upToDate(ctx context.Context, p *plugin, session string) error {
	if session == "" || !p.config.KV && !p.config.Reuse {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, MaxBehind, fmt.Errorf("waited %s", MaxBehind))
	defer cancel()
	return h.events.wait(ctx, kvScope{session, p.config.Name})
}
