package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// keptView shows the events of a session that is read from disk: as run does,
// and besides what nobody was there to see, such as gaps and the ends of turns.
type keptView struct {
	*view
	next int64             // id of the event that should come
	day  string            // of the last event
	open map[string]string // questions without an answer so far, by request id; bounded by what a session may ask at once
}

func newKeptView(out io.Writer, o *sessionOptions, from int64) *keptView {
	v := newView(out, o.json)
	v.full = o.full
	return &keptView{view: v, next: from, open: map[string]string{}}
}

// read shows everything there is from the next event on.
func (v *keptView) read(store event.Store, id string) error {
	for {
		from := v.next
		p, err := store.Read(id, event.Window{From: &from})
		if err != nil {
			return err
		}
		for _, e := range p.Events {
			v.gap(e.ID, e.Timestamp)
			v.one(e)
			v.next = e.ID + 1
		}
		if !p.Truncated || p.Next <= from {
			v.gap(p.Next, time.Now())
			return nil
		}
	}
}

// gap tells of events that are gone, up to the one that comes.
func (v *keptView) gap(upTo int64, at time.Time) {
	if upTo <= v.next {
		return
	}
	if v.json {
		fmt.Fprintf(v.out, "{\"gap\":{\"from\":%d,\"to\":%d}}\n", v.next, upTo-1)
	} else {
		v.line(at, "…", fmt.Sprintf("events %d to %d are not kept", v.next, upTo-1))
	}
	v.next = upTo
}

func (v *keptView) one(e event.Event) {
	var p struct {
		payload
		RequestID    string  `json:"requestId"`
		NumTurns     int     `json:"numTurns"`
		TotalCostUSD float64 `json:"totalCostUsd"`
		DurationMS   int64   `json:"durationMs"`
	}
	_ = json.Unmarshal(e.Data, &p) // the timeline tells of what cannot be read
	switch e.Type {
	case event.PermissionAsked:
		v.open[p.RequestID] = p.Summary
	case event.PermissionResult:
		if v.about = ""; len(p.Input) == 0 { // of a question that a restart ended
			v.about = v.open[p.RequestID]
		}
		delete(v.open, p.RequestID)
	}
	if v.json {
		v.event(e)
		return
	}
	if day := e.Timestamp.Local().Format(time.DateOnly); day != v.day {
		v.day = day
		fmt.Fprintf(v.out, "%s\n", day)
	}
	v.event(e)
	if v.full {
		v.rest(e, p.payload)
	}
	if e.Type.Terminal() && (e.Type != event.Error || p.NumTurns > 0) { // else its text says all
		v.line(e.Timestamp, "●", fmt.Sprintf("turn ended after %s, $%.4f in all, %s", plural(p.NumTurns, "model turn"), p.TotalCostUSD,
			(time.Duration(p.DurationMS)*time.Millisecond).Round(time.Millisecond)))
	}
}

// rest shows what the timeline leaves out of an event.
func (v *keptView) rest(e event.Event, p payload) {
	switch e.Type {
	case event.PermissionAsked, event.PermissionResult:
		if len(p.Input) > 0 {
			v.line(e.Timestamp, " ", "input "+plain(p.Input))
		}
	case event.ToolResult:
		v.line(e.Timestamp, "←", plain(p.Content))
	case event.Output:
		if len(texts(p.Message)) == 0 { // a call or a thought
			v.line(e.Timestamp, "·", "output "+plain(p.Message))
		}
	case event.Notice, event.Error:
	default:
		v.line(e.Timestamp, "·", string(e.Type)+" "+plain(e.Data))
	}
}

// plain is a JSON text as it is, anything else as compact JSON.
func plain(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return string(raw)
	}
	return out.String()
}

// ended tells how a session that no server has any more came to its end, if its
// own events do not.
func (v *keptView) ended(s keptSession) {
	if v.json || s.Live {
		return
	}
	for _, summary := range v.open {
		v.line(s.Updated, "✗", summary+"  denied: its server ended before there was an answer")
	}
	if s.Note != "" {
		v.line(s.Updated, "!", "the server ended while the session was at work")
	}
}

// header prints the facts of a session.
func (c *command) header(s keptSession) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(c.stdout, "%-9s %s\n", name, escapeControl(text))
		}
	}
	now := time.Now()
	line("session", s.ID)
	line("copy of", s.Parent)
	line("state", s.word())
	line("folder", c.env.shortened(s.Cwd))
	line("client", s.Client)
	line("server", s.Server)
	line("started", fmt.Sprintf("%s, changed %s ago", s.Created.Local().Format(time.DateTime), oneUnit(now.Sub(s.Updated))))
	line("turns", fmt.Sprintf("%d, $%.4f", s.Turns, s.CostUSD))
	line("last tool", s.LastTool)
	line("prompt", s.Title)
	fmt.Fprintln(c.stdout)
}

// busy reports a session at work.
func (s keptSession) busy() bool {
	return s.Live && (s.State == engine.Running.String() || s.State == engine.Waiting.String())
}
