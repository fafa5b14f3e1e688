package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// heldStore is a store of what a test gives it.
type heldStore struct {
	event.Store // what the commands do not call
	records     []event.SessionRecord
	events      map[string][]event.Event
	page        int // events of one page
}

func (h *heldStore) Sessions() ([]event.SessionRecord, error) { return h.records, nil }

func (h *heldStore) Session(id string) (event.SessionRecord, error) {
	for _, r := range h.records {
		if r.ID == id {
			return r, nil
		}
	}
	return event.SessionRecord{}, event.ErrNotStored
}

func (h *heldStore) Read(id string, w event.Window) (event.Page, error) {
	p := event.Page{Next: *w.From}
	for _, e := range h.events[id] {
		switch {
		case e.ID < *w.From:
		case len(p.Events) == h.page:
			p.Truncated = true
			return p, nil
		default:
			p.Events, p.Next = append(p.Events, e), e.ID+1
		}
	}
	return p, nil
}

func (h *heldStore) Close() error { return nil }

var testDay = time.Date(2026, 3, 4, 5, 6, 7, 0, time.Local)

func told(id int64, kind event.Kind, data string) event.Event {
	return event.Event{ID: id, Type: kind, Data: json.RawMessage(data), Timestamp: testDay}
}

func TestAsKept(t *testing.T) {
	for _, tt := range []struct {
		state string
		live  bool
		want  string
	}{
		{"running", true, "running"},
		{"running", false, "error (server ended)"},
		{"waiting_permission", true, "waiting_permission"},
		{"waiting_permission", false, "error (server ended)"},
		{"idle", true, "idle (live)"},
		{"idle", false, "idle"},
		{"error", false, "error"},
		{"cancelled", false, "cancelled"},
		{"stopped", false, "cancelled (stopped)"},
		{"stopped", true, "cancelled (stopped)"},
	} {
		r := event.SessionRecord{State: tt.state, Live: tt.live, Final: tt.state == "cancelled"}
		if tt.state == "stopped" {
			r.State = "cancelled"
		}
		s := asKept(r)
		if s.word() != tt.want {
			t.Errorf("%s, live %v: %q, want %q", tt.state, tt.live, s.word(), tt.want)
		}
		if s.busy() && !tt.live {
			t.Errorf("%s of a server that is gone counts as busy", tt.state)
		}
	}
}

func TestPick(t *testing.T) {
	c := &command{stderr: new(bytes.Buffer)}
	store := &heldStore{records: []event.SessionRecord{
		{ID: "aaaa1111", Updated: testDay}, {ID: "aaaa2222", Updated: testDay.Add(time.Hour)}, {ID: "bbbb", Updated: testDay.Add(-time.Hour)}, {ID: "bb", Updated: testDay},
	}}
	for id, want := range map[string]string{
		"aaaa1111": "aaaa1111", "aaaa1": "aaaa1111", "last": "aaaa2222", "bbb": "bbbb", "bb": "bb",
		"aaaa": `session "aaaa" fits 2 sessions, write more of it: aaaa2222, aaaa1111`,
		"x":    `session "x" is not kept; gatehouse session list --all shows those that are`,
	} {
		s, err := c.pick(store, id)
		got := s.ID
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if _, err := c.pick(&heldStore{}, "last"); !errors.Is(err, errNoSessions) {
		t.Errorf("without sessions: %v", err)
	}
}

func TestShortLength(t *testing.T) {
	for _, tt := range []struct {
		ids  []string
		want int
	}{
		{nil, 8}, {[]string{"0123456789"}, 8}, {[]string{"0123456789", "0123456700"}, 9}, {[]string{"0123456789ab", "b", "0123456789aa"}, 12},
	} {
		var all []keptSession
		for _, id := range tt.ids {
			all = append(all, keptSession{ID: id})
		}
		if got := shortLength(all); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.ids, got, tt.want)
		}
	}
}

func TestOneUnit(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 119 * time.Minute: "1h", 47 * time.Hour: "47h", 49 * time.Hour: "2d",
	} {
		if got := oneUnit(d); got != want {
			t.Errorf("%s: %s, want %s", d, got, want)
		}
	}
}

const (
	askedEvent  = `{"type":"permission","requestId":"r1","toolName":"Bash","summary":"Bash: git push","rule":"git.push","decisionReason":"it publishes","input":{"command":"git push"}}`
	deniedEvent = `{"requestId":"r1","toolName":"Bash","input":{"command":"git push"},"behavior":"deny","source":"respond","rule":"git.push","message":"no\u001b[2J"}`
	endedEvent  = `{"numTurns":2,"totalCostUsd":0.5,"durationMs":1500}`
)

// showText is what show prints of the events.
func showText(t *testing.T, o *sessionOptions, r event.SessionRecord, page int, events ...event.Event) string {
	t.Helper()
	var out bytes.Buffer
	v := newKeptView(&out, o, 0)
	if err := v.read(&heldStore{events: map[string][]event.Event{r.ID: events}, page: page}, r.ID); err != nil {
		t.Fatal(err)
	}
	v.ended(asKept(r))
	return out.String()
}

func TestKeptView(t *testing.T) {
	asked, denied, ended := told(3, event.PermissionAsked, askedEvent), told(4, event.PermissionResult, deniedEvent), told(6, event.Result, endedEvent)
	result := told(5, event.ToolResult, `{"content":"line one\nline two","is_error":true}`)
	const question = "05:06:07 ? Bash: git push  asked by rule git.push: it publishes\n"
	const refusal = `05:06:07 ✗ Bash: git push  denied by respond, rule git.push: no\x1b[2J` + "\n"
	const end = "05:06:07 ● turn ended after 2 model turns, $0.5000 in all, 1.5s\n"
	for _, tt := range []struct {
		name   string
		o      sessionOptions
		r      event.SessionRecord
		events []event.Event
		want   string
	}{
		{"all of it", sessionOptions{}, event.SessionRecord{ID: "s", State: "idle"}, []event.Event{asked, denied, result, ended},
			"05:06:07 … events 0 to 2 are not kept\n2026-03-04\n" + question + refusal + end},
		{"a gap inside", sessionOptions{}, event.SessionRecord{ID: "s"}, []event.Event{told(0, event.Progress, "{}"), ended},
			"2026-03-04\n05:06:07 … events 1 to 5 are not kept\n" + end},
		{"left open", sessionOptions{}, event.SessionRecord{ID: "s", State: "waiting_permission", Updated: testDay}, []event.Event{told(0, event.PermissionAsked, askedEvent)},
			"2026-03-04\n" + question + "05:06:07 ✗ Bash: git push  denied: its server ended before there was an answer\n05:06:07 ! the server ended while the session was at work\n"},
		{"open with a live server", sessionOptions{}, event.SessionRecord{ID: "s", State: "waiting_permission", Live: true}, []event.Event{told(0, event.PermissionAsked, askedEvent)},
			"2026-03-04\n" + question},
		{"full", sessionOptions{full: true}, event.SessionRecord{ID: "s"}, []event.Event{told(0, event.ToolResult, string(result.Data)), told(1, event.Progress, `{"type":"init"}`)},
			"2026-03-04\n05:06:07 ← line one\n           line two\n05:06:07 · progress {\"type\":\"init\"}\n"},
		{"json", sessionOptions{json: true}, event.SessionRecord{ID: "s", State: "running"}, []event.Event{told(1, event.Progress, "{}")},
			`{"gap":{"from":0,"to":0}}` + "\n" + `{"id":1,"type":"progress","data":{},"timestamp":"` + testDay.Format(time.RFC3339) + "\"}\n"},
	} {
		for _, page := range []int{1, 2, 100} {
			if got := showText(t, &tt.o, tt.r, page, tt.events...); got != tt.want {
				t.Errorf("%s, %d events a page:\n%swant\n%s", tt.name, page, got, tt.want)
			}
		}
	}
}

func TestListTable(t *testing.T) {
	var out bytes.Buffer
	c := &command{stdout: &out, env: environment{"HOME=/nowhere/me"}}
	now := time.Now()
	c.listTable([]keptSession{
		{ID: "0123456789", State: "idle", Updated: now.Add(-90 * time.Minute), Turns: 2, CostUSD: 0.126, Cwd: "/nowhere/me/code/app", Client: "cli\x1bent", Title: "Fix\nthe  bug"},
		{ID: "abcdefghij", State: "running", Live: true, Updated: now, Cwd: "/elsewhere/" + strings.Repeat("x", 40), Title: strings.Repeat("long ", 30)},
	}, 8)
	lines := strings.Split(out.String(), "\n")
	got := [][]string{strings.Fields(lines[0]), strings.Fields(lines[1])}
	want := [][]string{
		{"ID", "STATE", "AGE", "TURNS", "COST", "FOLDER", "CLIENT", "PROMPT"},
		{"01234567", "idle", "1h", "2", "$0.13", "~/code/app", `cli\x1bent`, "Fix", "the", "bug"},
	}
	for i := range want {
		if !slices.Equal(got[i], want[i]) {
			t.Errorf("line %d: %q, want %q", i, got[i], want[i])
		}
	}
	if !strings.Contains(lines[2], "  …"+strings.Repeat("x", 31)+"  -  ") || !strings.HasSuffix(lines[2], "…") {
		t.Errorf("line 2: %q", lines[2])
	}
}
