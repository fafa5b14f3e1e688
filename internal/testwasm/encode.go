package testwasm

import "slices"

// Bytes is the module in the binary format.
func (m *Module) Bytes() []byte {
	m.types = nil
	out := Header()
	for _, s := range m.First {
		out = append(out, s.encode()...)
	}
	for _, s := range m.sections() {
		if s.Body != nil {
			out = append(out, s.encode()...)
		}
	}
	for _, s := range m.Last {
		out = append(out, s.encode()...)
	}
	return out
}

// Header is the magic number and the version.
func Header() []byte { return []byte("\x00asm\x01\x00\x00\x00") }

func (s Section) encode() []byte {
	return Cat([]byte{s.ID}, Uint(uint64(len(s.Body))), s.Body)
}

// sections are those that are not custom, in the order of the format. The types
// are gathered by encoding the others, so they come last.
func (m *Module) sections() []Section {
	rest := []Section{
		{2, vec(m.Imports, m.importEntry)},
		{3, vec(m.Funcs, func(f Func) []byte { return m.typeIndex(f.Type) })},
		{4, vec(m.Tables, tableEntry)},
		{5, vec(m.Memories, Limits.encode)},
		{6, vec(m.Globals, globalEntry)},
		{7, vec(m.Exports, exportEntry)},
		{8, startBody(m.Start)},
		{9, vec(m.Elements, slices.Clone[[]byte])},
		{12, m.dataCount()},
		{10, vec(m.Funcs, codeEntry)},
		{11, vec(m.Data, dataEntry)},
	}
	return append([]Section{{1, vec(m.types, typeEntry)}}, rest...)
}

// vec is a counted list; nil when there is nothing to count.
func vec[T any](items []T, encode func(T) []byte) []byte {
	if len(items) == 0 {
		return nil
	}
	out := Uint(uint64(len(items)))
	for _, item := range items {
		out = append(out, encode(item)...)
	}
	return out
}

// typeIndex is the index of a type, which is added if it is new.
func (m *Module) typeIndex(t Type) []byte {
	i := slices.IndexFunc(m.types, func(o Type) bool {
		return slices.Equal(o.Params, t.Params) && slices.Equal(o.Results, t.Results)
	})
	if i < 0 {
		i = len(m.types)
		m.types = append(m.types, t)
	}
	return Uint(uint64(i))
}

func typeEntry(t Type) []byte {
	return Cat([]byte{0x60}, sized(t.Params), sized(t.Results))
}

func (m *Module) importEntry(i Import) []byte {
	desc := i.Desc
	if desc == nil {
		desc = Cat([]byte{KindFunc}, m.typeIndex(i.Type))
	}
	return Cat(Name(i.Module), Name(i.Name), desc)
}

func tableEntry(t Table) []byte {
	elem := t.Elem
	if elem == 0 {
		elem = FuncRef
	}
	return Cat([]byte{elem}, t.Limits.encode())
}

func (l Limits) encode() []byte {
	if l.Bounded {
		return Cat([]byte{1}, Uint(uint64(l.Min)), Uint(uint64(l.Max)))
	}
	return Cat([]byte{0}, Uint(uint64(l.Min)))
}

func globalEntry(g Global) []byte {
	mutable := byte(0)
	if g.Mutable {
		mutable = 1
	}
	return Cat([]byte{g.Type, mutable}, g.Init, []byte{0x0b})
}

func exportEntry(e Export) []byte {
	return Cat(Name(e.Name), []byte{e.Kind}, Uint(uint64(e.Index)))
}

func startBody(start *uint32) []byte {
	if start == nil {
		return nil
	}
	return Uint(uint64(*start))
}

func codeEntry(f Func) []byte {
	if f.Raw != nil {
		return sized(f.Raw)
	}
	out := Uint(uint64(len(f.Locals)))
	for _, l := range f.Locals {
		out = append(append(out, Uint(uint64(l.Count))...), l.Type)
	}
	return sized(Cat(out, f.Body, []byte{0x0b}))
}

func (m *Module) dataCount() []byte {
	if !m.DataCount {
		return nil
	}
	return Uint(uint64(len(m.Data)))
}

func dataEntry(d Data) []byte {
	if d.Passive {
		return Cat([]byte{1}, sized(d.Bytes))
	}
	return Cat([]byte{0}, Const(d.Offset), []byte{0x0b}, sized(d.Bytes))
}

// Name is a name as the format writes it.
func Name(s string) []byte { return sized([]byte(s)) }

func sized(b []byte) []byte { return Cat(Uint(uint64(len(b))), b) }

// Uint is an unsigned LEB128 number.
func Uint(n uint64) []byte {
	var out []byte
	for ; n >= 0x80; n >>= 7 {
		out = append(out, byte(n)|0x80)
	}
	return append(out, byte(n))
}

// Int is a signed LEB128 number.
func Int(n int64) []byte {
	var out []byte
	for n < -64 || n > 63 {
		out = append(out, byte(n&0x7f)|0x80)
		n >>= 7
	}
	return append(out, byte(n&0x7f))
}

// Cat joins pieces.
func Cat(parts ...[]byte) []byte { return slices.Concat(parts...) }
