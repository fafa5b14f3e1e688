package testwasm_test

import (
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// TestGuestsCompile compiles what this package makes.
func TestGuestsCompile(t *testing.T) {
	guests := map[string][]byte{
		"empty module": new(testwasm.Module).Bytes(),
		"hook":         testwasm.Hook("pre_permission", testwasm.Times(3, 0, testwasm.Const(1), testwasm.Drop())),
		"deny":         testwasm.Deny("pre_permission", "not here"),
		"deny with":    testwasm.DenyWith("pre_permission", "/tool_name"),
		"annotate":     testwasm.Annotate("session_admit", "level", "3"),
		"output":       testwasm.Output("tools_call", `{"content":[]}`),
		"log":          testwasm.Log("session_event", testwasm.Warn, "seen"),
		"remember":     testwasm.Remember("session_event", "pre_permission", "key", "value"),
		"everything":   everything(),
	}
	ctx := t.Context()
	runtime := wazero.NewRuntime(ctx)
	defer runtime.Close(ctx)
	for name, wasm := range guests {
		if _, err := runtime.CompileModule(ctx, wasm); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(wasm) > 1<<10 {
			t.Errorf("%s has %d bytes, which is not small", name, len(wasm))
		}
	}
}

// everything is a guest with each kind of section.
func everything() []byte {
	g := testwasm.NewGuest()
	g.Tables = []testwasm.Table{{Limits: testwasm.Limits{Min: 1, Max: 2, Bounded: true}}}
	g.Globals = []testwasm.Global{{Type: testwasm.I64, Mutable: true, Init: testwasm.Const64(-1 << 40)}}
	start := g.Add(testwasm.Func{Body: testwasm.Block(testwasm.Br(0))})
	g.Start = &start
	g.Elements = [][]byte{testwasm.Cat([]byte{0}, testwasm.Const(0), []byte{0x0b, 1}, testwasm.Uint(uint64(start)))}
	g.Data = []testwasm.Data{{Offset: testwasm.Buffer, Bytes: []byte("data")}}
	g.First = []testwasm.Section{testwasm.Custom("first", nil)}
	g.Last = []testwasm.Section{testwasm.Custom("last", []byte{1})}
	g.Hook("pre_permission",
		g.Must(-1, g.Get("/missing", 0, 0)),
		g.Must(0, g.KVSet("key", "value")), g.Must(5, g.KVGet("key", testwasm.Buffer, 8)), g.KVDelete("key"), testwasm.Drop(),
		g.AnnotateOf("input", "/tool_input"), g.OutputOf("/tool_input"))
	return g.Bytes()
}
