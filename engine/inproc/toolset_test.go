package inproc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const anyObject = `{"type":"object"}`

func result(text string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, text))
}

// tool is one that answers with what it got.
func tool(name, schema string) Tool {
	return Tool{Name: name, InputSchema: json.RawMessage(schema), Call: func(_ context.Context, session string, arguments json.RawMessage) (json.RawMessage, error) {
		return result(name + " " + session + " " + string(arguments)), nil
	}}
}

func newToolSet(t *testing.T, tools ...Tool) *ToolSet {
	t.Helper()
	s := NewToolSet("set", "1", "use it well", nil)
	if err := s.Replace(tools); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestToolSetHandshake(t *testing.T) {
	c := dial(t, newToolSet(t), "s")
	if got := c.ask(hello); got != `{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{"listChanged":true}},"instructions":"use it well","protocolVersion":"2025-11-25","serverInfo":{"name":"set","version":"1"}}}` {
		t.Error(got)
	}
	if got := c.ask(listThem); got != `{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}` {
		t.Error(got)
	}
}

func TestToolSetList(t *testing.T) {
	full := tool("b.tool-1", `{"type":"object","properties":{"x":{"type":"integer","description":"<x>"}}}`)
	full.Title, full.Description = "Tool", "does it"
	full.OutputSchema = json.RawMessage(`{"type":"object"}`)
	full.Annotations = json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false,"title":"T"}`)
	full.Meta = json.RawMessage(`{"anthropic/maxResultSizeChars":500000}`)
	c := dial(t, newToolSet(t, tool("z", anyObject), full, tool("a", anyObject)), "s").handshake()
	want := `{"jsonrpc":"2.0","id":1,"result":{"tools":[{"inputSchema":{"type":"object"},"name":"a"},` +
		`{"_meta":{"anthropic/maxResultSizeChars":500000},"annotations":{"destructiveHint":false,"idempotentHint":false,"readOnlyHint":true,"title":"T"},` +
		`"description":"does it","inputSchema":{"type":"object","properties":{"x":{"type":"integer","description":"\u003cx\u003e"}}},"name":"b.tool-1","outputSchema":{"type":"object"},"title":"Tool"},` +
		`{"inputSchema":{"type":"object"},"name":"z"}]}}`
	if got := c.ask(listThem); got != want {
		t.Errorf("tools/list\n%s\nwant\n%s", got, want)
	}
}

func TestToolSetCalls(t *testing.T) {
	const integer = `{"type":"object","properties":{"n":{"type":"integer","default":7}},"required":["n"],"additionalProperties":false}`
	answering := func(name, answer string, err error) Tool {
		return Tool{Name: name, InputSchema: json.RawMessage(anyObject), Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(answer), err
		}}
	}
	free := tool("free", integer)
	free.Unchecked = true
	panics := Tool{Name: "panics", InputSchema: json.RawMessage(anyObject), Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) { panic("x") }}
	c := dial(t, newToolSet(t, tool("checked", integer), free, panics,
		answering("verbatim", "{\n\"content\":[{\"type\":\"new_kind\",\"a\":[1,2]}],\"isError\":true,\"more\":{\"x\":\"<\"}}", nil),
		answering("bare", `{"structuredContent":{"a":1}}`, nil),
		answering("error", "", errors.New("kaboom")),
		answering("rpc", "", &jsonrpc.Error{Code: -32000, Message: "gone"}),
		answering("none", "", nil), answering("list", `[]`, nil), answering("text", `{"content":"x"}`, nil),
		answering("kindless", `{"content":[{"text":"x"}]}`, nil), answering("flag", `{"content":[],"isError":"yes"}`, nil),
	), "s1").handshake()
	failed := func(text string) string {
		return fmt.Sprintf(`"result":{"content":[{"type":"text","text":%q}],"isError":true}`, text)
	}
	for _, test := range []struct{ name, tool, arguments, want string }{
		{"fits", "checked", `{"n":1}`, `"result":{"content":[{"type":"text","text":"checked s1 {\"n\":1}"}]}`},
		{"does not fit", "checked", `{"n":"1"}`, failed(`validating "arguments": validating root: validating /properties/n: type: 1 has type "string", want "integer"`)},
		{"is missing", "checked", `{}`, failed(`validating "arguments": validating root: required: missing properties: ["n"]`)},
		{"nothing at all", "checked", `null`, failed(`validating "arguments": validating root: required: missing properties: ["n"]`)},
		{"is too much", "checked", `{"n":1,"m":2}`, failed(`validating "arguments": validating root: unexpected additional properties ["m"]`)},
		{"is no object", "checked", `[1]`, failed(`validating "arguments": they are not a JSON object`)},
		{"unchecked", "free", `{"n":"1"}`, `"text":"free s1 {\"n\":\"1\"}"`},
		{"unchecked and no object", "free", `7`, failed(`validating "arguments": they are not a JSON object`)},
		{"passed on as it is", "verbatim", `{}`, `"result":{"content":[{"type":"new_kind","a":[1,2]}],"isError":true,"more":{"x":"<"}}}`},
		{"without content", "bare", `{}`, `"result":{"content":[],"structuredContent":{"a":1}}}`},
		{"error", "error", `{}`, failed("kaboom")},
		{"JSON-RPC error", "rpc", `{}`, `"error":{"code":-32000,"message":"gone"}`},
		{"panic", "panics", `{}`, `"error":{"code":-32603,"message":"tool \"panics\" failed: internal error (panic)"}`},
		{"no result", "none", `{}`, failed(`tool "none" gave no tool result: it is not a JSON object`)},
		{"result is a list", "list", `{}`, failed(`tool "list" gave no tool result: it is not a JSON object`)},
		{"content is a text", "text", `{}`, failed(`tool "text" gave no tool result: content is not a list of blocks`)},
		{"block without a type", "kindless", `{}`, failed(`tool "kindless" gave no tool result: block 0 of content has no type`)},
		{"isError is a text", "flag", `{}`, failed(`tool "flag" gave no tool result: isError is not a boolean`)},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := c.ask(toolCall(1, test.tool, test.arguments)); !strings.Contains(got, test.want) {
				t.Errorf("answered\n%s\nwant\n%s", got, test.want)
			}
		})
	}
	t.Run("long error", func(t *testing.T) {
		got := c.ask(toolCall(1, "checked", `{"n":"`+strings.Repeat("x", 1<<20)+`"}`))
		if len(got) > 2*maxErrorText || !strings.Contains(got, "bytes in all") {
			t.Errorf("%d bytes: %.300s", len(got), got)
		}
	})
}

func TestReplaceRefuses(t *testing.T) {
	good := tool("good", anyObject)
	with := func(change func(*Tool)) []Tool {
		t := tool("bad", anyObject)
		change(&t)
		return []Tool{good, t}
	}
	s := newToolSet(t, good)
	many := slices.Repeat([]Tool{good}, MaxTools+1)
	for _, test := range []struct {
		name  string
		tools []Tool
		want  string
	}{
		{"no call", with(func(t *Tool) { t.Call = nil }), `tool "bad": it has no Call`},
		{"name", with(func(t *Tool) { t.Name = "bad name" }), `tool "bad name": name is not of`},
		{"long name", with(func(t *Tool) { t.Name = strings.Repeat("x", 129) }), `name is not of`},
		{"twice", []Tool{good, good}, `tool "good" is there twice`},
		{"too many", many, `1001 tools are over the limit of 1000`},
		{"no schema", with(func(t *Tool) { t.InputSchema = nil }), `tool "bad": input schema is not a JSON object`},
		{"schema of a list", with(func(t *Tool) { t.InputSchema = json.RawMessage(`{"type":"array"}`) }), `tool "bad": input schema is not of type "object"`},
		{"unchecked schema of a list", with(func(t *Tool) { t.Unchecked, t.InputSchema = true, json.RawMessage(`{"type":"array"}`) }), `tool "bad": input schema is not of type "object"`},
		{"endless schema", with(func(t *Tool) { t.InputSchema = json.RawMessage(`{"type":"object","$ref":"#"}`) }), `tool "bad": input schema at "#" refers to itself`},
		{"output schema", with(func(t *Tool) { t.OutputSchema = json.RawMessage(`{`) }), `tool "bad": output schema is not JSON`},
		{"annotations", with(func(t *Tool) { t.Annotations = json.RawMessage(`7`) }), `tool "bad": annotations: `},
		{"meta", with(func(t *Tool) { t.Meta = json.RawMessage(`[]`) }), `tool "bad": _meta: `},
		{"what the go-sdk refuses", with(func(t *Tool) {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"object","x-mcp-header":"A"}}}`)
		}), `tool "bad": it is refused: `},
	} {
		t.Run(test.name, func(t *testing.T) {
			if err := s.Replace(test.tools); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Replace = %v, want %s", err, test.want)
			}
		})
	}
	if got := dial(t, s, "s").handshake().ask(listThem); !strings.Contains(got, `"tools":[{"inputSchema":{"type":"object"},"name":"good"}]`) {
		t.Errorf("a refused Replace changed something: %s", got)
	}
}

// TestReplace goes from one set of tools to the next, with calls under way.
func TestReplace(t *testing.T) {
	release := make(chan struct{})
	began := make(chan string, 10)
	held := func(name, answer string) Tool {
		t := tool(name, anyObject)
		t.Call = func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
			began <- answer
			<-release
			return result(answer), ctx.Err()
		}
		return t
	}
	s := newToolSet(t, held("changes", "old"), held("goes", "gone"), held("stays", "same"))
	c := dial(t, s, "s").handshake()
	calls := []<-chan string{c.send(toolCall(1, "changes", `{}`)), c.send(toolCall(2, "goes", `{}`)), c.send(toolCall(3, "stays", `{}`))}
	for range calls {
		<-began
	}
	changed := tool("changes", anyObject)
	changed.Description = "it did"
	if err := s.Replace([]Tool{changed, tool("stays", anyObject), tool("new", anyObject)}); err != nil {
		t.Fatal(err)
	}
	if got := c.ask(strings.Replace(listThem, `"id":1`, `"id":8`, 1)); !strings.Contains(got, `"tools":[{"description":"it did","inputSchema":{"type":"object"},"name":"changes"},{"inputSchema":{"type":"object"},"name":"new"},{"inputSchema":{"type":"object"},"name":"stays"}]`) {
		t.Error(got)
	}
	for name, want := range map[string]string{"changes": "changes s {}", "stays": "stays s {}", "new": "new s {}", "goes": `unknown tool \"goes\"`} {
		if got := c.ask(toolCall(9, name, `{}`)); !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	close(release)
	for i, want := range []string{"old", "gone", "same"} {
		if got := c.answer(calls[i]); !strings.Contains(got, `"`+want+`"`) {
			t.Errorf("call %d: %s", i+1, got)
		}
	}
}

func TestReplaceTellsOnce(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := NewToolSet("set", "1", "", nil)
		c := dial(t, s, "s").handshake()
		replace := func(want int, tools ...Tool) {
			t.Helper()
			before := len(c.pushes())
			if err := s.Replace(tools); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if got := len(c.pushes()) - before; got != want {
				t.Errorf("told %d times, want %d: %q", got, want, c.pushes())
			}
		}
		replace(1, tool("a", anyObject), tool("b", anyObject), tool("c", anyObject))
		replace(0, tool("c", anyObject), tool("a", anyObject), tool("b", anyObject))
		replace(1, tool("d", anyObject), tool("c", `{"type":"object","title":"x"}`))
		unchecked := tool("d", anyObject)
		unchecked.Unchecked = true
		replace(1, unchecked)
		replace(0, unchecked)
		replace(1)
		c.close()
	})
}
