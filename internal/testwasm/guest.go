package testwasm

// ABI is the module the functions of the hook ABI are imported from.
const ABI = "gatehouse.hook.v1"

// Kinds of a verdict, levels of a log line and operations of kv.
const (
	PassKind = iota
	AllowKind
	DenyKind
	AskKind

	Debug = iota - 4
	Info
	Warn
	Error

	KVGet    = 0
	KVSet    = 1
	KVDelete = 2
)

// Indices of the functions a guest imports.
const (
	GetFunc uint32 = iota
	VerdictFunc
	AnnotateFunc
	OutputFunc
	LogFunc
	KVFunc
)

// Buffer is where memory is free for what a guest gets; texts lie below it. A
// guest has one page of 64 KiB.
const Buffer = 32 << 10

// Guest is a module of the hook ABI.
type Guest struct {
	Module
	texts []byte
	steps int32
}

// params is a type of n i32 parameters with an i32 result.
func params(n int) Type {
	t := Type{Results: []byte{I32}}
	for range n {
		t.Params = append(t.Params, I32)
	}
	return t
}

// ABIImports are the functions of the ABI, in the order of their indices.
func ABIImports() []Import {
	return []Import{
		{Module: ABI, Name: "get", Type: params(4)},
		{Module: ABI, Name: "verdict", Type: params(3)},
		{Module: ABI, Name: "annotate", Type: params(4)},
		{Module: ABI, Name: "output", Type: params(2)},
		{Module: ABI, Name: "log", Type: params(3)},
		{Module: ABI, Name: "kv", Type: params(5)},
	}
}

// NewGuest makes a guest without hooks.
func NewGuest() *Guest {
	g := &Guest{}
	g.Imports = ABIImports()
	g.Memories = []Limits{{Min: 1}}
	g.Exports = []Export{{Name: "memory", Kind: KindMemory}}
	return g
}

// Bytes is the guest in the binary format.
func (g *Guest) Bytes() []byte {
	m := g.Module
	if len(g.texts) > 0 {
		m.Data = append([]Data{{Bytes: g.texts}}, m.Data...)
	}
	return m.Bytes()
}

// Hook adds a hook that runs code, which leaves nothing, and returns 0. It has four
// locals of type i32 to use.
func (g *Guest) Hook(name string, code ...[]byte) {
	g.Export(name, g.Add(Func{Type: HookType, Locals: []Locals{{4, I32}}, Body: Cat(Cat(code...), Const(0))}))
}

// Text pushes the address and the length of a text.
func (g *Guest) Text(s string) []byte {
	at := len(g.texts)
	g.texts = append(g.texts, s...)
	return Cat(Const(int32(at)), Const(int32(len(s))))
}

// Get leaves what get returns for a document's part that goes to dst.
func (g *Guest) Get(path string, dst, size int32) []byte {
	return Cat(g.Text(path), Const(dst), Const(size), Call(GetFunc))
}

// Verdict says a verdict.
func (g *Guest) Verdict(kind int32, reason string) []byte {
	return Cat(Const(kind), g.Text(reason), Call(VerdictFunc), Drop())
}

// VerdictOf says a verdict whose reason is a part of the document, which must be there.
func (g *Guest) VerdictOf(kind int32, path string) []byte {
	return Cat(g.into(path), Const(kind), Const(Buffer), LocalGet(3), Call(VerdictFunc), Drop())
}

// Annotate annotates with a JSON value.
func (g *Guest) Annotate(key, value string) []byte {
	return Cat(g.Text(key), g.Text(value), Call(AnnotateFunc), Drop())
}

// AnnotateOf annotates with a part of the document that is no string.
func (g *Guest) AnnotateOf(key, path string) []byte {
	return Cat(g.into(path), g.Text(key), Const(Buffer), LocalGet(3), Call(AnnotateFunc), Drop())
}

// Output gives an output.
func (g *Guest) Output(json string) []byte {
	return Cat(g.Text(json), Call(OutputFunc), Drop())
}

// OutputOf gives a part of the document as output.
func (g *Guest) OutputOf(path string) []byte {
	return Cat(g.into(path), Const(Buffer), LocalGet(3), Call(OutputFunc), Drop())
}

// Log logs a line.
func (g *Guest) Log(level int32, text string) []byte {
	return Cat(Const(level), g.Text(text), Call(LogFunc), Drop())
}

// KVSet and KVDelete leave what kv returns, as KVGet does, which copies to dst.
func (g *Guest) KVSet(key, value string) []byte {
	return Cat(Const(KVSet), g.Text(key), g.Text(value), Call(KVFunc))
}

// KVDelete leaves what kv returns.
func (g *Guest) KVDelete(key string) []byte {
	return Cat(Const(KVDelete), g.Text(key), Const(0), Const(0), Call(KVFunc))
}

// KVGet leaves what kv returns.
func (g *Guest) KVGet(key string, dst, size int32) []byte {
	return Cat(Const(KVGet), g.Text(key), Const(dst), Const(size), Call(KVFunc))
}

// Must returns from the hook with a number unless code leaves want: 101 for the
// guest's first Must, 102 for the next.
func (g *Guest) Must(want int32, code ...[]byte) []byte {
	g.steps++
	return Cat(Cat(code...), Const(want), []byte{0x47}, If(Const(100+g.steps), Return())) // ne
}

// into copies a part of the document to Buffer and its length to local 3.
func (g *Guest) into(path string) []byte {
	return Cat(g.Get(path, Buffer, Buffer), LocalSet(3))
}
