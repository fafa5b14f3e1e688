package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// An answer is passed on as it came only where nothing but the response is in it:
// the CLI hangs with one that is no JSON-RPC, and what stands beside it is not covered.
func TestNothingBesideTheResponse(t *testing.T) {
	r := newInprocRig(t, withPlanted(false))
	list := `{"tools":[{"name":"a"}]}`
	for _, beside := range []string{`"extra":"` + plantedSecret + `"`, `"method":"sampling/createMessage"`, `"jsonrpc":"1.0"`, `"jsonrpc":2`} {
		for _, format := range []string{`{"jsonrpc":"2.0","id":%s,"result":%s,%s}`, `{%[3]s,"id":%[1]s,"result":%[2]s}`} {
			if strings.HasPrefix(beside, `"jsonrpc"`) == strings.HasPrefix(format, `{"jsonrpc"`) {
				continue
			}
			r.tools.answer = func(id, m string) string {
				if strings.Contains(m, methodList) {
					return fmt.Sprintf(format, id, list, beside)
				}
				return fmt.Sprintf(format, id, plainResult, beside)
			}
			if answer := r.callPassed("find", `{}`); answer != `{"jsonrpc":"2.0","id":7,"result":`+plainResult+`}` {
				t.Errorf("%s: answered %s", beside, answer)
			}
			if answer := r.wait(r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); answer != `{"jsonrpc":"2.0","id":3,"result":`+list+`}` {
				t.Errorf("%s: list %s", beside, answer)
			}
		}
	}
}

// One id has many spellings.
func TestSpellingsOfIDs(t *testing.T) {
	for call, cancel := range map[string]string{`"a/b"`: `"\u0061\/b"`, `0`: `-0`, `"\u0061"`: `"a"`} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{waitingFor(release)} })
			r.passing("desk", "find", `{}`, "toolu_1")
			message := `{"jsonrpc":"2.0","id":` + call + `,"method":"tools/call","params":{"name":"find","arguments":{},"_meta":{"claudecode/toolUseId":"toolu_1"}}}`
			out := r.send(message)
			synctest.Wait()
			twice := strings.Replace(message, `"id":`+call, `"id":`+cancel, 1)
			if answer := r.wait(r.send(twice)); !strings.Contains(answer, "is under way") {
				t.Errorf("%s beside %s: %s", cancel, call, answer)
			}
			r.wait(r.send(cancelMessage(cancel)))
			close(release)
			if answer := r.wait(out); !strings.Contains(answer, cancelledText) || !strings.Contains(answer, `"id":`+call) || r.tools.ran("find") {
				t.Errorf("%s cancelled as %s: %s", call, cancel, answer)
			}
		})
	}
}

// A result that is judged while the process ends was not refused by anybody.
func TestProcessEndsWhileAResultIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newInprocRig(t, func(o *Options) {
			o.Inproc = []permission.InprocDecider{judging(func(ctx context.Context, r permission.InprocRequest) permission.Decision {
				if r.Phase == permission.PhaseResult {
					<-ctx.Done()
				}
				return permission.Decision{Effect: permission.Allow, Rule: "late"}
			})}
		})
		out := r.sendPassed(7, "find", `{}`)
		synctest.Wait()
		r.end(ended{"process"})
		r.governing.close()
		if answer := r.wait(out); !strings.Contains(answer, endedText) {
			t.Errorf("answer = %s", answer)
		}
		if told := dumpOf(r.session); strings.Contains(told, "permission_result") {
			t.Errorf("events:\n%s", told)
		}
		for _, rec := range r.log.of(audit.Decision) {
			if rec.Verdict.Effect != "allow" {
				t.Errorf("recorded: %+v", rec.Verdict)
			}
		}
		if n := r.session.facts().Denies; n != 0 {
			t.Errorf("%d denials are counted", n)
		}
	})
}

// A call whose request the CLI withdraws does not run.
func TestWithdrawnRequestDoesNotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{waitingFor(release)} })
		r.passing("desk", "find", `{}`, "toolu_1")
		ctx, withdraw := context.WithCancel(t.Context())
		fields := map[string]json.RawMessage{"server_name": json.RawMessage(`"desk"`), "message": json.RawMessage(callMessage(7, "find", `{}`, "toolu_1"))}
		r.HandleInOrder(ctx, control.Request{ID: "a", Subtype: "mcp_message", Fields: fields}, func(any, error) {})
		synctest.Wait()
		withdraw()
		synctest.Wait()
		close(release)
		synctest.Wait()
		if r.tools.ran("find") {
			t.Error("it ran")
		}
		if len(r.governing.calls) != 0 {
			t.Error("it is under way")
		}
	})
}

// Names are read as the CLI reads them.
func TestToolsWithTwoSpellingsOfName(t *testing.T) {
	r := newInprocRig(t, nil)
	r.answering("result", `{"tools":[{"name":"a.b"},{"name":"a_b","Name":"other"}]}`)
	if answer := r.wait(r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); strings.Contains(answer, "a_b") {
		t.Errorf("answer = %s", answer)
	}
}

// What a push says is no way round redaction.
func TestPushesThatHideSecrets(t *testing.T) {
	r := newInprocRig(t, withPlanted(false))
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":"` + plantedSecret + `","method":"ping"}`,
		`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"` + plantedSecret + `","progress":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"` + plantedSecret + `"}}`,
	} {
		if got, ok := r.governedPush("desk", json.RawMessage(message)); strings.Contains(string(got), plantedSecret) {
			t.Errorf("%s: %s %v", message, got, ok)
		}
	}
}

// A failure that was covered here says nothing of another tool's under the same id.
func TestSettledFailuresAreOfOneTool(t *testing.T) {
	r := newInprocRig(t, withPlanted(false))
	r.gate("find", `{}`)
	r.answering("error", `{"code":1,"message":"no"}`)
	r.call("find", `{}`)
	end := hookEnd("find", "error", `"`+plantedSecret+`"`)
	end["tool_name"] = json.RawMessage(`"Bash"`)
	r.postToolUseFailure(end)
	if !strings.Contains(dumpOf(r.session), "secret_exposed") {
		t.Errorf("nothing is told:\n%s", dumpOf(r.session))
	}
}

// Numbers may be secrets, too.
func TestNumbersAreCovered(t *testing.T) {
	const number = "4111111111111111"
	r := newInprocRig(t, func(o *Options) {
		o.Redactors = []event.Redactor{event.RedactorFunc(func(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
			return json.RawMessage(strings.ReplaceAll(string(p.Data), number, `"[REDACTED:pan]"`)), nil, nil
		})}
	})
	r.answering("result", `{"content":[],"structuredContent":`+number+`,"_meta":{"n":`+number+`}}`)
	if answer := r.callPassed("find", `{}`); answer != `{"jsonrpc":"2.0","id":7,"result":{"_meta":{"n":0},"content":[],"structuredContent":0}}` {
		t.Errorf("answer = %s", answer)
	}
}

func TestInputsOfOneMeaning(t *testing.T) {
	for a, b := range map[string]string{`{"n":-1e-400}`: `{"n":0}`, `{"n":-0}`: `{"n":0}`, `{"a":1,"b":1e0}`: `{"b":1,"a":1.0}`, `{"a":"\u0041-0"}`: `{"a":"A-0"}`} {
		if inputKey(json.RawMessage(a)) != inputKey(json.RawMessage(b)) {
			t.Errorf("%s and %s differ", a, b)
		}
	}
	for a, b := range map[string]string{`{"n":1}`: `{"n":"1"}`, `{"n":null}`: `{}`, `{"n":[]}`: `{"n":{}}`, `{"n":-1}`: `{"n":1}`, `{"n":"-0"}`: `{"n":"0"}`, `{"n":1e400}`: `{"n":1e401}`, `{"a":"é"}`: `{"a":"e\u0301"}`, `{"N":1}`: `{"n":1}`} {
		if inputKey(json.RawMessage(a)) == inputKey(json.RawMessage(b)) {
			t.Errorf("%s and %s are one", a, b)
		}
	}
}
