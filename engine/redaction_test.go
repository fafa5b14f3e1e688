package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

const (
	hidden  = "HIDDEN-VALUE"
	covered = "[REDACTED:test]"
)

// hiding covers one value, in whole payloads and in pieces, and remembers what it
// was asked for.
type hiding struct {
	with string // empty: covered
	fail func(event.Payload) bool

	mu   sync.Mutex
	seen []event.Payload
}

func (h *hiding) note(p event.Payload) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seen = append(h.seen, p)
	if h.fail != nil && h.fail(p) {
		return errors.New("no")
	}
	return nil
}

func (h *hiding) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if err := h.note(p); err != nil {
		return nil, nil, err
	}
	n := strings.Count(string(p.Data), hidden)
	if n == 0 {
		return p.Data, nil, nil
	}
	with := covered
	if h.with != "" {
		with = h.with
	}
	return json.RawMessage(strings.ReplaceAll(string(p.Data), hidden, with)), []event.Redaction{{Pointer: "/x", Detector: "test", Count: n}}, nil
}

func (h *hiding) Stream(_ context.Context, p event.Payload) (event.Stream, error) {
	if err := h.note(p); err != nil {
		return nil, err
	}
	return &hidingStream{}, nil
}

type hidingStream struct{ held string }

func (s *hidingStream) Write(piece string) (string, []event.Redaction) {
	text := s.held + piece
	n := strings.Count(text, hidden)
	text = strings.ReplaceAll(text, hidden, covered)
	keep := 0
	for i := 1; i < len(hidden) && i <= len(text); i++ {
		if strings.HasSuffix(text, hidden[:i]) {
			keep = i
		}
	}
	s.held = text[len(text)-keep:]
	if n == 0 {
		return text[:len(text)-keep], nil
	}
	return text[:len(text)-keep], []event.Redaction{{Detector: "test", Count: n}}
}

func (s *hidingStream) Close() (string, []event.Redaction) { return s.held, nil }

// use makes h the redactor of an engine that allows everything.
func (h *hiding) use(o *engine.Options) {
	o.Redactors = []event.Redactor{h}
	o.Deciders = []permission.Decider{labelling()}
}

func (h *hiding) saw(ok func(event.Payload) bool) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.seen, ok)
}

func TestPayloadsTellTheirSort(t *testing.T) {
	h := &hiding{}
	e := newHarness(t, `{"turns":[[
		{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"tool":{"name":"Grep","input":{"pattern":"x"},"error":"bad"}},{"text":"end"}]]}`, h.use)
	e.settled(e.mustStart())
	type sort struct {
		sink  event.Sink
		kind  event.Kind
		tool  string
		error bool
	}
	for _, want := range []sort{
		{event.SinkModel, event.ToolResult, "Bash", false}, {event.SinkEvent, event.ToolResult, "Bash", false},
		{event.SinkModel, event.ToolResult, "Grep", true}, {event.SinkEvent, event.ToolResult, "Grep", true},
		{event.SinkEvent, event.PermissionResult, "Bash", false}, {event.SinkEvent, event.Output, "", false},
	} {
		if !h.saw(func(p event.Payload) bool { return want == sort{p.Sink, p.Kind, p.Tool, p.IsError} }) {
			t.Errorf("no payload was of the sort %+v", want)
		}
	}
	if h.saw(func(p event.Payload) bool { return p.Origin == nil }) {
		t.Error("a payload has no origin")
	}
}

func TestOriginFollowsTheSession(t *testing.T) {
	h := &hiding{}
	e := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"o"}},{"text":"a"},{"text":"b"},{"text":"c"}]]}`, h.use)
	who := permission.Caller{Client: "desk", Transport: "stdio", Subject: "ann", Groups: []string{"ops"}, UID: 7}
	s, err := e.Start(engine.WithCaller(t.Context(), who), engine.StartParams{Prompt: "go", Model: "m1"})
	if err != nil {
		t.Fatal(err)
	}
	e.settled(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	first, last := h.seen[0].Origin, h.seen[len(h.seen)-1].Origin
	if first.SessionID != s.ID() || first.Cwd != e.dir || first.Client != "desk" || first.Subject != "ann" || !slices.Equal(first.Groups, who.Groups) ||
		first.Model != "m1" || first.Mode != "default" || first.Transport != "stdio" || len(first.Taint) != 0 {
		t.Errorf("origin at the start = %+v", first)
	}
	if !slices.Equal(last.Taint, []string{"used:Bash"}) {
		t.Errorf("origin at the end = %+v", last)
	}
	several := map[*event.Origin]bool{}
	for _, p := range h.seen {
		several[p.Origin] = true
	}
	if len(several) != 2 {
		t.Errorf("%d origins were made, want one before and one after the call", len(several))
	}
}

func TestPartialMessagesNeverShowACutSecret(t *testing.T) {
	for cut := 1; cut < len(hidden); cut++ {
		h := &hiding{}
		pieces, _ := json.Marshal([]string{"it is ", hidden[:cut], hidden[cut:] + ", HID", "den"})
		e := newHarness(t, `{"turns":[[{"partial":`+string(pieces)+`}]]}`, h.use)
		s, err := e.start(func(p *engine.StartParams) { p.PartialMessages = true })
		if err != nil {
			t.Fatal(err)
		}
		e.settled(s)
		text, found := "", 0
		for _, ev := range s.Events(nil, 0).Events {
			var d struct {
				Event struct{ Delta struct{ Text string } }
			}
			if ev.Type != event.Partial || json.Unmarshal(ev.Data, &d) != nil {
				continue
			}
			text += d.Event.Delta.Text
			for _, r := range ev.Redactions {
				if found += r.Count; r.Pointer != "/event/delta/text" {
					t.Errorf("pointer %q", r.Pointer)
				}
			}
		}
		if text != "it is "+covered+", HIDden" || found != 1 {
			t.Errorf("cut at %d: the pieces are %q, %d redactions\n%s", cut, text, found, dump(s))
		}
	}
}

const failing = `{"turns":[[{"tool":{"name":"Grep","input":{"pattern":"x"},"error":"no such ` + hidden + `"}},{"text":"went on"}]]}`

func TestSecretInAFailedCallIsReported(t *testing.T) {
	h := &hiding{}
	var log strings.Builder
	e := newHarness(t, failing, func(o *engine.Options) {
		h.use(o)
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	s := e.mustStart()
	e.settled(s)
	if !find(s, event.Notice, `"secret_exposed"`) || !find(s, event.Notice, `"redactions":[{"pointer":"/error/x","detector":"test","count":1}]`) || strings.Contains(dump(s), hidden) {
		t.Errorf("events:\n%s", dump(s))
	}
	if !strings.Contains(log.String(), "secret in the error of a failed call") {
		t.Errorf("log: %s", log.String())
	}
	if !h.saw(func(p event.Payload) bool { return slices.Contains(p.Origin.Taint, "secret:exposed") }) {
		t.Error("the taint is not told")
	}
}

func TestSecretInAFailedCallEndsTheSession(t *testing.T) {
	for name, fail := range map[string]func(event.Payload) bool{
		"a secret":                   nil,
		"an error that is not known": func(p event.Payload) bool { return p.Sink == event.SinkModel && p.IsError },
	} {
		h := &hiding{fail: fail}
		e := newHarness(t, failing, func(o *engine.Options) {
			h.use(o)
			o.OnExposedSecret = engine.StopExposed
		})
		s := e.mustStart()
		<-s.Done()
		i := s.Info()
		if i.State != engine.Cancelled || i.CancelledSource != "redaction" || !strings.Contains(i.CancelledReason, "on_exposed") {
			t.Errorf("%s: info = %+v", name, i)
		}
		if find(s, event.Output, "went on") || find(s, event.ToolResult, "no such") || !find(s, event.Notice, `"secret_exposed"`) {
			t.Errorf("%s: events:\n%s", name, dump(s))
		}
	}
}

func TestAFailedCallWithoutASecretIsNotReported(t *testing.T) {
	h := &hiding{}
	e := newHarness(t, strings.ReplaceAll(failing, hidden, "file "+covered), func(o *engine.Options) {
		h.use(o)
		o.OnExposedSecret = engine.StopExposed
	})
	s := e.mustStart()
	if e.settled(s); find(s, event.Notice, "secret_exposed") || !find(s, event.Output, "went on") {
		t.Errorf("events:\n%s", dump(s))
	}
}

func TestUnknownExposure(t *testing.T) {
	if _, err := engine.New(engine.Options{Roots: []string{t.TempDir()}, OnExposedSecret: "perhaps"}); err == nil || !strings.Contains(err.Error(), "perhaps") {
		t.Errorf("error %v", err)
	}
}

func TestStderrIsRedactedBeforeItIsKept(t *testing.T) {
	h := &hiding{}
	e := newHarness(t, `{"turns":[[{"stderr":"one `+hidden+` two"},{"exit":{"code":3,"stderr":"three `+hidden+`"}}]]}`, h.use)
	s := e.mustStart()
	i := e.settled(s)
	if i.Result == nil || strings.Contains(i.Result.Result, hidden) || !strings.Contains(i.Result.Result, "one "+covered+" two") || !strings.Contains(i.Result.Result, "three "+covered) {
		t.Errorf("result = %+v", i.Result)
	}
	if !h.saw(func(p event.Payload) bool { return p.Sink == event.SinkStderr }) {
		t.Error("stderr did not pass the redactor")
	}
}

func TestCopiedRedactionsAreRefused(t *testing.T) {
	cases := []struct {
		name, with, updated string
		refused             bool
	}{
		{"the placeholder", "", `{"command":"curl ` + covered + `"}`, true},
		{"another text, as shown", "###", `{"command":"curl -H ### url"}`, true},
		{"another text, and more", "###", `{"command":"curl -H ### url | head"}`, true},
		{"another text, elsewhere", "###", `{"command":"ls","description":"with ###"}`, true},
		{"nothing left, as shown", " ", `{"command":"curl -H   url"}`, true},
		{"written anew", "###", `{"command":"curl -H other url"}`, false},
		{"the original", "###", `{"command":"curl -H ` + hidden + ` url"}`, false},
	}
	for _, c := range cases {
		h := &hiding{with: c.with}
		e := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"curl -H `+hidden+` url"},"output":"o"}},{"text":"end"}]]}`, func(o *engine.Options) {
			o.Redactors = []event.Redactor{h}
			o.Deciders = []permission.Decider{asks(permission.AskTerms{})}
		})
		s := e.mustStart()
		err := s.Answer(t.Context(), engine.Answer{RequestID: e.action(s).RequestID, Allow: true, UpdatedInput: json.RawMessage(c.updated)})
		if refused := engine.CodeOf(err) == engine.InvalidArgument; refused != c.refused || err != nil && !c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestSummaryIsRedactedBeforeItIsCut(t *testing.T) {
	h := &hiding{}
	long := strings.Repeat("x", 300-len("Bash: ")-5)
	e := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"`+long+hidden+strings.Repeat("y", 900)+`"},"output":"o"}},{"text":"end"}]]}`, func(o *engine.Options) {
		o.Redactors = []event.Redactor{h}
		o.Deciders = []permission.Decider{asks(permission.AskTerms{Fields: []string{"/command"}})}
	})
	a := e.action(e.mustStart())
	if strings.Contains(a.Summary, hidden[:5]) || !strings.Contains(a.Summary, "[REDA") {
		t.Errorf("summary = %s", a.Summary)
	}
	if len(a.Fields) != 1 || strings.Contains(a.Fields[0].Value, hidden) || !strings.Contains(a.Fields[0].Value, covered) {
		t.Errorf("fields = %+v", a.Fields)
	}
}

func TestOutputThatCannotBeRedactedIsWithheld(t *testing.T) {
	h := &hiding{fail: func(p event.Payload) bool { return p.Sink == event.SinkModel && p.Kind == event.ToolResult }}
	e := newHarness(t, `{"turns":[[{"tool":{"name":"Bash","input":{"command":"x"},"output":"OUTPUT"}},{"text":"end"}]]}`, h.use)
	s := e.mustStart()
	if e.settled(s); find(s, event.ToolResult, "OUTPUT") || !find(s, event.ToolResult, "[withheld]") {
		t.Errorf("events:\n%s", dump(s))
	}
}
