package module

// functionNames is the part of a name section that names functions, without its
// number and size; nil when there is none, or when it is malformed or too large: a
// module is not refused for that, stack traces only tell less.
func functionNames(r *reader) []byte {
	for r.more() {
		id := r.byte("part of the name section")
		part := r.sub("part of the name section")
		if id != 1 || part.err != nil {
			r.err = part.err
			continue
		}
		if len(part.b) > maxFunctionNames || readNames(part) != nil {
			return nil
		}
		return part.b
	}
	return nil
}

// readNames reads names by index, which grow.
func readNames(r *reader) error {
	next := int64(0)
	for range r.count("names", MaxFunctions+MaxImports) {
		i := int64(r.u32("index of a name"))
		r.name("name")
		if r.err == nil && i < next {
			r.fail("names are not in order")
		}
		if r.err != nil {
			break
		}
		next = i + 1
	}
	return r.done("names")
}

// writeNames appends the name section, unless it names functions that are not there.
func (p *parser) writeNames() {
	if p.named == nil {
		return
	}
	body := appendU32(append([]byte("\x04name"), 1), uint32(len(p.named)))
	p.write(0, append(body, p.named...))
}
