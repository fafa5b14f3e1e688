package policy

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// RedactorOptions says what a [Redactor] covers beside what policies say.
type RedactorOptions struct {
	Options redact.Options // of the configuration
	HashKey []byte         // of action hash; empty: one of this process
}

// Redactor covers what the policies in force say, and always the vendor formats
// and the detectors of the configuration. It is safe for concurrent use.
type Redactor struct {
	live    *Live
	options RedactorOptions
	current atomic.Pointer[planner]
}

var (
	_ event.Redactor = (*Redactor)(nil)
	_ event.Streamer = (*Redactor)(nil)
)

// NewRedactor redacts by live, which must not be nil. Other policies put in force
// there count from the next payload on.
func NewRedactor(live *Live, o RedactorOptions) *Redactor {
	if len(o.HashKey) == 0 {
		o.HashKey = newHashKey()
	}
	r := &Redactor{live: live, options: o}
	r.planner()
	return r
}

// newHashKey is a key for the hashes of one process.
func newHashKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // it never errs
	return key
}

// planner is that of the set in force. Two goroutines may both make one after a
// reload; the plans are the same.
func (r *Redactor) planner() *planner {
	set := r.live.Set()
	pl := r.current.Load()
	if pl == nil || pl.set != set {
		pl = newPlanner(set, r.options)
		r.current.Store(pl)
	}
	return pl
}

// Redact implements [event.Redactor]. An error means that the policies did not
// say what to cover.
func (r *Redactor) Redact(ctx context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	plan, whole, err := r.planner().plan(ctx, &p)
	if err != nil {
		return nil, nil, err
	}
	var found []event.Redaction
	if p.Sink == event.SinkEvent && p.Kind == event.ToolResult {
		found = redactions(redact.Placeholders(p.Data))
	}
	apply := plan.Apply
	if p.Sink == event.SinkEvent {
		apply = plan.ApplyKnownValid // the log takes no other
	}
	out, findings := apply(whole, p.Data)
	return out, append(found, redactions(findings)...), nil
}

func redactions(findings []redact.Finding) []event.Redaction {
	if len(findings) == 0 {
		return nil
	}
	all := make([]event.Redaction, len(findings))
	for i, f := range findings {
		all[i] = event.Redaction{Pointer: f.Pointer, Detector: f.Detector, Count: f.Count}
	}
	return all
}

// Spec is the plan for payloads of the sort of p in a form for another process,
// such as the filter that a shell's output passes. Values of the configuration
// are in it, though they are left out where it is written as JSON.
func (r *Redactor) Spec(ctx context.Context, p event.Payload) (redact.Spec, error) {
	pl := r.planner()
	found := pl.constant
	if found == nil {
		s := payloadSort{p: p}
		s.look()
		found = pl.find(ctx, &s)
	}
	return found.spec, found.err
}

// Stream implements [event.Streamer]. p.Data may hold the first event of the
// text, which tells what block it belongs to; without it an [event.Partial] of a
// tool is its input, and one of none may be text or thinking: what is said of
// either counts.
func (r *Redactor) Stream(ctx context.Context, p event.Payload) (event.Stream, error) {
	pl := r.planner()
	if pl.constant != nil {
		return newStream(pl.constant.plan, redact.Block{}, pl.constant.err)
	}
	s := payloadSort{p: p}
	s.look()
	s.delta = true
	block := s.streamed()
	found := pl.find(ctx, &s)
	return newStream(found.plan, block, found.err)
}

// streamed is the block of a text. Where nothing tells, policies are asked as if
// it were a message that has both that it may be.
func (s *payloadSort) streamed() redact.Block {
	switch {
	case s.whole.Type != "":
	case s.p.Kind != event.Partial:
		return redact.Block{Type: string(s.p.Kind)} // of no block, as a line of stderr
	case s.p.Tool != "":
		s.whole = redact.Block{Type: "tool_use", Tool: s.p.Tool}
	default:
		s.add(blockSort{kind: []byte("text")})
		s.add(blockSort{kind: []byte("thinking")})
	}
	return s.whole
}

func newStream(plan *redact.Plan, b redact.Block, err error) (event.Stream, error) {
	if err != nil {
		return nil, fmt.Errorf("redact a text in pieces: %w", err)
	}
	return &planStream{plan.Stream(b)}, nil
}

// planStream is a stream whose finds have no place: only its caller knows it.
type planStream struct{ *redact.Stream }

func (t *planStream) Write(piece string) (string, []event.Redaction) {
	safe, hits := t.Stream.Write(piece)
	return safe, counted(hits)
}

func (t *planStream) Close() (string, []event.Redaction) {
	rest, hits := t.Stream.Close()
	return rest, counted(hits)
}

// counted is one redaction for each detector.
func counted(hits []redact.Hit) (all []event.Redaction) {
next:
	for _, h := range hits {
		for i := range all {
			if all[i].Detector == h.Detector {
				all[i].Count++
				continue next
			}
		}
		all = append(all, event.Redaction{Detector: h.Detector, Count: 1})
	}
	return all
}
