package policy

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// maxPlans bounds the sorts of payloads whose plan is remembered, and maxSortKey
// the bytes that name one.
const (
	maxPlans   = 4096
	maxSortKey = 8 << 10 // a longer one is its digest
)

// maxPlanWait bounds how long a sort is withheld without asking again.
const maxPlanWait = time.Minute

// planner makes the plans of one set of policies and remembers them.
type planner struct {
	set      *Set
	options  redact.Options
	key      []byte
	constant *planned // nil: policies are asked

	mu         sync.Mutex
	young, old map[string]*planned // by sort; each half of what is remembered
	made       *lru[string, *planned]

	now func() time.Time // replaced by tests
}

// planned is a plan, or why there is none.
type planned struct {
	plan *redact.Plan
	spec redact.Spec
	err  error

	late  int       // how often in a row policies gave no answer in time; 0: err, if there is one, would come again
	until time.Time // they are not asked again before; of late ones
}

func newPlanner(set *Set, o RedactorOptions) *planner {
	pl := &planner{set: set, key: slices.Clone(o.HashKey), young: map[string]*planned{}, made: newLRU[string, *planned](maxPlans / 8), now: time.Now}
	custom, err := mergeDetectors(o.Options.Custom, set.detectors)
	pl.options = o.Options
	pl.options.Custom = custom
	switch {
	case err != nil:
		set.options.Logger.Error("redaction: every payload is withheld", "error", err)
		pl.constant = &planned{err: fmt.Errorf("redaction plan: %w", err)}
	case !set.redacts():
		pl.constant = newPlanned(redact.Spec{Options: pl.options, HashKey: pl.key})
	}
	return pl
}

func newPlanned(spec redact.Spec) *planned {
	plan, err := redact.NewPlan(spec)
	return &planned{plan: plan, spec: spec, err: err}
}

// plan is the plan for a payload, and what the payload is.
func (pl *planner) plan(ctx context.Context, p *event.Payload) (*redact.Plan, redact.Block, error) {
	if pl.constant != nil { // nothing to tell payloads apart for
		return pl.constant.plan, redact.Block{}, pl.constant.err
	}
	s := payloadSort{p: *p}
	s.look()
	found := pl.find(ctx, &s)
	return found.plan, s.whole, found.err
}

// find looks a sort up, or asks the policies about it.
func (pl *planner) find(ctx context.Context, s *payloadSort) *planned {
	if s.fault != noFault {
		return &planned{err: fmt.Errorf("redaction plan: %w", s.fault.err())}
	}
	var room [1024]byte
	key := s.key(room[:0])
	if len(key) > maxSortKey {
		sum := sha256.Sum256(key)
		key = append(append(room[:0], 0xff), sum[:]...) // others begin with a digit
	}
	pl.mu.Lock()
	found := pl.young[string(key)]
	if found == nil {
		if found = pl.old[string(key)]; found != nil {
			pl.keep(string(key), found)
		}
	}
	pl.mu.Unlock()
	if found != nil && (found.late == 0 || pl.now().Before(found.until)) {
		return found
	}
	before := found
	found = pl.ask(ctx, s)
	if errors.Is(found.err, errPlanLate) || errors.Is(found.err, errPlansStuck) {
		found.delay(before, pl.now())
	}
	pl.mu.Lock()
	pl.keep(string(key), found)
	pl.mu.Unlock()
	return found
}

// delay says when a sort that got no answer in time is asked about again: at once
// after the first time, then ever later, so that not each payload waits for an
// answer that does not come. before is what was known of the sort; nil for nothing.
func (found *planned) delay(before *planned, now time.Time) {
	found.late = 1
	if before != nil {
		found.late = min(before.late+1, 10)
	}
	if found.late > 1 {
		found.until = now.Add(min(time.Second<<(found.late-2), maxPlanWait))
	}
}

// keep is called with the lock held.
func (pl *planner) keep(key string, found *planned) {
	if len(pl.young) >= maxPlans/2 {
		pl.old, pl.young = pl.young, make(map[string]*planned, maxPlans/2)
	}
	pl.young[key] = found
}

// ask evaluates the policies about a sort.
func (pl *planner) ask(ctx context.Context, s *payloadSort) *planned {
	found, err := pl.asked(ctx, s)
	if err == nil {
		err = found.err
	}
	if err != nil {
		pl.set.options.Logger.Error("redaction plan: the payload is withheld", "sink", s.p.Sink, "event", s.p.Kind, "error", err)
		return &planned{err: fmt.Errorf("redaction plan: %w", err)}
	}
	return found
}

func (pl *planner) asked(ctx context.Context, s *payloadSort) (*planned, error) {
	doc, err := s.document(pl.set)
	if err != nil {
		return nil, err
	}
	edits, err := pl.set.edits(ctx, doc)
	if err != nil {
		return nil, err
	}
	return pl.make(eitherName(edits), doc.Session.ID)
}

// agentTools are the names of one tool: which one stands in a payload is up to the
// version of the CLI.
var agentTools = []string{"Task", "Agent"}

// eitherName has edits for one of them be for both.
func eitherName(edits []redact.Edit) []redact.Edit {
	for i := range edits {
		tools := &edits[i].Select.Tools
		if slices.ContainsFunc(*tools, func(glob string) bool {
			return slices.ContainsFunc(agentTools, func(name string) bool { ok, _ := path.Match(glob, name); return ok })
		}) {
			*tools = slices.Concat(*tools, agentTools)
		}
	}
	return edits
}

// make makes the plan of a list of edits. Most sorts share one.
func (pl *planner) make(edits []redact.Edit, session string) (*planned, error) {
	spec := redact.Spec{Options: pl.options, Edits: edits, HashKey: pl.key}
	name, err := encoded(edits)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(edits, func(e redact.Edit) bool { return e.Action == redact.Hash }) {
		name += session
		spec.HashKey = sessionKeyOf(pl.key, session)
	}
	pl.mu.Lock()
	known, ok := pl.made.get(name)
	pl.mu.Unlock()
	if ok {
		return known, nil
	}
	known = newPlanned(spec)
	pl.mu.Lock()
	pl.made.put(name, known)
	pl.mu.Unlock()
	return known, nil
}

// sessionKeyOf is the key of a session's hashes: equal texts of two sessions are
// not to be told equal.
func sessionKeyOf(key []byte, session string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(session))
	return mac.Sum(nil)
}
