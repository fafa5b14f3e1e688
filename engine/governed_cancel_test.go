package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func cancelMessage(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"no"}}`
}

// waitingFor is a decider that allows once it is released or given up.
func waitingFor(release chan struct{}) judging {
	return func(ctx context.Context, r permission.InprocRequest) permission.Decision {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return permission.Decision{Effect: permission.Allow, Rule: "late"}
	}
}

func TestCancelWhileJudged(t *testing.T) {
	for _, by := range []string{"cancel", "initialize", "record"} {
		t.Run(by, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{waitingFor(release)} })
				if by == "record" {
					r.log.hang = func(rec audit.Record) bool { return rec.Door == "inproc" }
					close(release)
				}
				out := r.sendPassed(7, "find", `{}`)
				synctest.Wait()
				message := cancelMessage("7")
				if by == "initialize" {
					message = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}`
				}
				acked := r.wait(r.send(message))
				if by != "initialize" && acked != string(acknowledged) {
					t.Errorf("the cancel was answered %s", acked)
				}
				if answer := r.wait(out); !strings.Contains(answer, "cancelled before it ran") || !strings.Contains(answer, `"id":7`) {
					t.Errorf("answer = %s", answer)
				}
				if by != "record" {
					close(release)
				}
				synctest.Wait()
				if r.tools.ran("find") || r.tools.ran("cancelled") || len(out) != 0 {
					t.Errorf("delivered: %q, more answers: %d", r.tools.delivered(), len(out))
				}
				if strings.Contains(dumpOf(r.session), "permission_result") {
					t.Errorf("events:\n%s", dumpOf(r.session))
				}
				if noted := strings.Contains(r.log.whole(t), "engine.cancelled"); noted != (by == "record") {
					t.Errorf("a record says that it did not run: %v", noted)
				}
				r.log.hang = nil
				again := r.sendPassed(7, "find", `{}`)
				if answer := r.wait(again); !strings.Contains(answer, `"done"`) {
					t.Errorf("its id is in use: %s", answer)
				}
			})
		})
	}
}

// A call that runs is the server's to cancel, which hears of it after the call.
func TestCancelWhileItRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{ruling(permission.Allow)} })
		r.tools.answer = func(id, _ string) string { return map[string]string{"": string(acknowledged)}[id] }
		out := r.sendPassed(7, "find", `{}`)
		synctest.Wait()
		for _, id := range []string{"7", "8", `"a"`, "null", "[]"} {
			if acked := r.wait(r.send(cancelMessage(id))); acked != string(acknowledged) {
				t.Errorf("%s: answered %s", id, acked)
			}
		}
		if got := r.tools.delivered(); len(got) != 6 || !strings.Contains(got[0], "find") || !strings.Contains(got[1], "cancelled") {
			t.Errorf("delivered %q", got)
		}
		r.tools.waiting["7"](json.RawMessage(`{"jsonrpc":"2.0","id":7,"result":{"content":[],"isError":true}}`))
		if answer := r.wait(out); !strings.Contains(answer, `"isError":true`) {
			t.Errorf("answer = %s", answer)
		}
	})
}

func TestIdsAndBoundsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{ruling(permission.Allow)} })
		r.tools.answer = func(string, string) string { return "" }
		first := r.sendPassed(1, "find", `{}`)
		if answer := r.wait(r.sendPassed(1, "find", `{}`)); !strings.Contains(answer, "-32600") || !strings.Contains(answer, "id 1:") {
			t.Errorf("an id twice: %s", answer)
		}
		other := make(chan string, 1) // its ids are its own
		r.passing("shelf", "find", `{}`, "toolu_1")
		r.governed(context.Background(), "shelf", r.tools, json.RawMessage(callMessage(1, "find", `{}`, "toolu_1")), func(a json.RawMessage) { other <- string(a) })
		for id := 2; id < maxUnderWay; id++ {
			r.sendPassed(id, "find", `{}`)
			synctest.Wait()
		}
		if answer := r.wait(r.sendPassed(9999, "find", `{}`)); !strings.Contains(answer, "512 calls") {
			t.Errorf("one too many: %s", answer)
		}
		if len(first)+len(other) != 0 {
			t.Error("answered too early")
		}
		r.end(ended{"process"})
		r.governing.close()
		if !strings.Contains(r.wait(first), endedText) || !strings.Contains(r.wait(other), endedText) {
			t.Error("not answered in the end")
		}
	})
}

// A hundred calls, half of them cancelled somewhere on their way: each is answered
// once, under its id.
func TestManyCallsHalfCancelled(t *testing.T) {
	const n = 100
	r := newInprocRig(t, func(o *Options) {
		withPlanted(false)(o)
		o.Inproc = []permission.InprocDecider{ruling(permission.Allow)}
	})
	r.tools.answer = func(id, message string) string {
		if id == "" {
			return string(acknowledged)
		}
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"content":[{"type":"text","text":"of ` + id + ` ` + plantedSecret + `"}]}}`
	}
	var answers [n]atomic.Int32
	var all sync.WaitGroup
	for i := range n {
		all.Add(1)
		r.passing("desk", "find", `{"a":1}`, fmt.Sprint("toolu_", i))
		r.governed(context.Background(), "desk", r.tools, json.RawMessage(callMessage(i, "find", `{"a":1}`, fmt.Sprint("toolu_", i))), func(a json.RawMessage) {
			if answers[i].Add(1) == 1 {
				all.Done()
			}
			text := string(a)
			if !strings.Contains(text, fmt.Sprintf(`"id":%d,`, i)) || strings.Contains(text, plantedSecret) ||
				!strings.Contains(text, fmt.Sprintf("of %d [REDACTED", i)) && !strings.Contains(text, cancelledText) {
				t.Errorf("call %d was answered %s", i, text)
			}
		})
		if i%2 == 1 {
			all.Add(1)
			r.governed(context.Background(), "desk", r.tools, json.RawMessage(cancelMessage(fmt.Sprint(i))), func(json.RawMessage) { all.Done() })
		}
	}
	all.Wait()
	r.end(ended{"process"})
	r.governing.close()
	for i := range answers {
		if got := answers[i].Load(); got != 1 {
			t.Errorf("call %d has %d answers", i, got)
		}
	}
	if len(r.governing.calls) != 0 {
		t.Errorf("%d calls are left", len(r.governing.calls))
	}
}
