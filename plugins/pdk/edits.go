package pdk

// Edits are what redact and post_tool answer: what to hide of /payload. The zero
// value changes nothing. Pointers are into the payload, not the document: /command
// is what /payload/command names for [Str]. rule names why, for the record of what
// was covered: "plugin.<plugin>.<rule>"; it may be empty.
type Edits struct{ b []byte }

// Mask covers the bytes from start up to end of a string; it may not cut a character.
func (e *Edits) Mask(pointer string, start, end int, rule string) {
	o := e.edit(pointer, "mask", rule)
	o.raw("start", itoa(int64(start)))
	o.raw("end", itoa(int64(end)))
	e.add(o)
}

// Replace puts a text in the place of a whole value; empty, a placeholder that names
// the plugin and the rule, which is also what Mask leaves. The host refuses a text
// that reads like a placeholder.
func (e *Edits) Replace(pointer, with, rule string) {
	o := e.edit(pointer, "replace", rule)
	if with != "" {
		o.text("with", with)
	}
	e.add(o)
}

// Remove takes a member of an object, or an item of a list, away.
func (e *Edits) Remove(pointer, rule string) { e.add(e.edit(pointer, "remove", rule)) }

// Done answers with the edits and ends the hook.
func (e *Edits) Done() int32 {
	if len(e.b) == 0 {
		return 0
	}
	return Output(`{"edits":[` + string(e.b) + `]}`)
}

func (e *Edits) edit(pointer, op, rule string) object {
	var o object
	o.text("path", pointer)
	o.text("op", op)
	if rule != "" {
		o.text("rule", rule)
	}
	return o
}

func (e *Edits) add(o object) {
	if len(e.b) > 0 {
		e.b = append(e.b, ',')
	}
	e.b = append(e.b, o.end()...)
}
