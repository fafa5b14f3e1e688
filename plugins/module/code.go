package module

import (
	"bytes"
	"fmt"
)

// safepoint is an empty loop. The runtime looks at the beginning of a loop whether
// it has to stop, and nowhere else; with one at the entry of each function calls
// cannot go on for ever without it, and with one before each bulk instruction but a
// function's first there is at most one such instruction between two looks: each may
// be about all of the memory, and native code holds up the collection of garbage, and
// with it everything.
var safepoint = []byte{opLoop, 0x40, opEnd}

// codeSection puts a safepoint into each body.
func (p *parser) codeSection(r *reader) []byte {
	want := len(p.funcs) - p.imported
	n := r.count("bodies", MaxFunctions)
	if r.err == nil && n != want {
		r.fail("%d bodies, but %d functions", n, want)
	}
	out := appendU32(make([]byte, 0, len(r.b)+4*n+8), uint32(n))
	w := &walker{m: p}
	for ; p.bodies < n && r.err == nil; p.bodies++ {
		var err error
		if out, err = p.body(w, r, out); err != nil {
			r.err = fmt.Errorf("function %d: %w", p.imported+p.bodies, err)
			return nil
		}
	}
	return out
}

// body reads one body and appends the rewritten one.
func (p *parser) body(w *walker, r *reader, out []byte) ([]byte, error) {
	if n := sizeAhead(r); n > MaxBody {
		return nil, fmt.Errorf("offset %#x: its body has %d bytes, at most %d are allowed", r.base+r.at, n, MaxBody)
	}
	body := r.sub("body")
	t := &p.types[p.funcs[p.imported+p.bodies]]
	locals := len(t.params) + localsOf(body)
	if body.err == nil && locals > MaxLocals {
		body.fail("%d locals and parameters, at most %d are allowed", locals, MaxLocals)
	}
	if body.err == nil && locals*len(body.b) > MaxLocalsBody {
		body.fail("%d locals in a body of %d bytes: their product is over %d", locals, len(body.b), MaxLocalsBody)
	}
	if body.err != nil {
		return nil, body.err
	}
	start := body.at
	*w = walker{reader: body, m: p, frames: w.frames[:0], points: append(w.points[:0], start)}
	if err := w.walk(t); err != nil {
		return nil, err
	}
	if err := p.charge(w, locals); err != nil {
		return nil, err
	}
	out = appendU32(out, uint32(len(body.b)+len(w.points)*len(safepoint)))
	last := 0
	for _, at := range w.points {
		out = append(append(out, body.b[last:at]...), safepoint...)
		last = at
	}
	return append(out, body.b[last:]...), nil
}

// sizeAhead is the size that comes next; nothing is read.
func sizeAhead(r *reader) uint32 {
	ahead := *r
	return ahead.u32("size of a body")
}

// localsOf reads the declarations of locals and counts them.
func localsOf(r *reader) int {
	total := 0
	for range r.count("declarations of locals", MaxLocals) {
		n := r.u32("number of locals")
		r.valueType("type of locals")
		if total += int(min(n, MaxLocals+1)); r.err != nil || total > MaxLocals {
			break
		}
	}
	return total
}

// customSection keeps the names of functions and drops everything else.
func (p *parser) customSection(r *reader) {
	name := r.name("name of a custom section")
	if r.err != nil {
		p.err = fmt.Errorf("custom section: %w", r.err)
		return
	}
	if name == "name" && p.named == nil {
		p.named = bytes.Clone(functionNames(r))
	}
}
