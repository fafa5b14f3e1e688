package mpmserver

import "encoding/json"

// object writes one JSON object, member after member. Its values are JSON already:
// most of a message is passed on as it is.
type object struct{ b []byte }

// message begins an object with its type.
func message(kind string) *object { return (&object{b: []byte{'{'}}).text("type", kind) }

// literal writes a member whose name is JSON.
func (o *object) literal(name, value []byte) *object {
	if len(o.b) > 1 {
		o.b = append(o.b, ',')
	}
	o.b = append(append(o.b, name...), ':')
	o.b = append(o.b, value...)
	return o
}

// raw writes a member; name needs no escapes.
func (o *object) raw(name string, value []byte) *object {
	return o.literal([]byte(`"`+name+`"`), value)
}

func (o *object) text(name, value string) *object {
	raw, err := encode(value)
	if err != nil { // a text: cannot happen
		raw = []byte("null")
	}
	return o.raw(name, raw)
}

// with passes a member on where it is there.
func (o *object) with(fields map[string]json.RawMessage, name string) *object {
	if v := fields[name]; v != nil {
		o.raw(name, v)
	}
	return o
}

// or is with for a member that is otherwise that JSON value.
func (o *object) or(fields map[string]json.RawMessage, name, otherwise string) *object {
	if v := fields[name]; v != nil {
		return o.raw(name, v)
	}
	return o.raw(name, []byte(otherwise))
}

func (o *object) end() json.RawMessage { return append(o.b, '}') }
