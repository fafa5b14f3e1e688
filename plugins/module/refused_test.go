package module_test

import (
	"testing"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
	"github.com/gatehouse-mcp/gatehouse/plugins/module"
)

// section is a module of one section.
func section(id byte, body ...byte) []byte {
	return (&testwasm.Module{First: []testwasm.Section{{ID: id, Body: body}}}).Bytes()
}

func body(code ...byte) []byte { return one(testwasm.Func{Body: code}) }

// many is a list that says it has as many entries as n, with one byte for each.
func many(n int) []byte {
	return testwasm.Cat(testwasm.Uint(uint64(n)), make([]byte, n))
}

func TestRefused(t *testing.T) {
	locals := func(n uint32) []testwasm.Locals { return []testwasm.Locals{{Count: n, Type: testwasm.I32}} }
	for _, tt := range []struct {
		name, want string
		wasm       []byte
	}{
		{"empty file", "header has 8 bytes, but 0 are left", nil},
		{"other version", "is not that of a WebAssembly module", []byte("\x00asm\x02\x00\x00\x00")},
		{"component", "is not that of a WebAssembly module", []byte("\x00asm\x0d\x00\x01\x00")},
		{"text format", "is not that of a WebAssembly module", []byte("(module (func))")},
		{"too large", "at most 33554432 are allowed", make([]byte, module.MaxModule+1)},
		{"section is cut off", "type section has 5 bytes, but 0 are left", append(testwasm.Header(), 1, 5)},
		{"section of 4 GiB", "but 0 are left", append(testwasm.Header(), 1, 0xff, 0xff, 0xff, 0xff, 0x0f)},
		{"unknown section", "section 14 is unknown", section(14)},
		{"tag section", "section 13 is unknown", section(13, 0)},
		{"section twice", "type section is there twice", testwasm.Cat(section(1, 0), []byte{1, 1, 0})},
		{"section too late", "type section is there twice or too late", testwasm.Cat(section(3, 0), []byte{1, 1, 0})},
		{"bytes too many", "1 bytes too many in the type section", section(1, 0, 0)},
		{"number too long", "number of types is no number of 32 bits", section(1, 0x80, 0x80, 0x80, 0x80, 0x80, 0)},
		{"number too large", "number of types is no number of 32 bits", section(1, 0xff, 0xff, 0xff, 0xff, 0x1f)},
		{"more types than bytes", "100 types, but 0 bytes are left", section(1, 100)},
		{"types", "at most 20000 are allowed", section(1, many(20_001)...)},
		{"struct type", "type 0x5f is no function type", section(1, 1, 0x5f, 0)},
		{"multi-byte value type", "type 0x64 of parameters is unknown", section(1, 1, 0x60, 2, 0x64, 0x70, 0)},
		{"parameters", "257 parameters, at most 256", section(1, testwasm.Cat([]byte{1, 0x60}, many(257))...)},
		{"imports", "at most 1000 are allowed", section(2, many(1_001)...)},
		{"imported memory", `import of memory "m" from "e": only functions may be imported`, section(2, 1, 1, 'e', 1, 'm', 2, 0, 1)},
		{"imported table", "import of table", section(2, 1, 1, 'e', 1, 'm', 1, 0x70, 0, 1)},
		{"imported global", "import of global", section(2, 1, 1, 'e', 1, 'm', 3, 0x7f, 0)},
		{"imported tag", "import of tag", section(2, 1, 1, 'e', 1, 'm', 4, 0, 0)},
		{"import name", "name of an import is not valid UTF-8", section(2, 1, 1, 'e', 1, 0xff, 0, 0)},
		{"import name too long", "at most 4096 are allowed", section(2, 1, 1, 'e', 0x81, 0x20, 0, 0)},
		{"import of no type", "type 0, but there are 0", section(2, 1, 1, 'e', 1, 'm', 0, 0)},
		{"functions", "at most 100000 are allowed", section(3, many(100_001)...)},
		{"functions without bodies", "1 functions, but 0 bodies", testwasm.Cat(section(1, 1, 0x60, 0, 0), []byte{3, 2, 1, 0})},
		{"bodies without functions", "1 bodies, but 0 functions", section(10, 1, 2, 0, 0x0b)},
		{"table min", "table has 100001 elements at its start, at most 100000", section(4, testwasm.Cat([]byte{1, 0x70, 0}, testwasm.Uint(100_001))...)},
		{"table with initialiser", "type of a table 0x40", section(4, 1, 0x40, 0, 0x70, 0, 1, 0xd0, 0x70, 0x0b)},
		{"64-bit table", "shared and 64-bit ones are not allowed", section(4, 1, 0x70, 4, 1)},
		{"tables", "at most 16 are allowed", section(4, many(17)...)},
		{"two memories", "2 memories, at most 1", section(5, 2, 0, 1, 0, 1)},
		{"shared memory", "memory with flags 0x03", section(5, 1, 3, 1, 1)},
		{"64-bit memory", "memory with flags 0x04", section(5, 1, 4, 1)},
		{"memory of 4 GiB", "memory has 65536 pages at its start, at most 8192", section(5, testwasm.Cat([]byte{1, 0}, testwasm.Uint(65536))...)},
		{"memory min above max", "minimum 2 above its maximum 1", section(5, 1, 1, 2, 1)},
		{"globals", "at most 10000 are allowed", section(6, many(10_001)...)},
		{"global by two instructions", "more than one instruction", section(6, 1, 0x7f, 0, 0x41, 1, 0x41, 1, 0x6a, 0x0b)},
		{"global by a call", "opcode 0x10 is not allowed in a constant expression", section(6, 1, 0x7f, 0, 0x10, 0, 0x0b)},
		{"exports", "at most 10000 are allowed", section(7, many(10_001)...)},
		{"export of nothing", `export "x" of func 0, which is not there`, section(7, 1, 1, 'x', 0, 0)},
		{"export of a tag", `export "x" of tag 0`, section(7, 1, 1, 'x', 4, 0)},
		{"start of nothing", "start function 3, but there are 0", section(8, 3)},
		{"element segments", "at most 500000 are allowed", section(9, many(500_001)...)},
		{"element flags", "element segment with flags 0x8", section(9, 1, 8)},
		{"data flags", "data segment with flags 0x3", section(11, 1, 3)},
		{"data of another memory", "only one memory is allowed", section(11, 1, 2, 1, 0x41, 0, 0x0b, 0)},
		{"data count", "1 data segments, but the data count section says 2", testwasm.Cat(section(12, 2), []byte{11, 3, 1, 1, 0})},

		{"locals of 57 bytes", "10001 locals and parameters, at most 10000", one(testwasm.Func{Locals: locals(4e9)})},
		{"locals in pieces", "locals and parameters, at most 10000", one(testwasm.Func{Locals: []testwasm.Locals{{Count: 1 << 31, Type: testwasm.I32}, {Count: 1 << 31, Type: testwasm.I32}}})},
		{"locals × bytes", "their product is over 10000000", one(testwasm.Func{Locals: locals(5000), Body: testwasm.Repeat(3000, []byte{0x01})})},
		{"locals × ifs", "too long to compile", one(testwasm.Func{Locals: locals(1000), Body: testwasm.Repeat(1000, testwasm.Const(0), testwasm.If())})},
		{"locals × nested loops", "too long to compile", one(testwasm.Func{Locals: locals(600), Body: nested(0x03, 400)})},
		{"stack × ifs", "too long to compile", one(testwasm.Func{Body: testwasm.Cat(testwasm.Repeat(1000, testwasm.Const(0)), testwasm.Repeat(2000, testwasm.Const(0), testwasm.If()), testwasm.Repeat(1000, testwasm.Drop()))})},
		{"body", "its body has 131074 bytes, at most 131072", one(testwasm.Func{Body: testwasm.Repeat(module.MaxBody, []byte{0x01})})},
		{"nested blocks", "nested more than 2000 deep", one(testwasm.Func{Body: nested(0x02, 20_000)})},
		{"nested loops", "nested more than 2000 deep", one(testwasm.Func{Body: nested(0x03, 20_000)})},
		{"blocks in a row", "too long to compile", one(testwasm.Func{Body: testwasm.Repeat(40_000, testwasm.Block())})},
		{"labels", "too long to compile", body(testwasm.Cat([]byte{0x41, 0, 0x0e}, many(50_000), []byte{0})...)},
		{"branches", "too long to compile", one(testwasm.Func{Body: testwasm.Repeat(8_000, testwasm.Const(0), testwasm.BrIf(0))})},
		{"fills", "too long to compile", one(testwasm.Func{Body: testwasm.Repeat(6_000, testwasm.Const(0), testwasm.Const(0), testwasm.Const(0), testwasm.Fill())})},
		{"many medium functions", "functions so far would take too long", mediumFunctions(20)},

		{"exceptions", "opcode 0x06 is unknown", body(0x06, 0x40, 0x0b)},
		{"throw", "opcode 0x08 is unknown", body(0x08, 0)},
		{"tail call", "opcode 0x12 is unknown", body(0x12, 0)},
		{"threads", "opcode 0xfe is unknown", body(0xfe, 0x10, 2, 0)},
		{"garbage collection", "opcode 0xfb is unknown", body(0xfb, 1, 0)},
		{"relaxed vectors", "opcode 0xfd 0x80 is unknown", body(0xfd, 0x80, 2)},
		{"unused vector number", "opcode 0xfd 0x9a is unknown", body(0xfd, 0x9a, 1)},
		{"unused misc number", "opcode 0xfc 0x12 is unknown", body(0xfc, 18)},
		{"long misc number", "opcode 0xfc 0x8b is unknown", body(0xfc, 0x8b, 0, 0)},
		{"offset of an opcode", "function 0: offset 0x18: opcode 0x27", body(0x01, 0x27)},
		{"block of a reference type", "block type 0x64 is unknown", body(0x02, 0x64, 0x70, 0x0b)},
		{"block of no type", "block type 9, but there are 1 types", body(0x02, 9, 0x0b)},
		{"else without if", "else without if", body(0x05)},
		{"label of nothing", "label 1, but 1 blocks are open", body(0x0c, 1)},
		{"call of nothing", "call of function 7, but there are 1", body(0x10, 7)},
		{"another memory", "only one memory is allowed", body(0x3f, 1)},
		{"alignment with a memory", "alignment 2^64 is not allowed", body(0x41, 0, 0x28, 0x40, 0, 0, 0x1a)},
		{"empty stack", "the operand stack has too few values", body(0x1a)},
		{"code after the end", "bytes too many in the function after its end", body(0x0b, 0x01)},
		{"no end", "instruction is cut off", one(testwasm.Func{Raw: []byte{0, 0x01}})},
		{"block without end", "instruction is cut off", body(0x02, 0x40)},
		{"empty body", "number of declarations of locals is cut off", one(testwasm.Func{Raw: []byte{}})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := module.Prepare(tt.wasm)
			if !contains(err, tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if len(p.Wasm) > 0 {
				t.Errorf("%d bytes beside the error", len(p.Wasm))
			}
		})
	}
}

// mediumFunctions are functions each of which would pass alone.
func mediumFunctions(n int) []byte {
	m := &testwasm.Module{}
	for range n {
		m.Add(testwasm.Func{Locals: []testwasm.Locals{{Count: 100, Type: testwasm.I32}}, Body: testwasm.Repeat(600, testwasm.Const(0), testwasm.If())})
	}
	return m.Bytes()
}

// TestBounds: what is exactly at a cap is accepted.
func TestBounds(t *testing.T) {
	for name, wasm := range map[string][]byte{
		"locals":  one(testwasm.Func{Locals: []testwasm.Locals{{Count: module.MaxLocals, Type: testwasm.I32}}}),
		"body":    one(testwasm.Func{Body: testwasm.Repeat(module.MaxBody-2, []byte{0x01})}),
		"nesting": one(testwasm.Func{Body: nested(0x02, module.MaxNesting)}),
		"table":   section(4, testwasm.Cat([]byte{1, 0x70, 0}, testwasm.Uint(module.MaxTable))...),
		"memory":  section(5, testwasm.Cat([]byte{1, 0}, testwasm.Uint(module.MaxMemory))...),
		"medium":  mediumFunctions(5),
	} {
		if _, err := module.Prepare(wasm); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
