package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// view shows a session's events, one line each, as they come.
type view struct {
	out    io.Writer
	json   bool
	full   bool         // nothing is shortened or left out
	cursor atomic.Int64 // of the next event to show
	tally  tally
	about  string // what a result decides whose event does not say; empty: it does
}

// tally counts what the demo sums up.
type tally struct {
	allowed, denied, asked []string // tool and what it was about
	redactions             map[string]int
}

func newView(out io.Writer, asJSON bool) *view {
	return &view{out: out, json: asJSON, tally: tally{redactions: map[string]int{}}}
}

// pageSize is how many events are read at once.
const pageSize = 100

// show prints what is new and reports whether more is there.
func (v *view) show(session *engine.Session) bool {
	cursor := v.cursor.Load()
	page := session.Events(&cursor, pageSize)
	if page.ResetTo != nil && *page.ResetTo > cursor {
		v.line(time.Now(), "…", fmt.Sprintf("events %d to %d were dropped from memory", cursor, *page.ResetTo-1))
	}
	for _, e := range page.Events {
		v.event(e)
	}
	v.cursor.Store(page.Next)
	return page.Truncated
}

func (v *view) event(e event.Event) {
	for _, r := range e.Redactions {
		v.tally.redactions[r.Detector] += r.Count
	}
	if v.json {
		v.object(e)
		return
	}
	v.text(e)
	for _, r := range e.Redactions {
		v.line(e.Timestamp, "■", fmt.Sprintf("redacted %s ×%d in %s", r.Detector, r.Count, e.Type))
	}
}

func (v *view) object(e event.Event) {
	encoder := json.NewEncoder(v.out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(e); err != nil {
		fmt.Fprintf(v.out, "{\"type\":\"error\",\"data\":{\"message\":%q}}\n", err.Error())
	}
}

// maxShown bounds a line of the timeline, in characters.
const maxShown = 400

func (v *view) line(at time.Time, mark, text string) {
	shown := shorten(escapeControl(text), maxShown)
	if v.full { // further lines are indented, so that none can pass for an event
		shown = strings.ReplaceAll(escapeLines(text), "\n", "\n           ")
	}
	fmt.Fprintf(v.out, "%s %s %s\n", at.Local().Format(time.TimeOnly), mark, shown)
}

// finish prints the end of the turn and returns the exit code.
func (v *view) finish(info engine.Info) int {
	code := exitOK
	if r := info.Result; r == nil || r.IsError || info.State == engine.Failed || info.State == engine.Cancelled {
		code = exitTurnFailed
	}
	if !v.json && info.Result != nil {
		r := info.Result
		v.line(time.Now(), "●", fmt.Sprintf("%s after %d model turns, $%.4f, %s", info.State, r.NumTurns, r.TotalCostUSD,
			(time.Duration(r.DurationMS)*time.Millisecond).Round(time.Millisecond)))
	}
	return code
}
