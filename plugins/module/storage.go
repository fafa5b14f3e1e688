package module

// Bytes that things take in each instance.
const (
	perElement = 8
	perGlobal  = 16
	perSegment = 24
)

// tableSection gives each table a maximum.
func (p *parser) tableSection(r *reader) []byte {
	n := r.count("tables", MaxTables)
	out := appendU32(nil, uint32(n))
	for range n {
		t := r.refType("type of a table")
		l := r.limits("table")
		if r.err == nil && l.Min > MaxTable {
			r.fail("table has %d elements at its start, at most %d are allowed", l.Min, MaxTable)
		}
		if r.err != nil {
			break
		}
		most := uint32(MaxTable)
		if l.Bounded {
			most = min(most, l.Max)
		}
		p.tables = append(p.tables, t)
		p.prepared.Beside += int64(most) * perElement
		out = appendU32(appendU32(append(out, t, 1), l.Min), most)
	}
	return out
}

func (p *parser) memorySection(r *reader) []byte {
	n := r.u32("number of memories")
	if r.err == nil && n > 1 {
		r.fail("%d memories, at most 1 is allowed", n)
	}
	if r.err != nil || n == 0 {
		return nil
	}
	l := r.limits("memory")
	if r.err == nil && l.Min > MaxMemory {
		r.fail("memory has %d pages at its start, at most %d are allowed", l.Min, MaxMemory)
	}
	if r.err == nil && l.Max > maxPages {
		r.fail("memory has a maximum of %d pages, at most %d are possible", l.Max, maxPages)
	}
	p.memories, p.prepared.Memory = 1, l
	return nil
}

// limits are those of a table or memory that is neither shared nor of 64 bits.
func (r *reader) limits(what string) Memory {
	flags := r.byte("limits of a " + what)
	if r.err == nil && flags > 1 {
		r.fail("%s with flags %#02x: shared and 64-bit ones are not allowed", what, flags)
	}
	l := Memory{Min: r.u32("minimum"), Bounded: flags == 1}
	if l.Bounded {
		l.Max = r.u32("maximum")
	}
	if r.err == nil && l.Bounded && l.Max < l.Min {
		r.fail("%s has minimum %d above its maximum %d", what, l.Min, l.Max)
	}
	return l
}

func (p *parser) globalSection(r *reader) []byte {
	for range r.count("globals", MaxGlobals) {
		r.valueType("type of a global")
		if mutable := r.byte("mutability"); r.err == nil && mutable > 1 {
			r.fail("mutability %#02x is unknown", mutable)
		}
		r.constant()
		if r.err != nil {
			break
		}
		p.globals++
		p.prepared.Beside += perGlobal
	}
	return nil
}

// constant reads an expression of one constant.
func (r *reader) constant() {
	switch op := r.byte("constant expression"); op {
	case opI32Const:
		r.s32("constant")
	case opI64Const:
		r.s64("constant")
	case opF32Const:
		r.bytes(4, "constant")
	case opF64Const:
		r.bytes(8, "constant")
	case opGlobalGet, opRefFunc:
		r.u32("index")
	case opRefNull:
		r.refType("type of a reference")
	case opVector:
		if sub := r.byte("constant"); r.err == nil && sub != vectorConst {
			r.fail("opcode 0xfd %#02x is not allowed in a constant expression", sub)
		}
		r.bytes(16, "constant")
	default:
		r.fail("opcode %#02x is not allowed in a constant expression", op)
	}
	if end := r.byte("end of a constant expression"); r.err == nil && end != opEnd {
		r.fail("constant expression of more than one instruction")
	}
}

const vectorConst = 12

// elementSection reads segments of all kinds: passive and declared ones change
// nothing before an instruction that is bounded by its table's maximum.
func (p *parser) elementSection(r *reader) []byte {
	for range r.count("element segments", MaxSegments) {
		p.elementSegment(r)
		if r.err != nil {
			break
		}
	}
	return nil
}

func (p *parser) elementSegment(r *reader) {
	flags := r.u32("element segment")
	if r.err == nil && flags > 7 {
		r.fail("element segment with flags %#x", flags)
	}
	passive, explicit, expressions := flags&1 != 0, flags&2 != 0, flags&4 != 0
	if !passive && explicit {
		r.u32("table index")
	}
	if !passive {
		r.constant()
	}
	if passive || explicit {
		elementKind(r, expressions)
	}
	n := r.count("elements", MaxElements-p.elements)
	p.elements += n
	p.prepared.Beside += perSegment + int64(n)*perElement
	for range n {
		if expressions {
			r.constant()
		} else {
			r.u32("function index")
		}
		if r.err != nil {
			return
		}
	}
}

func elementKind(r *reader, expressions bool) {
	if expressions {
		r.refType("type of elements")
	} else if kind := r.byte("kind of elements"); r.err == nil && kind != 0 {
		r.fail("kind %#02x of elements is unknown", kind)
	}
}

func (p *parser) dataSection(r *reader) []byte {
	n := r.count("data segments", MaxSegments)
	if r.err == nil && p.datas >= 0 && n != p.datas {
		r.fail("%d data segments, but the data count section says %d", n, p.datas)
	}
	for range n {
		flags := r.u32("data segment")
		if r.err == nil && flags > 2 {
			r.fail("data segment with flags %#x", flags)
		}
		if flags == 2 {
			r.zero("memory index")
		}
		if flags != 1 {
			r.constant()
		}
		r.bytes(int(r.u32("size of a data segment")), "data segment")
		p.prepared.Beside += perSegment
		if r.err != nil {
			break
		}
	}
	return nil
}
