package plugins

import (
	"encoding/json"
	"strings"
	"testing"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// calc is a guest with tools whose result is its argument /arguments/result.
func calc(tools string) []byte {
	g := w.NewGuest()
	g.Hook("tools_list", g.Output(`{"tools":[`+tools+`]}`))
	g.Hook("tools_call", g.KVSet("called", "1"), w.Drop(), g.OutputOf("/arguments/result"))
	return g.Bytes()
}

const oneTool = `{"name":"add","description":"Adds.","inputSchema":{"type":"object"}}`

func TestTools(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{
		guest(t, "zeta", calc(oneTool)),
		guest(t, "calc", calc(`{"name":"sub","description":"Subtracts.","inputSchema":{"type":"object"}},`+oneTool)),
	}})
	var names []string
	for _, tool := range h.Tools() {
		names = append(names, tool.Plugin+"."+tool.Name)
	}
	if got := strings.Join(names, " "); got != "calc.add calc.sub zeta.add" {
		t.Errorf("tools %s", got)
	}
}

func TestCallTool(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{guest(t, "calc", calc(oneTool)), guest(t, "rules", w.Deny("pre_permission", ""))}})
	for name, c := range map[string]struct{ plugin, tool, arguments, want string }{
		"a result":        {"calc", "add", `{"result":{"content":[{"type":"text","text":"3"}]}}`, `{"content":[{"type":"text","text":"3"}]}`},
		"an error of it":  {"calc", "add", `{"result":{"content":[],"isError":true}}`, `{"content":[],"isError":true}`},
		"a broken result": {"calc", "add", `{"result":{"content":[{"type":"text"}]}}`, `error: plugin "calc": output: content[0]: text is nothing, want a string in tools_call`},
		"no output":       {"calc", "add", `{}`, `error: plugin "calc":`},
		"another tool":    {"calc", "mul", `{}`, `error: plugin "calc": has no tool "mul"`},
		"another plugin":  {"none", "add", `{}`, `error: plugin "none": has no tool "add"`},
		"no tools at all": {"rules", "add", `{}`, `error: plugin "rules": has no tool "add"`},
		"a list":          {"calc", "add", `[1]`, `error: plugin "calc": tool add: the arguments are an array, want an object`},
		"a key twice":     {"calc", "add", `{"a":1,"a":2}`, `error: plugin "calc": tool add: the arguments: has the key "a" twice`},
		"no JSON":         {"calc", "add", `{`, `error: plugin "calc": tool add: the arguments: is no JSON`},
		"too large":       {"calc", "add", `{"a":"` + strings.Repeat("a", MaxArguments) + `"}`, `error: plugin "calc": tool add: the arguments have 1048584 bytes`},
	} {
		out, err := h.CallTool(t.Context(), c.plugin, c.tool, "s1", json.RawMessage(c.arguments))
		got := string(out)
		if err != nil {
			got = "error: " + err.Error()
		}
		if !strings.HasPrefix(got, c.want) || err != nil && out != nil {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	if h.kv.total != 0 {
		t.Error("a plugin without kv kept something")
	}
}

func TestToolsThatDoNotLoad(t *testing.T) {
	for name, c := range map[string]struct {
		wasm []byte
		want string
	}{
		"a broken list": {calc(`{"name":"a b"}`), "tools_list: output: tools[0]"},
		"one that traps": {func() []byte {
			g := w.NewGuest()
			g.Hook("tools_list", w.Trap())
			g.Hook("tools_call")
			return g.Bytes()
		}(), "tools_list: trapped"},
	} {
		_, err := Load(t.Context(), Options{Plugins: []Config{guest(t, "calc", c.wasm)}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
