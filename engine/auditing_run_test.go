package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// recorder is an audit log in memory that can be full for some kinds.
type recorder struct {
	mu      sync.Mutex
	full    map[audit.Kind]bool // "": all of them
	records []audit.Record
}

func (r *recorder) use(o *engine.Options) { o.Audit = r }

func (r *recorder) fill(kinds ...audit.Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.full = make(map[audit.Kind]bool)
	for _, k := range kinds {
		r.full[k] = true
	}
}

func (r *recorder) Record(_ context.Context, one audit.Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full[one.Kind] || r.full[""] {
		return fmt.Errorf("write audit log: %w", syscall.ENOSPC)
	}
	r.records = append(r.records, one)
	return nil
}

func (r *recorder) Note(one audit.Record) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.records = append(r.records, one)
}

// said are the records in a word or two each.
func (r *recorder) said() (all []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, one := range r.records {
		text := string(one.Kind)
		if one.Kind == audit.Admission || one.Kind == audit.Decision {
			text = strings.TrimSpace(one.Action+one.Tool) + " " + one.Verdict.Effect + " " + one.Verdict.Rule
		}
		all = append(all, text)
	}
	return all
}

const everyDoor = `{"turns":[[
	{"tool":{"name":"Read","input":{"file_path":"x"},"output":"SEEN"}},
	{"tool":{"name":"Bash","input":{"command":"touch x"},"output":"SEEN"}},
	{"tool":{"name":"Bash","input":{"command":"touch y"},"output":"SEEN"}},
	{"tool":{"name":"Write","input":{"file_path":"x","content":"y"},"output":"SEEN"}},
	{"agent":{"description":"d","prompt":"p","steps":[{"tool":{"name":"Read","input":{"file_path":"y"},"output":"SEEN"}}]}},
	{"elicitation":` + nameForm + `},{"reveal":"answer"}],[{"text":"again"}]]}`

// answerAll allows whatever is asked until the turn has ended.
func answerAll(h harness, s *engine.Session) {
	h.t.Helper()
	for {
		h.until(s, "question or end", func() bool { return len(s.Pending()) > 0 || !s.Info().State.Busy() })
		pending := s.Pending()
		if len(pending) == 0 {
			return
		}
		a := engine.Answer{RequestID: pending[0].RequestID, Allow: true}
		if pending[0].Type == "form" {
			a.UpdatedInput = json.RawMessage(`{"content":{"name":"Ada"}}`)
		}
		if err := s.Answer(h.t.Context(), a); err != nil && engine.CodeOf(err) != engine.PermissionRequestNotFound {
			h.t.Fatal(err)
		}
	}
}

// While decisions cannot be recorded nothing of a script runs, by any door; with
// room again all of it does.
func TestNoToolRunsUnrecorded(t *testing.T) {
	for _, full := range []bool{true, false} {
		r := &recorder{}
		if full {
			r.fill(audit.Decision)
		}
		h := newHarness(t, everyDoor, func(o *engine.Options) {
			r.use(o)
			o.Deciders = []permission.Decider{rules{"Read": permission.Allow, "Agent": permission.Allow, "Bash": permission.Ask, "Write": permission.Deny}}
		})
		s := h.mustStart()
		answerAll(h, s)
		ran := 0
		for _, e := range s.Events(nil, 0).Events {
			if e.Type == event.ToolResult && strings.Contains(string(e.Data), "SEEN") {
				ran++
			}
		}
		answer := s.Info().Result.Result
		if want := map[bool]int{true: 0, false: 4}[full]; ran != want {
			t.Errorf("log full %v: %d tools ran, want %d:\n%s", full, ran, want, dump(s))
		}
		if strings.Contains(answer, "accept") == full {
			t.Errorf("log full %v: the form was answered %s", full, answer)
		}
		if full == find(s, event.PermissionResult, `"behavior":"allow"`) || full != find(s, event.PermissionResult, `"rule":"engine.audit"`) {
			t.Errorf("log full %v: events:\n%s", full, dump(s))
		}
	}
}

func TestNothingStartsUnrecorded(t *testing.T) {
	r := &recorder{}
	h := newHarness(t, `{"turns":[[{"text":"one"}],[{"text":"two"}]]}`, r.use)
	for _, kind := range []audit.Kind{"", audit.Admission, audit.SessionStart} {
		r.fill(kind)
		s, err := h.start(nil)
		if engine.CodeOf(err) != engine.Internal || !strings.Contains(err.Error(), "start refused by rule engine.audit") || !strings.Contains(err.Error(), "there is room") {
			t.Errorf("full for %q: %v, %v", kind, s, err)
		}
	}
	r.fill()
	s := h.mustStart() // it works again with room
	h.settled(s)
	r.fill(audit.Admission)
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); engine.CodeOf(err) != engine.Internal {
		t.Errorf("reply: %v", err)
	}
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more", Fork: true}); engine.CodeOf(err) != engine.Internal {
		t.Errorf("fork: %v", err)
	}
	if err := s.Cancel(t.Context(), "enough", "client"); err != nil {
		t.Errorf("cancel: %v", err)
	}
	<-s.Done()
}

func TestRecordsOfALife(t *testing.T) {
	r := &recorder{}
	h := newHarness(t, askOnce, r.use)
	s := h.mustStart()
	answerAll(h, s)
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if err := s.Cancel(t.Context(), "enough", "client"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	want := []string{
		"start allow ", "session_start", "approval_asked", "answer allow ", "approval_answered", "Bash allow test.ask",
		"reply allow ", "cancel allow ", "session_end",
	}
	got := r.said()
	// The answer and what becomes of it are told by two goroutines.
	slices.Sort(got[4:6])
	slices.Sort(want[4:6])
	if !slices.Equal(got, want) {
		t.Errorf("records = %q\nwant      %q", got, want)
	}
}
