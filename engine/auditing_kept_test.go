package engine_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// auditNotes is an audit log in memory.
type auditNotes struct {
	mu  sync.Mutex
	all []audit.Record
}

func (a *auditNotes) Record(_ context.Context, r audit.Record) error {
	a.Note(r)
	return nil
}

func (a *auditNotes) Note(r audit.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.all = append(a.all, r)
}

// of returns the records of a kind about a session.
func (a *auditNotes) of(kind audit.Kind, session string) (found []audit.Record) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.all {
		if r.Kind == kind && r.Session == session {
			found = append(found, r)
		}
	}
	return found
}

// TestRestartIsRecorded: what a crash cut off is in the audit log of the next
// server, once, and so is the cancel of a session that is only kept.
func TestRestartIsRecorded(t *testing.T) {
	m := newMemoryStore()
	h := newHarness(t, askOnce, storing(m, nil))
	s, err := h.start(nil)
	if err != nil {
		t.Fatal(err)
	}
	a := h.action(s)
	m.crash()
	log := &auditNotes{}
	for range 2 {
		next := nextServer(t, h, m, askOnce, func(o *engine.Options) { o.Audit = log })
		kept := next.mustFind(s.ID())
		if !find(kept, event.PermissionResult, `"input":`+string(a.Input)) {
			t.Errorf("the denial does not tell the input of the question:\n%s", dump(kept))
		}
		denied, ended := log.of(audit.Decision, s.ID()), log.of(audit.SessionEnd, s.ID())
		if len(denied) != 1 || len(ended) != 1 {
			t.Fatalf("recorded: %d denials, %d ends", len(denied), len(ended))
		}
		r := denied[0]
		if r.RequestID != a.RequestID || r.Tool != a.ToolName || r.Verdict.Effect != "deny" || r.Verdict.Rule != "engine.restart" || r.By.Name != "restart" || r.Cwd != h.dir {
			t.Errorf("denial %+v, %+v, %+v", r, r.Verdict, r.By)
		}
		if !strings.Contains(string(ended[0].Detail), `"source":"restart"`) {
			t.Errorf("end %s", ended[0].Detail)
		}
	}
	next := nextServer(t, h, m, askOnce, func(o *engine.Options) { o.Audit = log })
	if err := next.mustFind(s.ID()).Cancel(t.Context(), "no more", "test"); err != nil {
		t.Fatal(err)
	}
	ended := log.of(audit.SessionEnd, s.ID())
	if len(ended) != 2 || !strings.Contains(string(ended[1].Detail), `"final":true`) || !strings.Contains(string(ended[1].Detail), `"reason":"no more"`) {
		t.Errorf("ends: %+v", ended)
	}
}
