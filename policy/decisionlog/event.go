package decisionlog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// maxLine bounds one line. A longer one is written without its input.
const maxLine = 4 << 20

// maskTime bounds the evaluation of the masks for one event.
const maskTime = time.Second

// Event is one line: OPA's decision-log event. Fields of OPA's that have no
// meaning here are never written.
type Event struct {
	Labels      map[string]string   `json:"labels"` // id, version, profile
	DecisionID  string              `json:"decision_id"`
	TraceID     string              `json:"trace_id,omitempty"`
	SpanID      string              `json:"span_id,omitempty"`
	Bundles     map[string]Bundle   `json:"bundles,omitempty"` // by layer
	Path        string              `json:"path,omitempty"`
	Query       string              `json:"query,omitempty"`
	Input       json.RawMessage     `json:"input,omitempty"`
	Result      json.RawMessage     `json:"result,omitempty"`
	Erased      []string            `json:"erased,omitempty"` // pointers to what was taken out
	Masked      []string            `json:"masked,omitempty"` // pointers to what was replaced
	Error       *Failure            `json:"error,omitempty"`
	RequestedBy string              `json:"requested_by,omitempty"`
	Timestamp   time.Time           `json:"timestamp"`
	Metrics     map[string]int64    `json:"metrics,omitempty"` // nanoseconds
	RequestID   uint64              `json:"req_id,omitempty"`  // counts the lines of one server from 1
	RuleLabels  []map[string]string `json:"rule_labels,omitempty"`
	Custom      map[string]any      `json:"custom,omitempty"`
}

// Bundle says which version of a layer decided.
type Bundle struct {
	Revision string `json:"revision,omitempty"`
}

// Failure says that a decision was the engine's, not that of a policy.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Covered reports whether the line shows less than what was judged.
func (e Event) Covered() bool { return len(e.Erased)+len(e.Masked) > 0 }

// line makes the line of an entry, without the newline.
func (l *Log) line(e Entry, number, lost uint64) ([]byte, error) {
	ev, err := l.event(e, number, lost)
	if err != nil {
		return nil, err
	}
	for _, pointer := range e.Hide {
		if err := ev.apply(MaskOp{Op: "upsert", Path: pointer, Value: hidden}); err != nil {
			return nil, fmt.Errorf("hide %s: %w", pointer, err)
		}
	}
	for _, op := range e.Replace {
		if err := ev.apply(op); err != nil {
			return nil, fmt.Errorf("replace %s: %w", op.Path, err)
		}
	}
	line, err := l.cover(ev)
	if err != nil {
		return nil, err
	}
	if e.Mask != nil {
		if err := ev.mask(e.Mask, line); err != nil {
			l.options.Logger.Error("decision log: a mask failed, so the event is written without what masks can reach", "decision", e.ID, "error", err)
			ev.strip("a mask failed; the server's own log says why") // its text may quote what was to be masked
		}
		if line, err = l.cover(ev); err != nil { // an error may quote what it stumbled over, a value bring something
			return nil, err
		}
	}
	if len(line) >= maxLine {
		ev.strip(fmt.Sprintf("the line had %d bytes", len(line)))
		line, err = encode(ev)
	}
	return line, err
}

// hidden stands in the place of values that are never written.
const hidden = "[withheld]"

func (l *Log) event(e Entry, number, lost uint64) (*Event, error) {
	ev := &Event{
		Labels:     map[string]string{"id": l.options.ID, "version": l.options.Version, "profile": e.Profile},
		DecisionID: e.ID, Path: e.Path, Error: e.Error, RequestedBy: e.RequestedBy, Timestamp: e.Time.UTC(),
		Metrics:   map[string]int64{"timer_server_handler_ns": int64(e.Duration), "timer_rego_query_eval_ns": int64(e.Eval)},
		RequestID: number, RuleLabels: e.RuleLabels, Custom: map[string]any{},
	}
	for name, value := range e.Custom {
		ev.Custom[name] = value
	}
	if lost > 0 {
		ev.Custom["lost"] = lost
	}
	for layer, revision := range e.Revisions {
		if ev.Bundles == nil {
			ev.Bundles = map[string]Bundle{}
		}
		ev.Bundles[layer] = Bundle{revision}
	}
	var err error
	if e.Input != nil {
		if ev.Input, err = e.Input(); err != nil {
			return nil, fmt.Errorf("input: %w", err)
		}
	}
	if e.Result != nil {
		if ev.Result, err = encode(e.Result); err != nil {
			return nil, fmt.Errorf("result: %w", err)
		}
	}
	return ev, nil
}

// cover replaces the secrets that a scanner knows in all of the event and returns
// its line.
func (ev *Event) cover(scanner redact.Scanner) ([]byte, error) {
	raw, err := encode(ev)
	if err != nil {
		return nil, err
	}
	clean, found, err := coverCredentials(raw)
	if err != nil {
		return nil, fmt.Errorf("cover credentials: %w", err)
	}
	clean, findings := scanner.JSON(clean)
	if len(findings)+len(found) == 0 {
		return raw, nil
	}
	for _, f := range findings {
		found = append(found, f.Pointer)
	}
	was := *ev
	*ev = Event{}
	if err := decode(clean, ev); err != nil {
		return nil, fmt.Errorf("cover secrets: %w", err)
	}
	ev.Erased, ev.Masked = nil, nil
	for _, pointer := range was.Erased {
		ev.note(&ev.Erased, coveredPointer(scanner, pointer))
	}
	for _, pointer := range append(was.Masked, found...) {
		if first, _, _ := strings.Cut(pointer[1:], "/"); first != "erased" && first != "masked" { // these are noted above
			ev.note(&ev.Masked, coveredPointer(scanner, pointer))
		}
	}
	return encode(ev)
}

// coveredPointer covers the secrets in the steps of a pointer: names of members
// can be secrets, too.
func coveredPointer(scanner redact.Scanner, pointer string) string {
	steps := strings.Split(pointer, "/")
	for i, step := range steps {
		clean, _ := scanner.String(coverText(unescapedStep(step)))
		steps[i] = escapedStep(clean)
	}
	return strings.Join(steps, "/")
}

func (ev *Event) note(list *[]string, pointer string) {
	if !slices.Contains(*list, pointer) {
		*list = append(*list, pointer)
	}
}

// mask applies the masks of the policies, which are shown the line.
func (ev *Event) mask(masks func(context.Context, json.RawMessage) ([]MaskOp, error), line []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), maskTime)
	defer cancel()
	ops, err := masks(ctx, line)
	if err != nil {
		return err
	}
	for _, op := range inOrder(ops) {
		if err := ev.apply(op); err != nil {
			return err
		}
	}
	return nil
}

// strip takes out whatever tells of the call: all that a mask can name but the
// labels, which are the server's own.
func (ev *Event) strip(why string) {
	erased := []string{"/input", "/result"}
	for _, part := range []struct {
		name  string
		there bool
	}{{"/rule_labels", len(ev.RuleLabels) > 0}, {"/error", ev.Error != nil}, {"/requested_by", ev.RequestedBy != ""}, {"/custom", len(ev.Custom) > 0}} {
		if part.there {
			erased = append(erased, part.name)
		}
	}
	custom := map[string]any{"stripped": why}
	if lost, ok := ev.Custom["lost"]; ok {
		custom["lost"] = lost
	}
	ev.Input, ev.Result, ev.RuleLabels, ev.Error, ev.RequestedBy = nil, nil, nil, nil, ""
	ev.Erased, ev.Masked, ev.Custom = erased, nil, custom
}

// decode keeps numbers as they are written.
func decode(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// encode writes shell text readable: without HTML escapes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
