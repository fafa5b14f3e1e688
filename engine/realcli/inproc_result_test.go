package realcli

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// What a tool of this process gives back is covered before the CLI has it: also an
// error, which no hook can replace, a result's members that no hook sees, and what
// the CLI writes to its own logs.
func TestResultsOfThisProcessAreCoveredBeforeTheCLIHasThem(t *testing.T) {
	l, h := newLab(t), newHouse()
	tools := []string{"tell", "shape", "fail", "break", "panic", "long"}
	var turns []fakeapi.Turn
	for _, tool := range tools {
		turns = append(turns, h.use(tool, nil))
	}
	l.serve(append(turns, h.use("keep", nil), fakeapi.Say("done"))...)
	l.open(covering(l), h.offered)
	s := l.start("go")
	events := l.turns(s, 1, allow)
	if n := len(h.calls()); n != len(tools)+1 {
		t.Errorf("%d tools ran: %q", n, h.calls())
	}
	if l.conversed(kept) || strings.Contains(dump(s), kept) {
		t.Errorf("the model saw the secret: %v\n%s", l.conversed(kept), dump(s))
	}
	for _, text := range []string{"it is COVERED.", `{"key":"COVERED"}`, "refused COVERED", "broke on COVERED", "MARK-KEPT"} {
		if !saw(events, event.ToolResult, text) {
			t.Errorf("no result holds %s\n%s", text, dump(s))
		}
	}
	l.ended(s)
	if files := l.onDisk(kept); len(files) > 0 {
		t.Errorf("the CLI kept the secret in %q", files)
	}
}

// A failing redactor lets nothing through.
func TestResultsOfThisProcessAreWithheldWhenRedactionFails(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(h.use("tell", nil), h.use("shape", nil), h.use("fail", nil), fakeapi.Say("done"))
	l.open(h.offered, func(o *engine.Options) { o.Redactors = []event.Redactor{broken{}} })
	s := l.start("go")
	l.turns(s, 1, allow)
	if len(h.calls()) != 3 || l.api.Saw(kept) || strings.Contains(dump(s), kept) {
		t.Errorf("ran %q; a result passed a failing redactor: %v\n%s", h.calls(), l.api.Saw(kept), dump(s))
	}
	l.ended(s)
	if files := l.onDisk(kept); len(files) > 0 {
		t.Errorf("the CLI kept the secret in %q", files)
	}
}

// Duties of a call hold for its result, successful or not.
func TestDutiesOfCallsOfThisProcess(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(
		h.use("tell", object{"do": "hidden"}), h.use("shape", object{"do": "hidden"}), h.use("fail", object{"do": "hidden"}),
		h.use("tell", object{"do": "long"}), fakeapi.Say("done"))
	l.open(h.offered, func(*engine.Options) { l.judge.next = owing{} })
	s := l.start("go")
	l.turns(s, 1, allow)
	if len(h.calls()) != 4 || l.api.Saw(kept) || strings.Contains(dump(s), kept) {
		t.Errorf("ran %q; the model saw what was to be hidden: %v\n%s", h.calls(), l.api.Saw(kept), dump(s))
	}
	if !l.api.Saw("it is MAR\\n[cut at 9 bytes by rule test.allow]") {
		t.Errorf("the output was not cut:\n%s", dump(s))
	}
}

// refusing is an in-process decider that refuses calls and results by words.
type refusing struct{}

// Inproc implements permission.InprocDecider.
func (refusing) Inproc(_ context.Context, r permission.InprocRequest) permission.Decision {
	switch {
	case r.Phase == permission.PhaseCall && strings.Contains(string(r.Call.Input), "no call"):
		return permission.Decision{Effect: permission.Deny, Rule: "inproc.call", Reason: "MARK-NO-CALL"}
	case r.Phase == permission.PhaseResult && strings.Contains(string(r.Call.Input), "no result"):
		return permission.Decision{Effect: permission.Deny, Rule: "inproc.result", Reason: "MARK-NO-RESULT"}
	}
	return permission.Decision{Effect: permission.Allow, Rule: "inproc.allow"}
}

func TestCallsAndResultsAreJudgedHereToo(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(
		h.use("keep", object{"n": "no call"}), h.use("tell", object{"n": "no result"}), h.use("fail", object{"n": "no result"}),
		h.use("keep", object{"n": "fine"}), fakeapi.Say("done"))
	l.open(h.offered, func(o *engine.Options) { o.Inproc = []permission.InprocDecider{refusing{}} })
	s := l.start("go")
	events := l.turns(s, 1, allow)
	want := []string{`tell {"n":"no result"}`, `fail {"n":"no result"}`, `keep {"n":"fine"}`}
	if got := h.calls(); !slices.Equal(got, want) || l.api.Saw(kept) {
		t.Errorf("ran %q, want %q; the model saw a refused result: %v\n%s", got, want, l.api.Saw(kept), dump(s))
	}
	for _, rule := range []string{"inproc.call", "inproc.result"} {
		if !l.api.Saw(rule) || !saw(events, event.PermissionResult, rule) {
			t.Errorf("%s is not told: to the model %v\n%s", rule, l.api.Saw(rule), dump(s))
		}
	}
	if !l.api.Saw("MARK-KEPT") {
		t.Error("the model did not get the result that nobody refused")
	}
}

// What of a server is no call passes the gate by the CLI's own tools for it.
func TestResourcesOfThisProcessAreJudgedAndCovered(t *testing.T) {
	l, h := newLab(t), newHouse()
	h.AddResource(&mcp.Resource{URI: "house://plan", Name: "plan"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		h.note("plan")
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: "house://plan", Text: "the plan: " + kept}}}, nil
	})
	read := fakeapi.Use("ReadMcpResourceTool", object{"server": "house", "uri": "house://plan"})
	l.serve(fakeapi.Use("ListMcpResourcesTool", object{}), read, read, fakeapi.Say("done"))
	l.open(h.offered, func(o *engine.Options) { o.Redactors = []event.Redactor{cover{kept}} })
	s := l.start("go")
	reads := 0
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		if a.ToolName == "ReadMcpResourceTool" {
			reads++
		}
		return engine.Answer{Allow: reads != 1}
	})
	if reads != 2 || !slices.Equal(h.calls(), []string{"plan"}) || l.conversed(kept) || !l.conversed("the plan: COVERED") {
		t.Errorf("asked %d times, read %q, the model saw the secret: %v\n%s", reads, h.calls(), l.conversed(kept), dump(s))
	}
	l.ended(s)
	if files := l.onDisk(kept); len(files) > 0 {
		t.Errorf("the CLI kept the secret in %q", files)
	}
}
