package module_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// compile compiles as the host does.
func compile(t testing.TB, wasm []byte) error {
	t.Helper()
	ctx := context.Background()
	runtime := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	defer runtime.Close(ctx)
	_, err := runtime.CompileModule(ctx, wasm)
	return err
}

// sound are modules that are accepted.
func sound() map[string][]byte {
	return map[string][]byte{
		"empty":       new(testwasm.Module).Bytes(),
		"deny":        testwasm.Deny("pre_permission", "no"),
		"remember":    testwasm.Remember("session_event", "pre_permission", "k", "v"),
		"every part":  everyPart().Bytes(),
		"every block": everyBlock(),
		"no code":     (&testwasm.Module{Imports: testwasm.ABIImports()}).Bytes(),
		"10 000 locals": one(testwasm.Func{
			Locals: []testwasm.Locals{{Count: 9_000, Type: testwasm.I64}, {Count: 1_000, Type: testwasm.V128}}}),
		"1 000 blocks": one(testwasm.Func{Body: nested(0x02, 1_000)}),
		"1 000 ifs":    one(testwasm.Func{Body: testwasm.Repeat(1_000, testwasm.Const(0), testwasm.If())}),
	}
}

// everyPart has each section, and segments of each kind.
func everyPart() *testwasm.Guest {
	g := testwasm.NewGuest()
	g.Tables = []testwasm.Table{{Limits: testwasm.Limits{Min: 3}}, {Elem: testwasm.ExternRef, Limits: testwasm.Limits{Min: 1, Max: 1 << 31, Bounded: true}}}
	g.Globals = []testwasm.Global{
		{Type: testwasm.I32, Init: testwasm.Const(-7)}, {Type: testwasm.I64, Mutable: true, Init: testwasm.Const64(-1 << 63)},
		{Type: testwasm.F32, Init: []byte{0x43, 0, 0, 0, 0}}, {Type: testwasm.F64, Init: []byte{0x44, 0, 0, 0, 0, 0, 0, 0, 0}},
		{Type: testwasm.FuncRef, Init: []byte{0xd0, 0x70}}, {Type: testwasm.V128, Init: append([]byte{0xfd, 12}, make([]byte, 16)...)},
	}
	start := g.Add(testwasm.Func{Body: []byte{0xfc, 9, 0, 0xfc, 13, 1}}) // data.drop, elem.drop
	g.Start = &start
	at, f := []byte{0x41, 0, 0x0b}, byte(start)
	g.Elements = [][]byte{
		testwasm.Cat([]byte{0}, at, []byte{1, f}), {1, 0, 1, f}, testwasm.Cat([]byte{2, 0}, at, []byte{0, 1, f}), {3, 0, 1, f},
		testwasm.Cat([]byte{4}, at, []byte{1, 0xd2, f, 0x0b}), {5, 0x70, 1, 0xd0, 0x70, 0x0b},
		testwasm.Cat([]byte{6, 0}, at, []byte{0x70, 0}), {7, 0x70, 0},
	}
	g.Data, g.DataCount = []testwasm.Data{{Passive: true, Bytes: []byte("x")}, {Offset: 9, Bytes: []byte("y")}}, true
	g.Hook("pre_permission", testwasm.Const(testwasm.DenyKind), testwasm.Const(9), testwasm.Const(1), testwasm.Call(testwasm.VerdictFunc), testwasm.Drop())
	return g
}

// everyBlock has instructions of each way to begin, end and leave a block.
func everyBlock() []byte {
	pair := testwasm.Type{Params: []byte{testwasm.I32, testwasm.I32}, Results: []byte{testwasm.I32, testwasm.I32}}
	m := &testwasm.Module{}
	m.Add(testwasm.Func{Type: pair, Body: testwasm.Cat(
		testwasm.LocalGet(0), testwasm.LocalGet(1),
		[]byte{0x03, 0, 0x41, 0, 0x0d, 0, 0x0b},                      // loop of two values, br_if
		[]byte{0x41, 1, 0x04, 0, 0x05, 0x0c, 0, 0x0b},                // if, else, br
		[]byte{0x02, 0x7f, 0x41, 2, 0x41, 1, 0x0e, 1, 0, 0, 0x0b},    // br_table
		[]byte{0x1a, 0x41, 0, 0x41, 0, 0x41, 1, 0x1c, 1, 0x7f, 0x1a}, // typed select
		[]byte{0xfd, 12}, make([]byte, 16), []byte{0xfd, 0x80, 1, 0x1a}, // a vector instruction of two bytes
		[]byte{0x02, 0x40, 0x00, 0x6a, 0x1a, 0x02, 0x7f, 0x00, 0x0b, 0x1a, 0x0b}, // what is never run
	)})
	return m.Bytes()
}

func one(f testwasm.Func) []byte {
	m := &testwasm.Module{}
	m.Add(f)
	return m.Bytes()
}

func nested(op byte, n int) []byte {
	return testwasm.Cat(testwasm.Repeat(n, []byte{op, 0x40}), testwasm.Repeat(n, []byte{0x0b}))
}

// TestPreparedModulesCompile: what is accepted compiles, and preparing is stable.
func TestPreparedModulesCompile(t *testing.T) {
	for name, wasm := range sound() {
		t.Run(name, func(t *testing.T) {
			if err := compile(t, wasm); err != nil {
				t.Fatalf("the module itself: %v", err)
			}
			p, err := module.Prepare(wasm)
			if err != nil {
				t.Fatal(err)
			}
			if err := compile(t, p.Wasm); err != nil {
				t.Errorf("what became of it: %v", err)
			}
			again, err := module.Prepare(p.Wasm)
			if err != nil || !reflect.DeepEqual(again.Exports, p.Exports) || !reflect.DeepEqual(again.Imports, p.Imports) {
				t.Errorf("prepared again: %v, %v and %v", err, again.Imports, again.Exports)
			}
		})
	}
}

// TestRewriting pins what is written: a safepoint at the entry of each function, a
// maximum of each table, and nothing but names of the custom sections.
func TestRewriting(t *testing.T) {
	names := testwasm.Cat([]byte{0, 2, 1, 'm'}, []byte{1, 4, 1, 0, 1, 'f'}, []byte{2, 0})
	build := func(body []byte, tables []testwasm.Table, custom ...testwasm.Section) []byte {
		m := &testwasm.Module{Tables: tables, Last: custom}
		m.Add(testwasm.Func{Locals: []testwasm.Locals{{Count: 2, Type: testwasm.I64}}, Body: body})
		return m.Bytes()
	}
	in := build([]byte{0x01}, []testwasm.Table{
		{Limits: testwasm.Limits{Min: 7}}, {Limits: testwasm.Limits{Max: 9, Bounded: true}}, {Limits: testwasm.Limits{Max: 1 << 31, Bounded: true}},
	}, testwasm.Custom(".debug_info", []byte("x")), testwasm.Custom("name", names))
	want := build(testwasm.Cat(testwasm.Loop(), []byte{0x01}), []testwasm.Table{
		{Limits: testwasm.Limits{Min: 7, Max: module.MaxTable, Bounded: true}}, {Limits: testwasm.Limits{Max: 9, Bounded: true}},
		{Limits: testwasm.Limits{Max: module.MaxTable, Bounded: true}},
	}, testwasm.Custom("name", []byte{1, 4, 1, 0, 1, 'f'}))
	p, err := module.Prepare(in)
	if err != nil || string(p.Wasm) != string(want) {
		t.Errorf("%v\n%x, want\n%x", err, p.Wasm, want)
	}
}

// TestMalformedNamesAreDropped: they are no reason to refuse a module.
func TestMalformedNamesAreDropped(t *testing.T) {
	for _, names := range []string{"\x01\x04\x01\x00\x05f", "\x01\x07\x02\x01\x01a\x00\x01b", "\x01\x04\x01\x00\x01\xff", "\x01\x80"} {
		m := &testwasm.Module{Last: []testwasm.Section{testwasm.Custom("name", []byte(names))}}
		p, err := module.Prepare(m.Bytes())
		if err != nil || string(p.Wasm) != string(testwasm.Header()) {
			t.Errorf("names %x: %v, %x", names, err, p.Wasm)
		}
	}
}

func TestImportsExportsMemory(t *testing.T) {
	g := everyPart()
	g.Memories = []testwasm.Limits{{Min: 2, Max: 9, Bounded: true}}
	wide := testwasm.Type{Params: []byte{testwasm.I64}, Results: []byte{testwasm.F32, testwasm.F64}}
	g.Export("wide", g.Add(testwasm.Func{Type: wide, Body: testwasm.Trap()}))
	g.Exports = append(g.Exports, testwasm.Export{Name: "t", Kind: testwasm.KindTable}, testwasm.Export{Name: "g", Kind: testwasm.KindGlobal})
	p, err := module.Prepare(g.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	exports := []module.Export{
		{Name: "memory", Kind: "memory"}, {Name: "pre_permission", Kind: "func", Type: "() -> i32"},
		{Name: "wide", Kind: "func", Type: "(i64) -> (f32, f64)"}, {Name: "t", Kind: "table"}, {Name: "g", Kind: "global"},
	}
	if !reflect.DeepEqual(p.Exports, exports) {
		t.Errorf("exports %v, want %v", p.Exports, exports)
	}
	if want := (module.Import{Module: testwasm.ABI, Name: "get", Type: "(i32, i32, i32, i32) -> i32"}); len(p.Imports) != 6 || p.Imports[0] != want {
		t.Errorf("imports %v, want 6 and %v first", p.Imports, want)
	}
	if want := (module.Memory{Min: 2, Max: 9, Bounded: true}); p.Memory != want {
		t.Errorf("memory %v, want %v", p.Memory, want)
	}
}

// TestGoGuest prepares and compiles what the Go toolchain makes.
func TestGoGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a guest with the Go toolchain, which takes seconds")
	}
	wasm := goGuest(t)
	p, err := module.Prepare(wasm)
	if err != nil {
		t.Fatal(err)
	}
	if err := compile(t, p.Wasm); err != nil {
		t.Error(err)
	}
	if grown := len(p.Wasm) - len(wasm); grown > len(wasm)/50 {
		t.Errorf("it grew by %d bytes of %d", grown, len(wasm))
	}
}

// goGuest builds a guest that carries encoding/json.
func goGuest(t *testing.T) []byte {
	t.Helper()
	dir := t.TempDir()
	source := `package main

import "encoding/json"

//go:wasmexport pre_permission
func hook() int32 { var v any; json.Unmarshal([]byte("{}"), &v); return 0 }

func main() {}
`
	for name, text := range map[string]string{"main.go": source, "go.mod": "module guest\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", "guest.wasm", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	wasm, err := os.ReadFile(filepath.Join(dir, "guest.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return wasm
}

func contains(err error, part string) bool { return err != nil && strings.Contains(err.Error(), part) }
