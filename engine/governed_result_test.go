package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// answering has the tool server answer with a result or an error.
func (r inprocRig) answering(member, value string) {
	r.tools.answer = func(id, _ string) string { return `{"jsonrpc":"2.0","id":` + id + `,"` + member + `":` + value + `}` }
}

// hookEnd is what the CLI tells of a call that has ended.
func hookEnd(tool, member, value string) map[string]json.RawMessage {
	name, _ := json.Marshal("mcp__desk__" + tool)
	return map[string]json.RawMessage{
		"tool_name": name, "tool_use_id": json.RawMessage(`"toolu_1"`), "agent_id": json.RawMessage(`"a1"`), member: json.RawMessage(value),
	}
}

func TestResultsAreCovered(t *testing.T) {
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	const mark = "[REDACTED:planted]"
	for _, c := range []struct{ name, member, value, want string }{
		{"clean", "result", `{"content":[` + text("a") + `],"isError":false,"more":1}`, ""},
		{"content", "result", `{"content":[` + text("a "+plantedSecret) + `]}`, `{"content":[{"text":"a ` + mark + `","type":"text"}]}`},
		{"beside it", "result", `{"content":[],"structuredContent":{"k":["` + plantedSecret + `",1]},"_meta":{"x":"` + plantedSecret + `"},"other":"` + plantedSecret + `"}`,
			`{"_meta":{"x":"` + mark + `"},"content":[],"other":"` + mark + `","structuredContent":{"k":["` + mark + `",1]}}`},
		{"the name of a member", "result", `{"content":[],"` + plantedSecret + `":1}`, `{"content":[]}`},
		{"a failed call", "result", `{"isError":true,"content":[` + text(plantedSecret) + `]}`, `{"content":[{"text":"` + mark + `","type":"text"}],"isError":true}`},
		{"an odd flag", "result", `{"isError":"yes","content":[` + text(plantedSecret) + `]}`, `{"content":[{"text":"` + mark + `","type":"text"}],"isError":"yes"}`},
		{"an error", "error", `{"code":-32000,"message":"no ` + plantedSecret + `","data":{"k":"` + plantedSecret + `"}}`, `{"code":-32000,"message":"no ` + mark + `","data":{"k":"` + mark + `"}}`},
		{"an error's odd parts", "error", `{"code":"` + plantedSecret + `","message":7,"data":"` + plantedSecret + `","more":"` + plantedSecret + `"}`, `{"code":-32603,"message":"the tool server failed the call","data":"` + mark + `"}`},
		{"a picture", "result", `{"content":[{"type":"image","data":"` + plantedSecret + `","mimeType":"image/png"}]}`, `{"content":[{"type":"text","text":"[withheld]"}]}`},
		{"no content", "result", `{}`, ""},
		{"a list that is none", "result", `{"content":"` + plantedSecret + `"}`, `{"content":"` + mark + `"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newInprocRig(t, withPlanted(false))
			r.gate("find", `{}`)
			r.answering(c.member, c.value)
			if c.want == "" {
				c.want = c.value
			}
			if answer := r.call("find", `{}`); answer != `{"jsonrpc":"2.0","id":7,"`+c.member+`":`+c.want+`}` {
				t.Errorf("answer = %s\nwant     %s", answer, c.want)
			}
		})
	}
}

func TestBrokenRedactionWithholds(t *testing.T) {
	for member, value := range map[string]string{
		"result": `{"content":[{"type":"text","text":"fine"}],"structuredContent":{"a":"fine"},"isError":true}`,
		"error":  `{"code":1,"message":"fine","data":"fine"}`,
	} {
		r := newInprocRig(t, withPlanted(true))
		r.gate("find", `{}`)
		r.answering(member, value)
		if answer := r.call("find", `{}`); strings.Contains(answer, "fine") || !strings.Contains(answer, withheldWord) || !json.Valid([]byte(answer)) {
			t.Errorf("answer = %s", answer)
		}
	}
}

// A result is changed where it is made: what failed the CLI hands on as it is.
func TestDutiesOfResults(t *testing.T) {
	failed := `{"content":[{"type":"text","text":"long words"}],"structuredContent":{"k":"long words"},"_meta":{"m":"long words"},"isError":true}`
	for _, c := range []struct{ tool, member, value, want string }{
		{"withhold", "result", failed, `{"content":[{"type":"text","text":"[withheld]"}],"isError":true,"structuredContent":{"k":"[withheld]"}}`},
		{"withhold", "error", `{"code":-1,"message":"long words","data":"long words"}`, `{"code":-1,"message":"[withheld]"}`},
		{"limit", "result", failed, `{"content":[{"text":"long\n[cut at 4 bytes by rule gate.rule]","type":"text"}],"isError":true,"structuredContent":{"k":"long\n[cut at 4 bytes by rule gate.rule]"}}`},
		{"limit", "error", `{"code":-1,"message":"long words"}`, `{"code":-1,"message":"long\n[cut at 4 bytes by rule gate.rule]"}`},
		{"plugin", "result", failed, failed}, // which is there
		{"find", "result", failed, failed},
		{"withhold", "result", plainResult, `{"content":[{"type":"text","text":"[withheld]"}]}`},
		{"limit", "result", plainResult, plainResult},
	} {
		t.Run(c.tool+" "+c.member, func(t *testing.T) {
			r := newInprocRig(t, func(o *Options) { o.OutputPlugin = func(string) bool { return true } })
			if !lets(r.gate(c.tool, `{}`)) {
				t.Fatal("the gate denied the call")
			}
			r.answering(c.member, c.value)
			if answer := r.call(c.tool, `{}`); answer != `{"jsonrpc":"2.0","id":7,"`+c.member+`":`+c.want+`}` {
				t.Errorf("answer = %s\nwant     %s", answer, c.want)
			}
			if c.value == plainResult {
				if left, owed := r.session.duties.end("a1", "toolu_1"); !owed {
					t.Errorf("PostToolUse meets nothing: %+v", left)
				}
				return
			}
			r.postToolUseFailure(hookEnd(c.tool, "error", `"whatever the CLI makes of it"`))
			if told := dumpOf(r.session); strings.Contains(told, "a call failed") || strings.Contains(told, "unmediated") {
				t.Errorf("events:\n%s", told)
			}
			if _, left := r.session.duties.end("a1", "toolu_1"); left {
				t.Error("the duty is still owed")
			}
		})
	}
}

// A plugin that has to see an error and is gone: nobody sees it.
func TestFailureThatNoPluginSaw(t *testing.T) {
	there := true
	r := newInprocRig(t, func(o *Options) { o.OutputPlugin = func(string) bool { return there } })
	r.gate("plugin", `{}`)
	r.tools.answer = func(id, _ string) string {
		there = false
		return `{"jsonrpc":"2.0","id":` + id + `,"error":{"code":1,"message":"words"}}`
	}
	if answer := r.call("plugin", `{}`); !strings.Contains(answer, `"message":"[withheld]"`) {
		t.Errorf("answer = %s", answer)
	}
	if !strings.Contains(dumpOf(r.session), "wants plugin scan to see it") {
		t.Errorf("events:\n%s", dumpOf(r.session))
	}
}

// Of an error that was covered here the hook has nothing to tell; of another one it has.
func TestExposedSecretsOfToolsHere(t *testing.T) {
	for _, here := range []bool{true, false} {
		r := newInprocRig(t, func(o *Options) {
			withPlanted(false)(o)
			o.OnExposedSecret = StopExposed
		})
		r.gate("find", `{}`)
		secret := `"` + plantedSecret + `"`
		if here {
			r.answering("error", `{"code":1,"message":`+secret+`}`)
			r.call("find", `{}`)
			secret = `"[REDACTED:planted]"`
		} else {
			r.session.engine.o.OnExposedSecret = ReportExposed // there is no process to end
		}
		r.postToolUseFailure(hookEnd("find", "error", secret))
		if told := strings.Contains(dumpOf(r.session), "secret_exposed"); told == here {
			t.Errorf("covered here %v, told %v:\n%s", here, told, dumpOf(r.session))
		}
	}
}

// What a plugin hid without a mark is told by the event of the result.
func TestHiddenPartsAreTold(t *testing.T) {
	r := newInprocRig(t, func(o *Options) { o.Redactors = []event.Redactor{emptying{}} })
	r.gate("find", `{}`)
	r.answering("result", `{"content":[{"type":"text","text":"a b"}],"structuredContent":{"k":"a b"}}`)
	if answer := r.call("find", `{}`); strings.Contains(answer, "b") && !strings.Contains(answer, `"text":"a "`) {
		t.Errorf("answer = %s", answer)
	}
	found := r.session.duties.covered("toolu_1", json.RawMessage(`[]`))
	if len(found) != 1 || found[0].Detector != "plugin.scan" || found[0].Count != 2 {
		t.Errorf("hidden: %+v", found)
	}
}

// emptying hides a letter, as plugins may, and leaves nothing in its place.
type emptying struct{}

func (emptying) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if p.Sink != event.SinkModel || !strings.Contains(string(p.Data), "a b") {
		return p.Data, nil, nil
	}
	return json.RawMessage(strings.ReplaceAll(string(p.Data), "a b", "a ")), []event.Redaction{{Detector: "plugin.scan", Count: 1}}, nil
}

func TestResultsAreJudged(t *testing.T) {
	var seen permission.InprocRequest
	r := newInprocRig(t, func(o *Options) {
		o.Inproc = []permission.InprocDecider{judging(func(_ context.Context, r permission.InprocRequest) permission.Decision {
			d := permission.Decision{Effect: permission.Allow, Rule: "own.all"}
			if r.Phase == permission.PhaseResult {
				if seen = r; strings.HasPrefix(r.Call.Tool, "mcp__desk__deny") {
					d.Effect, d.Rule, d.Reason = permission.Deny, "own.result", "no such results"
				}
				if strings.HasPrefix(r.Call.Tool, "mcp__desk__cut") {
					d.Obligations = []permission.Obligation{{Kind: "limit_output", Args: map[string]any{"bytes": 2}}}
				}
			}
			return d
		})}
	})
	many := strings.Repeat(`{"type":"text"},`, 2*maxTold)
	for _, c := range []struct {
		tool, member, value string
		want                permission.InprocResult
	}{
		{"find", "result", plainResult, permission.InprocResult{Blocks: []string{"text"}}},
		{"find", "result", `{"content":[{"type":"image"},{"x":1},7,{"type":"Odd kind"}],"structuredContent":{"a":1},"isError":true}`,
			permission.InprocResult{IsError: true, Blocks: []string{"image", "other", "other", "other"}, JSONShape: "object"}},
		{"find", "result", `{"content":[],"structuredContent":null}`, permission.InprocResult{JSONShape: "null"}},
		{"find", "error", `{"code":1,"message":"x"}`, permission.InprocResult{IsError: true}},
		{"find", "result", `{"content":[` + many + `{"type":"audio"}]}`, permission.InprocResult{Blocks: append(strings.Split(strings.Repeat("text,", maxTold-1)+"text", ","), "audio")}},
		{"deny", "result", plainResult, permission.InprocResult{Blocks: []string{"text"}}},
		{"cut", "result", plainResult, permission.InprocResult{Blocks: []string{"text"}}},
	} {
		r.answering(c.member, c.value)
		answer := r.callPassed(c.tool, `{"a":1}`)
		c.want.Bytes = len(c.value)
		if got, want := fmt.Sprintf("%+v", seen.Result), fmt.Sprintf("%+v", c.want); got != want {
			t.Errorf("%s %.80s: told %s\nwant %s", c.tool, c.value, got, want)
		}
		if seen.Duration <= 0 || string(seen.Call.Input) != `{"a":1}` || seen.Server != "desk" {
			t.Errorf("told %+v", seen)
		}
		switch c.tool {
		case "deny":
			r.refused(answer, "own.result", permission.PhaseResult)
			if strings.Contains(answer, "done") || !strings.Contains(answer, "no such results") {
				t.Errorf("answer = %s", answer)
			}
		case "cut":
			if !strings.Contains(answer, `"do\n[cut at 2 bytes by rule own.all]"`) {
				t.Errorf("answer = %s", answer)
			}
		}
	}
	r.end(ended{"process"})
	r.governing.close() // which waits for what is noted behind the answer
	noted := 0
	for _, rec := range r.log.of(audit.Decision) {
		if strings.Contains(string(rec.Detail), `"phase":"result"`) && rec.Verdict.Effect == "allow" {
			noted++
		}
	}
	if noted != 6 || len(r.log.noted) < 6 {
		t.Errorf("%d results that passed are recorded, %d were noted", noted, len(r.log.noted))
	}
}

func TestUnusableAnswers(t *testing.T) {
	r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{ruling(permission.Allow)} })
	big := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", maxToolMessage) + `"}]}}`
	for _, c := range []struct{ answer, says string }{
		{big, "at most 8388608"},
		{`{"jsonrpc":"2.0","id":7,"result":{"content":` + strings.Repeat("[", 500) + strings.Repeat("]", 500) + `}}`, "deeper than 480"},
		{`no JSON`, "no JSON"},
		{`{"jsonrpc":"2.0","id":7}`, "want a result or an error"},
		{`{"jsonrpc":"2.0","id":7,"result":{},"error":{}}`, "want a result or an error"},
		{`{"jsonrpc":"2.0","id":7,"result":[]}`, "want an object"},
		{`{"jsonrpc":"2.0","id":7,"result":{},"Result":{}}`, "Result"},
		{`{"jsonrpc":"2.0","id":7,"result":{"content":[],"content":[1]}}`, "twice"},
	} {
		r.tools.answer = func(string, string) string { return c.answer }
		answer := r.callPassed("find", `{}`)
		if !strings.Contains(answer, `"isError":true`) || !strings.Contains(answer, c.says) || len(answer) > 1000 {
			t.Errorf("%.80s: answered %.200s", c.answer, answer)
		}
	}
	// Its own words are kept apart from what the id and the lines are.
	r.tools.answer = func(string, string) string { return "{\"id\":99,\"result\":{\"content\":\n[]}}" }
	if answer := r.callPassed("find", `{}`); answer != `{"jsonrpc":"2.0","id":7,"result":{"content":[]}}` {
		t.Errorf("answer = %q", answer)
	}
	notices := strings.Count(dumpOf(r.session), "was not passed on")
	if notices != 8 {
		t.Errorf("%d notices", notices)
	}
}

func TestResultsOfAProcessThatEnds(t *testing.T) {
	r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{ruling(permission.Allow)} })
	r.tools.answer = func(string, string) string { return "" }
	out := r.sendPassed(7, "find", `{}`)
	deadline := time.Now().Add(2 * time.Minute)
	for !r.tools.ran("find") && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	r.end(ended{"process"})
	r.governing.close()
	if answer := r.wait(out); !strings.Contains(answer, "process has ended") {
		t.Errorf("answer = %s", answer)
	}
	r.tools.waiting["7"](json.RawMessage(`{"jsonrpc":"2.0","id":7,"result":{}}`))
	if answer := r.callPassed("find", `{}`); !strings.Contains(answer, "process has ended") {
		t.Errorf("a call after the end: %s", answer)
	}
	if len(out) != 0 {
		t.Errorf("answered again: %s", <-out)
	}
}
