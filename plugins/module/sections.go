package module

import "fmt"

// parser reads a module and writes the rewritten one.
type parser struct {
	*reader
	out      []byte
	prepared Prepared

	types    []funcType
	texts    map[int]string // of types, as they are told
	funcs    []int          // type of each function, imported ones first
	imported int
	tables   []byte // type of each
	globals  int
	memories int
	elements int    // in all segments
	bodies   int    // functions with a body so far
	datas    int    // as the data count section says; -1: there is none
	cost     int64  // of compiling all bodies, in nanoseconds
	named    []byte // names of functions, as the name section writes them; nil: none
}

// section is a known section: how it is called and what reads it. Those that are
// rewritten return what they become; nil means as it is.
type section struct {
	name string
	read func(*parser, *reader) []byte
}

// order lists sections in the order of a module; the index is not the number.
var order = []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11}

var sections = map[int]section{
	1:  {"type section", (*parser).typeSection},
	2:  {"import section", (*parser).importSection},
	3:  {"function section", (*parser).functionSection},
	4:  {"table section", (*parser).tableSection},
	5:  {"memory section", (*parser).memorySection},
	6:  {"global section", (*parser).globalSection},
	7:  {"export section", (*parser).exportSection},
	8:  {"start section", (*parser).startSection},
	9:  {"element section", (*parser).elementSection},
	10: {"code section", (*parser).codeSection},
	11: {"data section", (*parser).dataSection},
	12: {"data count section", (*parser).dataCountSection},
}

func (p *parser) module() error {
	p.datas = -1
	if header := p.bytes(8, "header"); p.err == nil && string(header) != "\x00asm\x01\x00\x00\x00" {
		p.at = 0
		p.fail("header %x is not that of a WebAssembly module of version 1", header)
	}
	p.out = append(p.out, p.b[:p.at]...)
	for last := -1; p.more(); {
		last = p.section(last)
	}
	if p.err == nil && p.bodies != len(p.funcs)-p.imported {
		p.fail("%d functions, but %d bodies", len(p.funcs)-p.imported, p.bodies)
	}
	if p.err == nil {
		p.writeNames()
	}
	return p.err
}

// section reads and writes one section, and returns its place in the order.
func (p *parser) section(last int) int {
	at := p.at
	id := int(p.byte("section"))
	if id == 0 {
		p.customSection(p.sub("custom section"))
		return last
	}
	known, ok := sections[id]
	place := placeOf(id)
	switch {
	case p.err != nil:
		return last
	case !ok:
		p.at = at
		p.fail("section %d is unknown or belongs to a feature that is not allowed", id)
		return last
	case place <= last:
		p.at = at
		p.fail("%s is there twice or too late", known.name)
		return last
	}
	r := p.sub(known.name)
	body := known.read(p, r)
	if err := r.done(known.name); err != nil {
		p.err = fmt.Errorf("%s: %w", known.name, err)
		return last
	}
	if body == nil {
		body = r.b
	}
	p.write(byte(id), body)
	return place
}

func (p *parser) write(id byte, body []byte) {
	p.out = appendU32(append(p.out, id), uint32(len(body)))
	p.out = append(p.out, body...)
}

func placeOf(id int) int {
	for place, o := range order {
		if o == id {
			return place
		}
	}
	return -1
}

func (p *parser) typeSection(r *reader) []byte {
	for range r.count("types", MaxTypes) {
		if form := r.byte("type"); r.err == nil && form != 0x60 {
			r.fail("type %#02x is no function type", form)
		}
		p.types = append(p.types, funcType{r.valueTypes("parameters"), r.valueTypes("results")})
		if r.err != nil {
			break
		}
	}
	return nil
}

func (p *parser) importSection(r *reader) []byte {
	for range r.count("imports", MaxImports) {
		i := Import{Module: r.name("module of an import"), Name: r.name("name of an import")}
		kind := r.byte("kind of an import")
		if r.err == nil && kind != 0 {
			r.fail("import of %s %.100q from %.100q: only functions may be imported", kindName(kind), i.Name, i.Module)
		}
		t := p.typeIndex(r)
		if r.err != nil {
			break
		}
		i.Type = p.typeText(t)
		p.prepared.Imports = append(p.prepared.Imports, i)
		p.funcs = append(p.funcs, t)
	}
	p.imported = len(p.funcs)
	return nil
}

func (p *parser) functionSection(r *reader) []byte {
	for range r.count("functions", MaxFunctions) {
		t := p.typeIndex(r)
		if r.err != nil {
			break
		}
		p.funcs = append(p.funcs, t)
	}
	return nil
}

// typeIndex reads the index of a type that is there.
func (p *parser) typeIndex(r *reader) int {
	i := r.u32("type index")
	if r.err == nil && int64(i) >= int64(len(p.types)) {
		r.fail("type %d, but there are %d", i, len(p.types))
		return 0
	}
	return int(i)
}

// typeText is a type as text, which is made once: many items may have one long type.
func (p *parser) typeText(i int) string {
	text, ok := p.texts[i]
	if !ok {
		text = p.types[i].String()
		p.texts[i] = text
	}
	return text
}

func (p *parser) exportSection(r *reader) []byte {
	names := map[string]bool{}
	for range r.count("exports", MaxExports) {
		e := Export{Name: r.name("name of an export")}
		kind := r.byte("kind of an export")
		index := int64(r.u32("index of an export"))
		if r.err == nil && index >= p.counted(kind) {
			r.fail("export %.100q of %s %d, which is not there", e.Name, kindName(kind), index)
		}
		if r.err == nil && names[e.Name] {
			r.fail("export %.100q is there twice", e.Name)
		}
		if r.err != nil {
			break
		}
		names[e.Name] = true
		e.Kind = kindName(kind)
		if kind == 0 {
			e.Type = p.typeText(p.funcs[index])
		}
		p.prepared.Exports = append(p.prepared.Exports, e)
	}
	return nil
}

// counted is how many items of a kind there are; 0 for a kind that is unknown.
func (p *parser) counted(kind byte) int64 {
	counts := [...]int{len(p.funcs), len(p.tables), p.memories, p.globals}
	if int(kind) >= len(counts) {
		return 0
	}
	return int64(counts[kind])
}

func (p *parser) startSection(r *reader) []byte {
	if f := r.u32("start function"); r.err == nil && int64(f) >= int64(len(p.funcs)) {
		r.fail("start function %d, but there are %d", f, len(p.funcs))
	}
	return nil
}

func (p *parser) dataCountSection(r *reader) []byte {
	p.datas = int(r.u32("number of data segments"))
	return nil
}
