package decisionlog

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Cover covers what policies say is secret in an audit log. It is given the parts
// of an event as one object, with the members "input", "result", "rule_labels",
// "error", "custom" and "requested_by" that the event has, and returns an object
// with the same members and pointers to what was covered. It runs on the log's
// own goroutine.
type Cover func(ctx context.Context, parts json.RawMessage) (json.RawMessage, []redact.Finding, error)

// CoverWith has f cover each event from now on, beside the scanner of [Options].
// An event that f fails on is written without what it was to cover.
func (l *Log) CoverWith(f Cover) { l.plan.Store(&f) }

// cover covers an event and returns its line.
func (l *Log) cover(ev *Event) ([]byte, error) {
	line, err := ev.cover(l.options.Scanner)
	f := l.plan.Load()
	if err != nil || f == nil {
		return line, err
	}
	changed, err := ev.planned(*f)
	if err != nil {
		l.options.Logger.Error("decision log: a redaction plan failed, so the event is written without what it covers", "decision", ev.DecisionID, "error", err)
		ev.strip("a redaction plan failed; the server's own log says why")
	}
	if changed || err != nil {
		return encode(ev)
	}
	return line, nil
}

// plannedParts are the parts a plan is shown: not the labels, which are the
// server's own.
var plannedParts = []string{"input", "result", "rule_labels", "error", "custom", "requested_by"}

// planned has a plan cover the parts of an event, and notes where.
func (ev *Event) planned(cover Cover) (changed bool, err error) {
	parts := map[string]json.RawMessage{}
	for _, name := range plannedParts {
		p, _, err := ev.part("/" + name)
		if err != nil {
			return false, err
		}
		raw, err := p.read()
		if err != nil {
			return false, err
		}
		if len(raw) > 0 {
			parts[name] = raw
		}
	}
	whole, err := encode(parts)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), maskTime)
	defer cancel()
	out, findings, err := safely(ctx, cover, whole)
	if err != nil || len(findings) == 0 {
		return false, err
	}
	return true, ev.take(parts, out, findings)
}

// safely runs a plan; one that panics fails, and the log goes on.
func safely(ctx context.Context, cover Cover, parts json.RawMessage) (out json.RawMessage, findings []redact.Finding, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return cover(ctx, parts)
}

// take puts covered parts in the place of the parts.
func (ev *Event) take(parts map[string]json.RawMessage, out json.RawMessage, findings []redact.Finding) error {
	var fresh map[string]json.RawMessage
	if err := decode(out, &fresh); err != nil {
		return fmt.Errorf("covered parts: %w", err)
	}
	for name := range parts {
		p, _, err := ev.part("/" + name)
		if err != nil {
			return err
		}
		if len(fresh[name]) == 0 {
			return fmt.Errorf("covered parts: %q is missing", name)
		}
		if err := p.write(fresh[name]); err != nil {
			return fmt.Errorf("covered parts: %s: %w", name, err)
		}
	}
	for _, f := range findings {
		ev.note(&ev.Masked, f.Pointer)
	}
	return nil
}
