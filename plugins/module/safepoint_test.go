package module_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// TestSafepointsOfBulkInstructions: each instruction that takes time by the size of
// memories or tables has a safepoint between itself and the one before.
func TestSafepointsOfBulkInstructions(t *testing.T) {
	operands := testwasm.Repeat(3, testwasm.Const(0))
	safepoint := testwasm.Loop()
	for name, op := range map[string][]byte{
		"memory.init": {0xfc, 8, 0, 0}, "memory.copy": {0xfc, 10, 0, 0}, "memory.fill": {0xfc, 11, 0},
		"table.init": {0xfc, 12, 0, 0}, "table.copy": {0xfc, 14, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			build := func(parts ...[]byte) []byte {
				m := &testwasm.Module{
					Memories: []testwasm.Limits{{Min: 1}}, Tables: []testwasm.Table{{Limits: testwasm.Limits{Max: 1, Bounded: true}}},
					Elements: [][]byte{{1, 0, 0}}, Data: []testwasm.Data{{Passive: true}}, DataCount: true,
				}
				m.Add(testwasm.Func{Body: testwasm.Cat(parts...)})
				m.Add(testwasm.Func{Body: testwasm.Cat(parts...)})
				return m.Bytes()
			}
			one := testwasm.Cat(operands, op)
			p, err := module.Prepare(build(one, testwasm.Block(one), one))
			if err != nil {
				t.Fatal(err)
			}
			want := testwasm.Cat(safepoint, one, []byte{0x02, 0x40}, operands, safepoint, op, []byte{0x0b}, operands, safepoint, op)
			if bytes.Count(p.Wasm, want) != 2 {
				t.Errorf("got % x\nwant twice % x", p.Wasm, want)
			}
			if err := compile(t, p.Wasm); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("data.drop takes no time", func(t *testing.T) {
		m := &testwasm.Module{Data: []testwasm.Data{{Passive: true}}, DataCount: true}
		m.Add(testwasm.Func{Body: testwasm.Repeat(3, []byte{0xfc, 9, 0})})
		p, err := module.Prepare(m.Bytes())
		if err != nil || bytes.Count(p.Wasm, safepoint) != 1 {
			t.Errorf("%v, % x", err, p.Wasm)
		}
	})
}

// TestExports: names that are there twice are refused, and types that many exports share are told
// without a text for each.
func TestExports(t *testing.T) {
	wide := testwasm.Type{Params: bytes.Repeat([]byte{testwasm.ExternRef}, 256), Results: bytes.Repeat([]byte{testwasm.ExternRef}, 256)}
	m := &testwasm.Module{}
	f := m.Add(testwasm.Func{Type: wide, Body: testwasm.Trap()})
	for i := range 9_000 {
		m.Export(strings.Repeat("x", 1+i/256)+string(rune(0x100+i%256)), f)
	}
	wasm := m.Bytes()
	var p module.Prepared
	var err error
	if most := testing.Benchmark(func(b *testing.B) {
		for range b.N {
			p, err = module.Prepare(wasm)
		}
	}).AllocedBytesPerOp(); most > 8<<20 {
		t.Errorf("%d bytes for a module of %d", most, len(wasm))
	}
	if err != nil || len(p.Exports) != 9_000 {
		t.Fatalf("%d exports: %v", len(p.Exports), err)
	}
	m.Export("x\u0100", f)
	if _, err := module.Prepare(m.Bytes()); !contains(err, "is there twice") {
		t.Errorf("with a name twice: %v", err)
	}
}
