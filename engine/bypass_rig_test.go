package engine

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// scriptedRules decides all calls alike, as changed for the test.
type scriptedRules struct {
	decision permission.Decision
	revision *string // nil: "r7"
}

func (r *scriptedRules) Decide(context.Context, permission.Request) (permission.Decision, error) {
	d := r.decision
	d.Revision = r.Revision()
	return d, nil
}

func (r *scriptedRules) Revision() string {
	if r.revision != nil {
		return *r.revision
	}
	return "r7"
}

// anAsk is a question that the bypass may answer, with a change.
func anAsk(change func(*permission.Decision)) permission.Decision {
	d := permission.Decision{
		Effect: permission.Ask, Rule: "git.push", Reason: "it publishes", By: "policy", Layer: "builtin", Severity: "medium",
		Rules: []string{"ask:git.push"}, Asking: []string{"builtin:git.push"},
	}
	if change != nil {
		change(&d)
	}
	return d
}

// inMode gives the session a mode.
func (p *process) inMode(mode string) *process {
	p.session.mu.Lock()
	defer p.session.mu.Unlock()
	p.session.mode, p.session.beyond = mode, modeBeyond(mode)
	return p
}

// configured is a Configure that has to work.
func (p *process) configured(t testing.TB, action string) Bypass {
	t.Helper()
	b, err := p.session.engine.Configure(t.Context(), action)
	if err != nil {
		t.Fatalf("%s: %v", action, err)
	}
	return b
}

// outcomeOf makes a request and says what became of it: "asked", or the answer. A
// question that was put is denied.
func (p *process) outcomeOf(t testing.TB, r control.Request) string {
	t.Helper()
	out := p.begin(r)
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		select {
		case a := <-out:
			return a
		default:
		}
		if open := p.session.Pending(); len(open) > 0 {
			if err := p.session.Answer(context.Background(), Answer{RequestID: open[0].RequestID}); err != nil {
				t.Error(err)
			}
			<-out
			return "asked"
		}
	}
	t.Fatalf("neither question nor answer:\n%s", dumpOf(p.session))
	return ""
}

func oneMember(name string, v any) map[string]json.RawMessage {
	raw, _ := json.Marshal(v)
	return map[string]json.RawMessage{name: raw}
}
