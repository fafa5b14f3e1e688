package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestMessagesAreReadStrictly(t *testing.T) {
	r := newInprocRig(t, func(o *Options) { o.Inproc = []permission.InprocDecider{ruling(permission.Allow)} })
	for _, c := range []struct{ message, id, says string }{
		{`[]`, "null", "want an object"},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", `jsonrpc`},
		{`{"id":1,"method":"ping"}`, "1", "jsonrpc"},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "1", "method"},
		{`{"jsonrpc":"2.0","id":1,"method":""}`, "1", "method"},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", "whole number"},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", "whole number"},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", "whole number"},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`, "null", "at most 200"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`, "1", "params"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, "1", "neither result"},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}`, "null", `"Method"`},
		{`{"jsonrpc":"2.0","id":1}`, "1", "no answer"},
		{`{"jsonrpc":"2.0","result":{}}`, "null", "no answer"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`, "1", "params.name"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools\/call","params":{"name":["find"]}}`, "1", "params.name"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":[1]}}`, "1", "params.arguments"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","arguments":null}}`, "1", "params.arguments"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","_meta":1}}`, "1", "params._meta"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","task":{"ttl":1}}}`, "1", "params.task"},
		{`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"find","Arguments":{}}}`, "1", `"Arguments"`},
		{`{"jsonrpc":"2.0","method":"tools/call","params":{"name":"find"}}`, "null", "needs an id"},
	} {
		answer := r.wait(r.send(c.message))
		if !strings.Contains(answer, `"code":-32600`) || !strings.Contains(answer, `"id":`+c.id) || !strings.Contains(strings.ReplaceAll(answer, `\"`, `"`), c.says) {
			t.Errorf("%.90s: answered %s", c.message, answer)
		}
	}
	if got := r.tools.delivered(); len(got) != 0 {
		t.Errorf("delivered %q", got)
	}
}

// What is no call goes on as it is, in order, and notes are acknowledged.
func TestOtherMessagesPass(t *testing.T) {
	r := newInprocRig(t, nil)
	r.tools.answer = func(id, _ string) string {
		if id == "" {
			return `"anything ` + plantedSecret + `"`
		}
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
	}
	sent := []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":"s1","result":{"roots":[]}}`, `{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"resources/list","params":{}}`,
	}
	var answers []string
	for _, message := range sent {
		answers = append(answers, r.wait(r.send(message)))
	}
	if got := fmt.Sprintf("%q", r.tools.delivered()); got != fmt.Sprintf("%q", sent) {
		t.Errorf("delivered %s", got)
	}
	ack := string(acknowledged)
	want := []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, ack, ack, ack, `{"jsonrpc":"2.0","id":"a","result":{}}`}
	if fmt.Sprintf("%q", answers) != fmt.Sprintf("%q", want) {
		t.Errorf("answers %q", answers)
	}
}

func TestWhatServersSayIsCovered(t *testing.T) {
	const mark = "[REDACTED:planted]"
	tool := func(name, description string) string {
		return `{"name":"` + name + `","description":"` + description + `"}`
	}
	covered := `{"description":"` + mark + `","name":"b"}`
	for _, c := range []struct{ name, method, result, want string }{
		{"clean tools", "tools/list", `{"tools":[` + tool("a", "x") + `]}`, ""},
		{"a description", "tools/list", `{"tools":[` + tool("a", "x") + `,` + tool("b", plantedSecret) + `],"nextCursor":"` + plantedSecret + `"}`,
			`{"nextCursor":"` + plantedSecret + `","tools":[` + tool("a", "x") + `,` + covered + `]}`},
		{"a schema", "tools/list", `{"tools":[{"name":"b","inputSchema":{"type":"object","properties":{"p":{"type":"string","default":"` + plantedSecret + `"}}}}]}`,
			`{"tools":[{"inputSchema":{"properties":{"p":{"default":"` + mark + `","type":"string"}},"type":"object"},"name":"b"}]}`},
		{"a name", "tools/list", `{"tools":[` + tool(plantedSecret, "x") + `,` + tool("b", "x") + `]}`, `{"tools":[` + tool("b", "x") + `]}`},
		{"two of one full name", "tools/list", `{"tools":[` + tool("a.b", "x") + `,` + tool("a_b", "x") + `]}`, `{"tools":[` + tool("a.b", "x") + `]}`},
		{"no name", "tools/list", `{"tools":[{"name":7},` + tool("b", plantedSecret) + `]}`, `{"tools":[` + covered + `]}`},
		{"instructions", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"` + plantedSecret + `"},"instructions":"` + plantedSecret + `"}`,
			`{"capabilities":{"tools":{"listChanged":true}},"instructions":"` + mark + `","protocolVersion":"2025-11-25","serverInfo":{"name":"` + mark + `"}}`},
		{"a resource", "resources/read", `{"contents":[{"uri":"f","text":"` + plantedSecret + `"}]}`, `{"contents":[{"text":"` + mark + `","uri":"f"}]}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newInprocRig(t, withPlanted(false))
			r.answering("result", c.result)
			if c.want == "" {
				c.want = c.result
			}
			answer := r.wait(r.send(`{"jsonrpc":"2.0","id":3,"method":"` + c.method + `"}`))
			if answer != `{"jsonrpc":"2.0","id":3,"result":`+c.want+`}` {
				t.Errorf("answer = %s\nwant     %s", answer, c.want)
			}
			left := strings.Contains(c.name, "name")
			if told := strings.Contains(dumpOf(r.session), "tools_left_out"); told != left {
				t.Errorf("told that tools are left out: %v", told)
			}
		})
	}
	r := newInprocRig(t, withPlanted(false))
	r.answering("error", `{"code":-32601,"message":"no `+plantedSecret+`"}`)
	if answer := r.wait(r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); answer != `{"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"no `+mark+`"}}` {
		t.Errorf("answer = %s", answer)
	}
	r.tools.answer = func(string, string) string { return "nonsense" }
	if answer := r.wait(r.send(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)); !strings.Contains(answer, "-32603") || !strings.Contains(answer, "no JSON") {
		t.Errorf("answer = %s", answer)
	}
}

func TestBrokenRedactionWithholdsTheRest(t *testing.T) {
	for method, c := range map[string][2]string{
		"tools/list": {`{"tools":[{"name":"a","description":"fine"}]}`, `{"tools":[]}`},
		"initialize": {`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"a"},"instructions":"fine"}`,
			`{"capabilities":{"tools":{}},"instructions":"[withheld]","protocolVersion":"2025-11-25","serverInfo":{"name":"[withheld]"}}`},
	} {
		r := newInprocRig(t, withPlanted(true))
		r.answering("result", c[0])
		if answer := r.wait(r.send(`{"jsonrpc":"2.0","id":3,"method":"` + method + `"}`)); answer != `{"jsonrpc":"2.0","id":3,"result":`+c[1]+`}` {
			t.Errorf("answer = %s", answer)
		}
	}
}

func TestPushesAreCovered(t *testing.T) {
	r := newInprocRig(t, withPlanted(false))
	for _, c := range []struct{ message, want string }{
		{`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		{`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t1","progress":1,"message":"` + plantedSecret + `"}}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"[REDACTED:planted]","progress":1,"progressToken":"t1"}}`},
		{`{"jsonrpc":"2.0","id":4,"method":"roots/list","params":{"a":1}}`, `{"id":4,"jsonrpc":"2.0","method":"roots/list","params":{"a":1}}`},
		{`{"jsonrpc":"2.0","method":"` + plantedSecret + `"}`, ""},
		{`{"jsonrpc":"2.0","id":4,"result":{}}`, ""},
		{`no JSON`, ""},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", maxToolMessage) + `"}}`, ""},
	} {
		got, ok := r.governedPush("desk", json.RawMessage(c.message))
		if string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%.90s: %s %v", c.message, got, ok)
		}
	}
	broken := newInprocRig(t, withPlanted(true))
	got, ok := broken.governedPush("desk", json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":5,"message":"fine"}}`))
	if want := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"message":"[withheld]","progressToken":5}}`; string(got) != want || !ok {
		t.Errorf("withheld: %s", got)
	}
	for range 30 {
		broken.governedPush("desk", json.RawMessage(`no JSON`))
	}
	if n := strings.Count(dumpOf(broken.session), "was not passed on"); n != maxUnusable {
		t.Errorf("%d notices", n)
	}
}

func TestNamesOfToolsHere(t *testing.T) {
	for tool, want := range map[string]string{
		"find": "mcp__desk__find", "a.b/c d": "mcp__desk__a_b_c_d", "é": "mcp__desk___", "😀": "mcp__desk____", "a-b_c__d": "mcp__desk__a-b_c__d", "\xff": "mcp__desk___",
	} {
		if got := inprocTool("desk", tool); got != want {
			t.Errorf("%q: %s, want %s", tool, got, want)
		}
	}
}

// However often a server's list is asked for, what is left out of it is told a few
// times a minute.
func TestToolsLeftOutAreToldBounded(t *testing.T) {
	r := newInprocRig(t, nil)
	r.tools.answer = func(id, _ string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"result":{"tools":[{"name":"a.b","inputSchema":{"type":"object"}},{"name":"a_b","inputSchema":{"type":"object"}}]}}`
	}
	for range 5 * maxUnusable {
		if got := r.wait(r.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)); strings.Contains(got, "a_b") || !strings.Contains(got, "a.b") {
			t.Fatalf("the list is %s", got)
		}
	}
	if n := strings.Count(dumpOf(r.session), "tools_left_out"); n == 0 || n > maxUnusable*2 {
		t.Errorf("told %d times", n)
	}
}
