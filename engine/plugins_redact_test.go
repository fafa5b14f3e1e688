package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// policyRedactor stands for that of the policies: it has nothing to cover here, and
// lets pieces pass.
type policyRedactor struct{}

func (policyRedactor) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	return p.Data, nil, nil
}
func (policyRedactor) Stream(context.Context, event.Payload) (event.Stream, error) {
	return atOnce{}, nil
}

type atOnce struct{}

func (atOnce) Write(piece string) (string, []event.Redaction) { return piece, nil }
func (atOnce) Close() (string, []event.Redaction)             { return "", nil }

// wholeTexts is a redactor as plugins are one: it looks at texts that are complete.
type wholeTexts struct{ hiding }

func (w *wholeTexts) Stream(ctx context.Context, p event.Payload) (event.Stream, error) {
	if err := w.note(p); err != nil {
		return nil, err
	}
	return &wholeText{redact: func(text string) (string, []event.Redaction, error) {
		p.Data, _ = json.Marshal(text)
		raw, found, err := w.Redact(ctx, p)
		if err != nil {
			return "", nil, err
		}
		_ = json.Unmarshal(raw, &text)
		return text, found, nil
	}}, nil
}

type wholeText struct {
	text   strings.Builder
	redact func(string) (string, []event.Redaction, error)
}

func (w *wholeText) Write(piece string) (string, []event.Redaction) {
	w.text.WriteString(piece)
	return "", nil
}

func (w *wholeText) Close() (string, []event.Redaction) {
	text, found, err := w.redact(w.text.String())
	if err != nil {
		panic(err) // as a stream tells that it failed
	}
	return text, found
}

// everyRoad has the hidden value in whatever leaves a session.
const everyRoad = `{"turns":[[
	{"partial":["it is HIDDEN-","VALUE, it is"]},{"text":"said HIDDEN-VALUE"},
	{"tool":{"name":"Bash","input":{"command":"echo HIDDEN-VALUE"},"output":"out HIDDEN-VALUE"}},
	{"stderr":"err HIDDEN-VALUE\n"},{"exit":{"code":3}}]]}`

// What a plugin covers behind the policies' redactor is covered everywhere, and what
// it fails to look at is withheld.
func TestPluginRedactorsOnAllRoads(t *testing.T) {
	sinks := map[string]func(event.Payload) bool{
		"":       func(event.Payload) bool { return false },
		"event":  func(p event.Payload) bool { return p.Sink == event.SinkEvent },
		"model":  func(p event.Payload) bool { return p.Sink == event.SinkModel },
		"audit":  func(p event.Payload) bool { return p.Sink == event.SinkAudit },
		"stderr": func(p event.Payload) bool { return p.Sink == event.SinkStderr },
	}
	for name, fails := range sinks {
		t.Run("fails in "+name, func(t *testing.T) {
			w, log := &wholeTexts{hiding{fail: fails}}, &recorder{}
			var model outputs
			h := newHarness(t, everyRoad, func(o *engine.Options) {
				o.Redactors = []event.Redactor{policyRedactor{}, w, &model}
				o.Deciders, o.Audit = []permission.Decider{asks(permission.AskTerms{})}, log
			})
			s, err := h.start(func(p *engine.StartParams) { p.PartialMessages = true })
			if err != nil {
				t.Fatal(err)
			}
			a := h.action(s)
			if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
				t.Fatal(err)
			}
			i := h.settled(s)
			log.mu.Lock()
			shown, _ := json.Marshal([]any{a, i, log.records})
			log.mu.Unlock()
			model.mu.Lock()
			defer model.mu.Unlock()
			for where, text := range map[string]string{"events": dump(s), "answers and records": string(shown), "model": model.text} {
				if strings.Contains(text, hidden) {
					t.Errorf("%s: %s", where, text)
				}
			}
			if name != "" {
				return
			}
			for where, want := range map[string]string{dump(s): "said " + covered, i.Result.Result: "err " + covered, model.text: "out " + covered, string(shown): "echo " + covered} {
				if !strings.Contains(where, want) {
					t.Errorf("%q is not in %s", want, where)
				}
			}
			if !find(s, event.Partial, "it is "+covered+", it is") {
				t.Errorf("pieces:\n%s", dump(s))
			}
		})
	}
}

// outputs sees what the redactors before left of outputs for the model.
type outputs struct {
	mu   sync.Mutex
	text string
}

func (o *outputs) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if p.Sink == event.SinkModel {
		o.text += string(p.Data)
	}
	if p.Data == nil {
		return nil, nil, errors.New("no payload")
	}
	return p.Data, nil, nil
}

// A question whose id a redactor changed cannot be answered by what is shown of it.
func TestAQuestionKeepsItsId(t *testing.T) {
	h := newHarness(t, oneBash, func(o *engine.Options) {
		o.Redactors = []event.Redactor{renaming{}}
		o.Deciders = []permission.Decider{asks(permission.AskTerms{})}
	})
	s := h.mustStart()
	a := h.action(s)
	if a.Summary != "[withheld: redaction ended with an error]" || len(a.Input) > 0 {
		t.Errorf("action = %+v", a)
	}
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID}); err != nil {
		t.Error(err)
	}
}

type renaming struct{}

func (renaming) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	var m map[string]any
	if p.Kind != event.PermissionAsked || json.Unmarshal(p.Data, &m) != nil || m["requestId"] == nil {
		return p.Data, nil, nil
	}
	m["requestId"], m["input"] = "another", map[string]string{"command": "harmless"}
	raw, err := json.Marshal(m)
	return raw, nil, err
}
