package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
	"github.com/open-policy-agent/opa/v1/ast"
)

// logPackage holds the set mask: what the decision log leaves out of its events.
const logPackage = "gatehouse.log"

// entryMask is the query of the set mask among a layer's queries.
const entryMask Entrypoint = "log.mask"

// Bounds of the masks of one event.
const (
	maxMasks     = 1000
	maskDeadline = time.Second // it is off the path of a call
)

var (
	maskFields = []string{"op", "path", "value"}
	maskKinds  = []string{"remove", "upsert"}
)

// MaskOp takes something out of an event of the decision log, or puts another
// value in its place.
type MaskOp struct {
	Op    string `json:"op"`    // "remove" or "upsert"
	Path  string `json:"path"`  // JSON pointer below one of [decisionlog.Maskable]
	Value any    `json:"value"` // of upsert
}

// logInput is the document log/v1: one event of the decision log.
type logInput struct {
	Labels      map[string]string    `json:"labels" doc:"of the server: id, version, profile"`
	DecisionID  string               `json:"decision_id"`
	TraceID     string               `json:"trace_id"`
	SpanID      string               `json:"span_id"`
	Bundles     map[string]logBundle `json:"bundles" doc:"by layer"`
	Path        string               `json:"path" doc:"what was decided, as gatehouse/permission/decisions"`
	Query       string               `json:"query"`
	Input       any                  `json:"input" doc:"the document that was judged"`
	Result      any                  `json:"result" doc:"the decision"`
	Erased      []string             `json:"erased" doc:"pointers to what was taken out before"`
	Masked      []string             `json:"masked" doc:"pointers to what was replaced before"`
	Error       logFailure           `json:"error"`
	RequestedBy string               `json:"requested_by"`
	Timestamp   string               `json:"timestamp"`
	Metrics     map[string]int64     `json:"metrics" doc:"nanoseconds"`
	RequestID   int64                `json:"req_id" doc:"counts the lines of one server from 1"`
	RuleLabels  []map[string]any     `json:"rule_labels"`
	Custom      map[string]any       `json:"custom"`
}

type logBundle struct {
	Revision string `json:"revision"`
}

type logFailure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// maskAll is what happens to an event whose masks cannot be told.
var maskAll = func() (all []MaskOp) {
	for _, part := range decisionlog.Maskable {
		if part != "labels" { // the server's own
			all = append(all, MaskOp{Op: "remove", Path: "/" + part})
		}
	}
	return all
}()

// Mask asks the organisation's and the user's policies what the decision log has
// to leave out of an event. With an error the operations take out all that tells
// of the call.
func (s *Set) Mask(ctx context.Context, event any) ([]MaskOp, error) {
	if !s.masks() {
		return nil, nil
	}
	doc, err := describeEvent(event)
	if err != nil {
		return maskAll, err
	}
	type answer struct {
		ops []MaskOp
		err error
	}
	a, late := watch(ctx, &s.maskGuard, maskDeadline, watchdogGrace, func(ctx context.Context) (a answer) {
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("mask of the decision log: panic: %v", p)
			}
		}()
		a.ops, a.err = s.mask(ctx, toTerm(doc).Value)
		return a
	})
	if late {
		a.err = fmt.Errorf("mask of the decision log: took longer than %s", maskDeadline)
	}
	if a.err != nil {
		return maskAll, a.err
	}
	return a.ops, nil
}

// masks reports whether there is anything to ask, and that no earlier evaluation
// is stuck in it.
func (s *Set) masks() bool {
	for _, l := range s.layers {
		if l.name != "builtin" && l.queries[entryMask] != nil {
			return true
		}
	}
	return false
}

func (s *Set) mask(ctx context.Context, input ast.Value) ([]MaskOp, error) {
	if n := s.maskGuard.stuck.Load(); n >= maxStuck {
		return nil, fmt.Errorf("mask of the decision log: %d evaluations ignore their deadline", n)
	}
	var all []MaskOp
	for _, l := range s.layers {
		q := l.queries[entryMask]
		if q == nil || l.name == "builtin" {
			continue
		}
		set, err := q.set(ctx, input)
		if err == nil && set == nil {
			err = errors.New("undefined")
		}
		if err == nil {
			var ops []MaskOp
			ops, err = decodeMasks(set)
			all = append(all, ops...)
		}
		if err != nil {
			return nil, fmt.Errorf("mask of the %s policies: %w", l.name, err)
		}
	}
	return all, nil
}

// describeEvent makes the document of an event from what would be written.
func describeEvent(event any) (doc logInput, err error) {
	raw, err := json.Marshal(event)
	if err != nil {
		return doc, fmt.Errorf("mask of the decision log: %w", err)
	}
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		return doc, fmt.Errorf("mask of the decision log: %w", err)
	}
	return doc, nil
}

// decodeMasks reads the set mask: pointers, which are taken out, and objects.
func decodeMasks(value any) ([]MaskOp, error) {
	list, ok := value.([]any)
	if !ok || len(list) > maxMasks {
		return nil, fmt.Errorf("want a set of at most %d masks", maxMasks)
	}
	all := make([]MaskOp, 0, len(list))
	for _, item := range list {
		op, err := decodeMask(item)
		if err != nil {
			return nil, err
		}
		all = append(all, op)
	}
	return all, nil
}

func decodeMask(item any) (MaskOp, error) {
	if path, ok := item.(string); ok {
		item = map[string]any{"op": "remove", "path": path}
	}
	object, ok := item.(map[string]any)
	if !ok {
		return MaskOp{}, fmt.Errorf("%.80q is no JSON pointer and no object", fmt.Sprint(item))
	}
	r := &reader{object: object, at: "mask."}
	r.known(maskFields)
	op := MaskOp{Op: r.one("op", maskKinds), Path: r.text("path"), Value: object["value"]}
	_, valued := object["value"]
	first, _, _ := strings.Cut(strings.TrimPrefix(op.Path, "/"), "/")
	switch {
	case op.Op == "":
		r.fail("mask of %.80q without op, want remove or upsert", op.Path)
	case valued != (op.Op == "upsert"):
		r.fail("mask of %.80q: op upsert needs a value, op remove takes none", op.Path)
	case !strings.HasPrefix(op.Path, "/") || !slices.Contains(decisionlog.Maskable, first):
		r.fail("mask of %.80q: want a path that begins with /%s", op.Path, strings.Join(decisionlog.Maskable, ", /"))
	}
	return op, r.err
}
