package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestCallsAreJudged(t *testing.T) {
	obliged := judging(func(context.Context, permission.InprocRequest) permission.Decision {
		return permission.Decision{Effect: permission.Allow, Rule: "own.sandbox", Obligations: []permission.Obligation{{Kind: "sandbox"}}}
	})
	for _, c := range []struct {
		name     string
		deciders []permission.InprocDecider
		gate     string // the input that passed the gate; empty: it was never asked
		rule     string // that refuses; empty: it runs
	}{
		{"passed the gate", nil, `{"a":1}`, ""},
		{"never asked at the gate", nil, "", "engine.inproc"},
		{"another input", nil, `{"a":2}`, "engine.inproc"},
		{"the same written otherwise", nil, `{ "a": 1.0 }`, ""},
		{"allowed without the gate", []permission.InprocDecider{ruling(permission.Allow)}, "", "engine.inproc"},
		{"allowed with another input", []permission.InprocDecider{ruling(permission.Allow)}, `{"a":2}`, "engine.inproc"},
		{"denied without the gate", []permission.InprocDecider{ruling(permission.Deny)}, "", "engine.inproc"},
		{"denied though it passed", []permission.InprocDecider{ruling(permission.Deny)}, `{"a":1}`, "own.deny"},
		{"halted", []permission.InprocDecider{ruling(permission.Halt)}, `{"a":1}`, "own.halt"},
		{"asked about", []permission.InprocDecider{ruling(permission.Ask)}, `{"a":1}`, "engine.decode"},
		{"changed", []permission.InprocDecider{ruling(permission.Modify)}, `{"a":1}`, "engine.decode"},
		{"no opinion", []permission.InprocDecider{ruling(permission.Abstain)}, `{"a":1}`, "engine.default"},
		{"an unknown effect", []permission.InprocDecider{ruling(99)}, `{"a":1}`, "engine.decode"},
		{"the strictest of two", []permission.InprocDecider{ruling(permission.Deny), ruling(permission.Allow)}, `{"a":1}`, "own.deny"},
		{"all have to allow", []permission.InprocDecider{ruling(permission.Allow), ruling(permission.Abstain)}, `{"a":1}`, "engine.default"},
		{"the strictest of three", []permission.InprocDecider{ruling(permission.Deny), ruling(permission.Halt), ruling(permission.Allow)}, `{"a":1}`, "own.halt"},
		{"two allow", []permission.InprocDecider{ruling(permission.Allow), ruling(permission.Allow)}, `{"a":1}`, ""},
		{"a panic", []permission.InprocDecider{judging(func(context.Context, permission.InprocRequest) permission.Decision { panic("no") }), ruling(permission.Allow)}, `{"a":1}`, "engine.panic"},
		{"nil", []permission.InprocDecider{nil}, `{"a":1}`, "engine.no_policy"},
		{"an obligation that cannot be met", []permission.InprocDecider{obliged}, `{"a":1}`, "engine.obligation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newInprocRig(t, func(o *Options) { o.Inproc = c.deciders })
			if c.gate != "" && !lets(r.gate("find", c.gate)) {
				t.Fatal("the gate denied the call")
			}
			answer := r.call("find", `{"a":1}`)
			if ran := r.tools.ran(`"find"`); ran != (c.rule == "") || strings.Contains(answer, `"done"`) != ran {
				t.Fatalf("ran: %v, answer %s", ran, answer)
			}
			if c.rule == "" {
				r.allowed()
			} else {
				r.refused(answer, c.rule, permission.PhaseCall)
			}
		})
	}
}

// allowed checks what is told of a call that ran: a record of it, and no event.
func (r inprocRig) allowed() {
	r.t.Helper()
	if strings.Contains(dumpOf(r.session), `"door":"inproc"`) {
		r.t.Errorf("an event tells of an allow:\n%s", dumpOf(r.session))
	}
	for _, rec := range r.log.of(audit.Decision) {
		if rec.Door == "inproc" && rec.Verdict.Effect == "allow" && strings.Contains(string(rec.Detail), `"phase":"call"`) && rec.Tool == "mcp__desk__find" {
			return
		}
	}
	r.t.Errorf("no record of the allow: %s", r.log.whole(r.t.(*testing.T)))
}

// refused checks what is told of a refusal: to the model, in an event and in a record.
func (r inprocRig) refused(answer, rule, phase string) {
	r.t.Helper()
	if !strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, "rule "+rule) || !strings.Contains(answer, `"id":7`) {
		r.t.Errorf("answer = %s", answer)
	}
	told := false
	for _, e := range r.session.Events(nil, 0).Events {
		var rec permissionRecord
		if json.Unmarshal(e.Data, &rec) == nil && rec.Door == "inproc" {
			told = rec.Rule == rule && rec.Phase == phase && rec.Behavior == "deny" && rec.Source == "policy" && rec.ToolUseID == "toolu_1"
		}
	}
	if !told {
		r.t.Errorf("no event of a refusal by %s:\n%s", rule, dumpOf(r.session))
	}
	for _, rec := range r.log.of(audit.Decision) {
		if rec.Door == "inproc" && rec.Verdict.Rule == rule && rec.Verdict.Effect != "allow" && strings.Contains(string(rec.Detail), `"phase":"`+phase+`"`) {
			return
		}
	}
	r.t.Errorf("no record of a refusal by %s: %s", rule, r.log.whole(r.t.(*testing.T)))
}

func TestOneApprovalOneCall(t *testing.T) {
	r := newInprocRig(t, nil)
	r.gate("find", `{"b":[{"x":-0.0},100],"a":1.0,"n":12345678901234567890}`)
	same := `{"a":1,"n":12345678901234567000,"b":[{"x":0},1e2]}`
	if answer := r.call("other", same); !strings.Contains(answer, ruleInproc) {
		t.Errorf("another tool ran: %s", answer)
	}
	if answer := r.wait(r.send(callMessage(7, "find", same, "toolu_2"))); !strings.Contains(answer, ruleInproc) {
		t.Errorf("another call ran: %s", answer)
	}
	if answer := r.call("find", same); !strings.Contains(answer, `"done"`) {
		t.Errorf("the CLI's own way to write it was refused: %s", answer)
	}
	if answer := r.call("find", same); !strings.Contains(answer, ruleInproc) {
		t.Errorf("one approval let two calls run: %s", answer)
	}
	r.gate("find", `{}`)
	r.gate("find", `{}`)
	for i := range 3 {
		message := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"find","_meta":{"claudecode/toolUseId":"toolu_1"}}}`
		if ran := strings.Contains(r.wait(r.send(message)), `"done"`); ran != (i < 2) {
			t.Errorf("call %d of two that were allowed: ran %v", i, ran)
		}
	}
}

func TestPassesAreBounded(t *testing.T) {
	var p passes
	for i := range maxPasses + 1 {
		p.add(fmt.Sprint(i), "t", json.RawMessage(`{}`), pass{decision: permission.Decision{Effect: permission.Allow}})
	}
	if len(p.order) != maxPasses || len(p.open) != maxPasses {
		t.Errorf("%d are kept", len(p.order))
	}
	if p.take("0", "t", json.RawMessage(`{}`)).decision.Effect != permission.Abstain {
		t.Error("one that was forgotten passes")
	}
	if p.take("1", "t", json.RawMessage(`{}`)).decision.Effect != permission.Allow || len(p.order) != maxPasses-1 {
		t.Error("one that was kept does not pass")
	}
	p.add("", "t", json.RawMessage(`{}`), pass{})
	if p.clear(); len(p.open)+len(p.order) != 0 {
		t.Error("something is left")
	}
}

func TestHowItPassedIsSeen(t *testing.T) {
	var seen permission.InprocRequest
	r := newInprocRig(t, func(o *Options) {
		o.Inproc = []permission.InprocDecider{judging(func(_ context.Context, r permission.InprocRequest) permission.Decision {
			if r.Phase == permission.PhaseCall {
				seen = r
			}
			return permission.Decision{Effect: permission.Allow, Rule: "all"}
		})}
	})
	for _, c := range []struct {
		tool, input, runs string
		answer            *Answer
		effect            permission.Effect
		approver          string
	}{
		{"find", `{"a":1}`, `{"a":1}`, nil, permission.Allow, ""},
		{"change", `{"a":1}`, `{"a":"changed"}`, nil, permission.Modify, ""},
		{"ask", `{"a":1}`, `{"a":1}`, &Answer{Allow: true}, permission.Ask, "client"},
		{"ask", `{"a":2}`, `{"a":2}`, &Answer{Allow: true, Approver: "human"}, permission.Ask, "human"},
		{"ask", `{"a":3}`, `{"a":4}`, &Answer{Allow: true, UpdatedInput: json.RawMessage(`{"a":4}`)}, permission.Ask, "client"},
		{"ask", `{"a":5}`, `{"a":5}`, &Answer{}, permission.Abstain, ""},
		{"change", `{"a":1}`, `{"a":1}`, nil, permission.Abstain, ""}, // not what was allowed
	} {
		r.answered(t, askFor("mcp__desk__"+c.tool, c.input), c.answer)
		seen = permission.InprocRequest{}
		r.call(c.tool, c.runs)
		if c.effect == permission.Abstain {
			if seen.Phase != "" {
				t.Errorf("%+v: somebody was asked about a call that did not pass", c)
			}
			continue
		}
		if seen.Passed.Effect != c.effect || seen.Approver != c.approver || seen.Call.AgentID != "a1" || string(seen.Call.Input) != c.runs {
			t.Errorf("%+v: passed by %s, approver %q, agent %q, input %s", c, seen.Passed.Effect, seen.Approver, seen.Call.AgentID, seen.Call.Input)
		}
		if seen.Server != "desk" || seen.Call.Door != permission.DoorInproc || seen.Call.Tool != "mcp__desk__"+c.tool || seen.Call.ToolUseID != "toolu_1" || seen.Call.SessionID != r.session.id {
			t.Errorf("%+v: request %+v", c, seen)
		}
		r.governing.passes.clear()
	}
}

func TestHaltsInterrupt(t *testing.T) {
	for _, c := range []struct {
		name   string
		effect permission.Effect
		max    int
		ends   bool
	}{{"halt", permission.Halt, -1, true}, {"one denial", permission.Deny, 2, false}, {"too many denials", permission.Deny, 1, true}} {
		t.Run(c.name, func(t *testing.T) {
			r := newInprocRig(t, func(o *Options) { o.Inproc, o.MaxDenials = []permission.InprocDecider{ruling(c.effect)}, c.max })
			r.callPassed("find", `{}`)
			deadline := time.Now().Add(2 * time.Minute)
			for c.ends && !r.wire.wrote(`"interrupt"`) && time.Now().Before(deadline) {
				time.Sleep(time.Millisecond)
			}
			if r.wire.wrote(`"interrupt"`) != c.ends || strings.Contains(dumpOf(r.session), `"interrupt":true`) != c.ends {
				t.Errorf("interrupted: %v\n%s", !c.ends, dumpOf(r.session))
			}
			if r.session.facts().Denies != 1 {
				t.Errorf("%d denials are counted", r.session.facts().Denies)
			}
		})
	}
}

func TestCallWaitsForItsRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newInprocRig(t, nil)
		r.gate("find", `{}`)
		r.log.fail = func(rec audit.Record) error {
			if rec.Door == "inproc" {
				<-release
			}
			return nil
		}
		out := r.send(callMessage(7, "find", `{}`, "toolu_1"))
		time.Sleep(time.Second)
		synctest.Wait()
		if r.tools.ran("find") {
			t.Error("it ran before the record was written")
		}
		close(release)
		if answer := r.wait(out); !strings.Contains(answer, `"done"`) {
			t.Errorf("answer = %s", answer)
		}
	})
}

func TestCallWithoutRecordIsRefused(t *testing.T) {
	r := newInprocRig(t, nil)
	r.gate("find", `{}`)
	r.log.fail = func(rec audit.Record) error {
		if rec.Door == "inproc" && rec.Verdict.Effect == "allow" {
			return errors.New("disk")
		}
		return nil
	}
	r.refused(r.call("find", `{}`), ruleAudit, permission.PhaseCall)
	if r.tools.ran("find") {
		t.Error("it ran")
	}
}

// A call cannot reach its server without the permit of a record.
func TestNoDeliveryWithoutPermit(t *testing.T) {
	r := newInprocRig(t, nil)
	out := make(chan string, 1)
	m, err := readMessage(json.RawMessage(callMessage(7, "find", `{}`, "toolu_1")))
	if err != nil {
		t.Fatal(err)
	}
	c, err := r.newCall("desk", r.tools, m, func(a json.RawMessage) { out <- string(a) })
	if err != nil {
		t.Fatal(err)
	}
	if c.deliver(permit{}); r.tools.ran("find") || !strings.Contains(<-out, ruleAudit) {
		t.Error("it ran without one")
	}
}

func TestHungDecider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newInprocRig(t, func(o *Options) {
			o.Inproc = []permission.InprocDecider{judging(func(context.Context, permission.InprocRequest) permission.Decision {
				<-release // deaf to its context
				return permission.Decision{Effect: permission.Allow}
			})}
		})
		r.gate("find", `{}`)
		began := time.Now()
		answer := r.call("find", `{}`)
		if time.Since(began) != judgeWithin {
			t.Errorf("answered after %s", time.Since(began))
		}
		r.refused(answer, "engine.timeout", permission.PhaseCall)
		var more []<-chan string
		for id := range maxJudged - 1 { // the first one hangs still
			more = append(more, r.sendPassed(100+id, "find", `{}`))
		}
		if answer := r.callPassed("find", `{}`); !strings.Contains(answer, "128 calls") || !strings.Contains(answer, `"isError":true`) {
			t.Errorf("one more was answered %s", answer)
		}
		for _, out := range more {
			if answer := r.wait(out); !strings.Contains(answer, "engine.timeout") {
				t.Errorf("answer = %s", answer)
			}
		}
		close(release)
		synctest.Wait()
		if len(r.governing.judging) != 0 {
			t.Errorf("%d places are taken", len(r.governing.judging))
		}
		if r.tools.ran("find") {
			t.Error("a late allow let it run")
		}
	})
}
