package mcpserver

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// fakeSession is a session whose history the test writes.
type fakeSession struct {
	log *event.Log

	mu      sync.Mutex
	info    engine.Info
	pending []engine.Action
	changed chan struct{}
}

func newFake(state engine.State) *fakeSession {
	return &fakeSession{
		log: event.NewLog(0), changed: make(chan struct{}),
		info: engine.Info{ID: "s", State: state, Tools: []string{"Bash", "mcp__x__y"}},
	}
}

func (f *fakeSession) Events(cursor *int64, max int) event.Page { return f.log.After(cursor, max) }

func (f *fakeSession) Pending() []engine.Action {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]engine.Action(nil), f.pending...)
}

func (*fakeSession) ResumeToken() string { return "" }

func (f *fakeSession) Info() engine.Info {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := f.info
	if next, _ := f.log.Next(); next > 0 {
		last := next - 1
		i.LastEventID = &last
	}
	return i
}

func (f *fakeSession) Wait(ctx context.Context, after int64) {
	for {
		f.mu.Lock()
		news := len(f.pending) > 0 || !f.info.State.Busy()
		changed := f.changed
		f.mu.Unlock()
		next, appended := f.log.Next()
		if news || next > after {
			return
		}
		select {
		case <-appended:
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (f *fakeSession) add(kind event.Kind, data string) {
	f.log.Append(context.Background(), kind, json.RawMessage(data))
}

func (f *fakeSession) set(change func(*fakeSession)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
	close(f.changed)
	f.changed = make(chan struct{})
}

// optionsOf reads raw as the arguments of a poll.
func optionsOf(t *testing.T, raw string) options {
	t.Helper()
	a, err := decodeArguments(json.RawMessage(raw), parameters("claude_code_check"))
	o := readOptions(&a)
	if err = first(err, a.err); err != nil {
		t.Fatal(err)
	}
	return o
}

const spoken = `{"type":"assistant","parent_tool_use_id":null,"message":{"id":"m","model":"x","role":"assistant","stop_reason":null,` +
	`"usage":{"input_tokens":12345678901234567890},"content":[{"type":"thinking","thinking":"<hm>","signature":"` + `sig"},` +
	`{"type":"tool_use","id":"t","name":"Write","input":{"n":1e2},"cache_control":{}}]}}`

const ended = `{"result":"ok","usage":{"a":1},"modelUsage":{"b":1},"structuredOutput":{"c":1}}`

func finished() *fakeSession {
	f := newFake(engine.Idle)
	f.add(event.Output, spoken)
	f.add(event.Progress, `{"type":"tool_progress"}`)
	f.add(event.Progress, `{"type":"status"}`)
	f.add(event.Result, `{"result":"first turn"}`)
	f.add(event.Result, ended)
	f.info.Result = &engine.Result{
		SessionID: "s", Result: "ok", Usage: json.RawMessage(`{"a":1}`),
		ModelUsage: json.RawMessage(`{"b":1}`), StructuredOutput: json.RawMessage(`{"c":1}`),
	}
	f.info.LastToolUseID = "t"
	return f
}

func TestPollModes(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		ids        []int64 // events shown
		next       int64   // -1: no nextCursor
		filtered   int
		has, hasNo []string
	}{
		{"minimal", `{}`, []int64{0, 2, 3}, 5, 2,
			[]string{`"role":"assistant"`, `"thinking":"<hm>"`, `"permissionDenials":[]`, `{"n":1e2}`},
			[]string{"signature", "cache_control", "12345678901234567890", `"model":`, `"usage"`, "structuredOutput", "pollInterval", "actions", "availableTools"}},
		{"full", `{"responseMode":"full"}`, []int64{0, 1, 2, 3, 4}, 5, 0,
			[]string{"signature", "12345678901234567890", `"usage":{"a":1}`, `"modelUsage":{"b":1}`, `"structuredOutput":{"c":1}`, `"lastEventId":4`, `"lastToolUseId":"t"`}, nil},
		{"cursor", `{"cursor":3}`, []int64{3}, 5, 1, nil, []string{"cursorResetTo"}},
		{"at the end", `{"cursor":5}`, nil, 5, 0, []string{`"events":[]`}, []string{"cursorResetTo"}},
		{"null cursor", `{"cursor":null,"maxEvents":1}`, []int64{0}, 2, 1, []string{`"truncated":true`, `"truncatedFields":["events"]`}, nil},
		{"beyond the end", `{"cursor":1000000000}`, nil, 5, 0, []string{`"cursorResetTo":5`}, nil},
		{"no events", `{"includeEvents":false}`, nil, -1, 0, []string{`"events":[]`}, []string{"nextCursor"}},
		{"no events, cursor", `{"includeEvents":false,"cursor":1}`, nil, 5, 0, nil, nil},
		{"terminal events", `{"includeTerminalEvents":true}`, []int64{0, 2, 3, 4}, 5, 1, []string{`"data":{"result":"ok"}`}, nil},
		{"no result keeps the event", `{"includeResult":false}`, []int64{0, 2, 3, 4}, 5, 1, nil, []string{"permissionDenials"}},
		{"usage", `{"includeUsage":true,"includeTools":true}`, []int64{0, 2, 3}, 5, 2,
			[]string{`"usage":{"a":1}`, `{"name":"Bash","description":"Run a shell command"}`, `{"name":"mcp__x__y","description":"mcp__x__y"}`}, []string{"modelUsage"}},
		{"full without usage", `{"responseMode":"full","includeUsage":false,"includeTerminalEvents":false}`, []int64{0, 1, 2, 3}, 5, 1, []string{"modelUsage"}, []string{`"usage":{"a"`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, news := read(finished(), optionsOf(t, tt.args))
			if !news {
				t.Error("an idle session is news")
			}
			b, err := encode(a)
			if err != nil {
				t.Fatal(err)
			}
			var ids []int64
			for _, e := range *a.Events {
				ids = append(ids, e.ID)
			}
			if len(ids) != len(tt.ids) || len(ids) > 0 && (ids[0] != tt.ids[0] || ids[len(ids)-1] != tt.ids[len(ids)-1]) {
				t.Errorf("events %v, want %v", ids, tt.ids)
			}
			if a.FilteredEvents != tt.filtered {
				t.Errorf("filtered %d, want %d", a.FilteredEvents, tt.filtered)
			}
			if tt.next >= 0 && (a.NextCursor == nil || *a.NextCursor != tt.next) {
				t.Errorf("nextCursor in %s, want %d", b, tt.next)
			}
			for _, want := range tt.has {
				if !strings.Contains(string(b), want) {
					t.Errorf("%s lacks %s", b, want)
				}
			}
			for _, not := range tt.hasNo {
				if strings.Contains(string(b), not) {
					t.Errorf("%s has %s", b, not)
				}
			}
		})
	}
}

// Paging through events that are each larger than a page reads every one once.
func TestPollNeverStalls(t *testing.T) {
	f := newFake(engine.Running)
	big := strings.Repeat("x", maxPageBytes+1)
	for range 3 {
		f.add(event.ToolResult, `{"content":"`+big+`"}`)
		f.add(event.Progress, `{"type":"task_progress"}`)
		f.add(event.ToolResult, `{"content":"small"}`)
	}
	o := optionsOf(t, `{}`)
	var ids []int64
	for range 20 {
		a, _ := read(f, o)
		for _, e := range *a.Events {
			ids = append(ids, e.ID)
		}
		o.cursor = a.NextCursor
		if !a.Truncated {
			break
		}
	}
	if len(ids) != 6 || ids[5] != 8 || *o.cursor != 9 {
		t.Errorf("read %v, cursor %d", ids, *o.cursor)
	}
}

func TestPollTellsEviction(t *testing.T) {
	f := newFake(engine.Running)
	f.log = event.NewLog(1000)
	for range 100 {
		f.add(event.ToolResult, `{"content":"0123456789"}`)
	}
	a, news := read(f, optionsOf(t, `{"cursor":3}`))
	if a.CursorResetTo == nil || (*a.Events)[0].ID != *a.CursorResetTo || !news {
		t.Errorf("reset %v, first event %d", a.CursorResetTo, (*a.Events)[0].ID)
	}
}

func TestPollWaiting(t *testing.T) {
	f := newFake(engine.Waiting)
	f.pending = []engine.Action{{Type: "permission", RequestID: "r", ToolName: "Bash"}}
	a, news := read(f, optionsOf(t, `{}`))
	if !news || a.Status != "waiting_permission" || a.PollInterval != 1000 || string(a.Actions[0].Input) != "{}" {
		t.Errorf("answer %+v", a)
	}
	if a, news = read(f, optionsOf(t, `{"includeActions":false}`)); a.Actions != nil || !news {
		t.Errorf("actions shown: %+v", a)
	}
}

func TestPollCancelled(t *testing.T) {
	f := newFake(engine.Cancelled)
	f.info.CancelledAt = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.info.CancelledReason, f.info.CancelledSource = "Cancelled by caller", sessionTool
	f.info.Result = &engine.Result{Result: "late"}
	a, _ := read(f, optionsOf(t, `{}`))
	b, _ := encode(a)
	if a.Result != nil || !strings.Contains(string(b), `"cancelledAt":"2026-01-02T03:04:05Z","cancelledReason":"Cancelled by caller","cancelledSource":"claude_code_session"`) {
		t.Errorf("%s", b)
	}
}

func TestAwait(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  string
		later func(*fakeSession) // after 5 s
		took  time.Duration
	}{
		{"an event", `{"cursor":0}`, func(f *fakeSession) { f.add(event.Output, spoken) }, 5 * time.Second},
		{"a filtered event is no news", `{}`, func(f *fakeSession) { f.add(event.Progress, `{"type":"tool_progress"}`) }, 25 * time.Second},
		{"no event wanted", `{"includeEvents":false}`, func(f *fakeSession) { f.add(event.Output, spoken) }, 25 * time.Second},
		{"a question", `{"includeActions":false}`, func(f *fakeSession) {
			f.set(func(f *fakeSession) { f.info.State, f.pending = engine.Waiting, []engine.Action{{RequestID: "r"}} })
		}, 5 * time.Second},
		{"the end", `{}`, func(f *fakeSession) { f.set(func(f *fakeSession) { f.info.State = engine.Failed }) }, 5 * time.Second},
		{"nothing", `{}`, func(*fakeSession) {}, 25 * time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f, o, begin, told := newFake(engine.Running), optionsOf(t, tt.args), time.Now(), 0
				time.AfterFunc(5*time.Second, func() { tt.later(f) })
				a := await(t.Context(), f, o, 25*time.Second, func(context.Context, string) { told++ })
				if took := time.Since(begin); took != tt.took {
					t.Errorf("took %v, want %v", took, tt.took)
				}
				if want := int(tt.took / progressEvery); told != want {
					t.Errorf("%d progress notifications, want %d", told, want)
				}
				if a.SessionID != "s" {
					t.Errorf("answer %+v", a)
				}
			})
		})
	}
}

func TestAwaitEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		await(ctx, newFake(engine.Running), options{maxEvents: 1}, 25*time.Second, func(context.Context, string) { t.Error("told a client that is gone") })
		if took := time.Since(begin); took != time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestStarted(t *testing.T) {
	none := call{progress: func(context.Context, string) {}}
	b, _ := encode(started(t.Context(), none, finished(), 0, 0))
	if string(b) != `{"sessionId":"s","status":"running","pollInterval":3000}` {
		t.Errorf("without a wait: %s", b)
	}
	b, _ = encode(started(t.Context(), none, finished(), 2, time.Second))
	for _, want := range []string{`"status":"idle"`, `"nextCursor":2`, `"result":"ok"`, `"structuredOutput":{"c":1}`} {
		if !strings.Contains(string(b), want) || strings.Contains(string(b), "events") {
			t.Errorf("with a wait: %s, want %s", b, want)
		}
	}
}

// paged is a session whose history on the disk begins with events that minimal
// mode leaves out.
type paged struct {
	*fakeSession
	reads int
}

func (p *paged) Events(cursor *int64, _ int) event.Page {
	p.reads++
	page := event.Page{Truncated: true}
	for id := *cursor; id < *cursor+10; id++ {
		page.Events = append(page.Events, event.Event{ID: id, Type: event.Progress, Data: json.RawMessage(`{"type":"tool_progress"}`)})
	}
	page.Next = *cursor + 10
	return page
}

// TestAwaitDoesNotTurnInPlace: the page of a waiting reader is full, nothing of it
// is for him, and the session has more.
func TestAwaitDoesNotTurnInPlace(t *testing.T) {
	p := &paged{fakeSession: newFake(engine.Running)}
	for range 100 {
		p.add(event.Progress, `{"type":"tool_progress"}`)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	a := await(ctx, p, optionsOf(t, `{"action":"poll","sessionId":"s","cursor":0}`), time.Minute, func(context.Context, string) {})
	if p.reads != 1 || *a.NextCursor != 10 || !a.Truncated || a.FilteredEvents != 10 {
		t.Errorf("%d reads, next cursor %d, truncated %v, %d filtered", p.reads, *a.NextCursor, a.Truncated, a.FilteredEvents)
	}
}
