// Package testwasm builds small WebAssembly modules for tests, sound and broken
// ones, without a toolchain.
//
// [Module] is any module; what it holds is not checked. [Guest] is one of the hook
// ABI: it imports all functions of the ABI and has a memory, and its methods give
// code that calls them. [Deny], [Annotate], [Output] and others are ready guests:
//
//	wasm := testwasm.Deny("pre_permission", "not here")
//
//	g := testwasm.NewGuest()
//	g.Hook("pre_permission", g.Verdict(testwasm.DenyKind, "not here"))
//	wasm := g.Bytes()
package testwasm

// Value types.
const (
	I32       = 0x7f
	I64       = 0x7e
	F32       = 0x7d
	F64       = 0x7c
	V128      = 0x7b
	FuncRef   = 0x70
	ExternRef = 0x6f
)

// Kinds of imports and exports.
const (
	KindFunc   = 0
	KindTable  = 1
	KindMemory = 2
	KindGlobal = 3
)

// Type is a function's type, each byte a value type. The zero value is () -> ().
type Type struct{ Params, Results []byte }

// HookType is the type of a hook: () -> i32.
var HookType = Type{Results: []byte{I32}}

// Import is an imported function, or with Desc anything: a kind and what follows it.
type Import struct {
	Module, Name string
	Type         Type
	Desc         []byte // nil: a function of Type
}

// Func is a function. Its index counts from the number of imported functions.
type Func struct {
	Type   Type
	Locals []Locals
	Body   []byte // without the last end
	Raw    []byte // a whole code entry without its size, in place of Locals and Body
}

// Locals declares Count locals of one type.
type Locals struct {
	Count uint32
	Type  byte
}

// Limits are those of a table or a memory.
type Limits struct {
	Min, Max uint32
	Bounded  bool // Max is written
}

// Table is a table of references.
type Table struct {
	Elem   byte // 0: FuncRef
	Limits Limits
}

// Global is a global with the code of its first value, without the end.
type Global struct {
	Type    byte
	Mutable bool
	Init    []byte
}

// Export names an item by its kind and index.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Data is a segment of the first memory.
type Data struct {
	Passive bool // without Offset
	Offset  int32
	Bytes   []byte
}

// Section is a section as it stands in the file. Custom sections have ID 0.
type Section struct {
	ID   byte
	Body []byte
}

// Module is a module. The zero value is an empty one.
type Module struct {
	Imports  []Import
	Funcs    []Func
	Tables   []Table
	Memories []Limits
	Globals  []Global
	Exports  []Export
	Start    *uint32
	Elements [][]byte // raw segments
	Data     []Data

	DataCount bool      // the section that counts Data is written
	First     []Section // before all others
	Last      []Section // after all others

	types []Type
}

// Imported is the index of the first function that is not imported.
func (m *Module) Imported() uint32 {
	var n uint32
	for _, i := range m.Imports {
		if i.Desc == nil {
			n++
		}
	}
	return n
}

// Add adds a function and returns its index.
func (m *Module) Add(f Func) uint32 {
	m.Funcs = append(m.Funcs, f)
	return m.Imported() + uint32(len(m.Funcs)) - 1
}

// Export exports a function.
func (m *Module) Export(name string, function uint32) {
	m.Exports = append(m.Exports, Export{Name: name, Kind: KindFunc, Index: function})
}

// Custom is a custom section.
func Custom(name string, body []byte) Section {
	return Section{Body: Cat(Name(name), body)}
}
