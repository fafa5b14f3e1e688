package realcli

import (
	"math"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// sums are the totals of one answer of a call that blocks.
type sums struct {
	turns, all float64
	cost, sum  float64 // in thousandths of a dollar, which a reply of the scripted model costs
}

func (d desk) check(what string, a toolAnswer, result string, want sums) {
	d.Helper()
	number := func(name string) float64 { n, _ := a.object[name].(float64); return n }
	mills := func(name string) float64 { return math.Round(number(name)*1e6) / 1e3 }
	got := sums{number("numTurns"), number("sessionTotalTurns"), mills("totalCostUsd"), mills("sessionTotalCostUsd")}
	if a.failed || a.object["isError"] != false || text(a.object, "result") != result || got != want {
		d.Errorf("%s: %+v, want %q and %+v in %s", what, got, result, want, encoded(a.object))
	}
}

// TestBlockingCallsAndTotals: calls with a timeout answer with the whole result;
// what one costs is told for the call and for the session, over replies, a new
// process, forks and a restart of the server.
func TestBlockingCallsAndTotals(t *testing.T) {
	l := newLab(t)
	l.serve(bash("touch x"), fakeapi.Say("ONE"), fakeapi.Say("TWO"), fakeapi.Say("FORKED"), fakeapi.Say("THREE"), fakeapi.Say("FOUR"))
	l.open(l.resumable, l.storing)
	d := l.desk(mpmserver.Options{})
	a := d.use("claude_code", object{"prompt": "one", "timeout": 60000, "allowedTools": []string{"Bash(touch *)"}})
	d.check("start", a, "ONE", sums{2, 2, 2, 2})
	for _, name := range []string{"sessionId", "durationMs", "durationApiMs", "stopReason", "usage", "modelUsage", "permissionDenials", "resumeToken"} {
		if a.object[name] == nil {
			t.Errorf("%s is missing: %s", name, encoded(a.object))
		}
	}
	id := text(a.object, "sessionId")
	reply := func(prompt string, more object) toolAnswer {
		arguments := object{"sessionId": id, "prompt": prompt, "timeout": 60000}
		for name, value := range more {
			arguments[name] = value
		}
		return d.use("claude_code_reply", arguments)
	}
	d.check("reply to the warm process", reply("two", nil), "TWO", sums{1, 3, 1, 3})
	fork := reply("forked", object{"forkSession": true})
	d.check("fork", fork, "FORKED", sums{1, 1, 1, 1})
	if text(fork.object, "sessionId") == id {
		t.Error("the fork has the id of the session")
	}
	a = reply("three", nil)
	d.check("reply after the fork", a, "THREE", sums{1, 4, 1, 4})
	l.reopen(l.resumable, l.storing)
	d = l.desk(mpmserver.Options{})
	a = reply("four", object{"resumeToken": a.object["resumeToken"], "cwd": l.project})
	d.check("resume after a restart", a, "FOUR", sums{1, 5, 1, 5})
	d.remembers([]string{"ONE", "THREE"}, "FORKED")
}

// TestBlockingCallsThatFail: with sync every call blocks and asks nobody; a failure
// of the API, and a limit that is over, fail the call and not the session.
func TestBlockingCallsThatFail(t *testing.T) {
	l := newLab(t)
	l.serve(bash("mkdir made"), fakeapi.Say("DENIED"), fakeapi.Fail(529, "overloaded_error", "Overloaded"),
		fakeapi.Turn{Text: "never said", Delay: 5 * time.Minute}, fakeapi.Say("WELL"))
	l.open()
	d := l.desk(mpmserver.Options{}, func(o *mcpserver.Options) { o.Sync = true })
	a := d.use("claude_code", object{"prompt": "go"})
	denials, _ := a.object["permissionDenials"].([]any)
	if text(a.object, "result") != "DENIED" || len(denials) != 1 || exists(l.path("made")) {
		t.Fatalf("answer %s", encoded(a.object))
	}
	id := text(a.object, "sessionId")
	a = d.use("claude_code_reply", object{"sessionId": id, "prompt": "on"})
	if !a.failed || a.object["isError"] != true || text(a.object, "errorType") != "APIError" || text(a.object, "status") != "error" {
		t.Errorf("overload: %s", encoded(a.object))
	}
	a = d.use("claude_code_reply", object{"sessionId": id, "prompt": "on", "timeout": 1500})
	if !a.failed || a.object["isError"] != true || text(a.object, "code") != "TIMEOUT" {
		t.Errorf("timeout: %s", encoded(a.object))
	}
	a = d.use("claude_code_reply", object{"sessionId": id, "prompt": "on"})
	if a.failed || text(a.object, "result") != "WELL" {
		t.Errorf("after the failures: %s", encoded(a.object))
	}
}
