package module

import (
	"slices"
	"strings"
)

// Value types.
const (
	typeFuncRef   = 0x70
	typeExternRef = 0x6f
)

var typeNames = map[byte]string{
	0x7f: "i32", 0x7e: "i64", 0x7d: "f32", 0x7c: "f64", 0x7b: "v128",
	typeFuncRef: "funcref", typeExternRef: "externref",
}

func isValueType(t byte) bool {
	return t >= 0x7b && t <= 0x7f || t == typeFuncRef || t == typeExternRef
}

var kinds = []string{"func", "table", "memory", "global", "tag"}

func kindName(kind byte) string {
	if int(kind) < len(kinds) {
		return kinds[kind]
	}
	return "unknown kind"
}

// funcType is a function's type; params and results are value types, and parts of
// the module as it was read.
type funcType struct{ params, results []byte }

// String is the type as in "(i32, i32) -> i32"; several results are in parentheses.
func (t funcType) String() string {
	params, results := typeList(t.params), typeList(t.results)
	if len(t.results) == 1 {
		results = typeNames[t.results[0]]
	}
	return params + " -> " + results
}

func typeList(types []byte) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = typeNames[t]
	}
	return "(" + strings.Join(names, ", ") + ")"
}

func (r *reader) valueTypes(what string) []byte {
	n := r.count(what, MaxValues)
	types := r.bytes(n, what)
	if i := slices.IndexFunc(types, func(t byte) bool { return !isValueType(t) }); i >= 0 {
		r.at -= n - i
		r.fail("type %#02x of %s is unknown or belongs to a feature that is not allowed", types[i], what)
	}
	return types
}

func (r *reader) valueType(what string) {
	if t := r.byte(what); r.err == nil && !isValueType(t) {
		r.fail("%s %#02x is unknown or belongs to a feature that is not allowed", what, t)
	}
}

func (r *reader) refType(what string) byte {
	t := r.byte(what)
	if r.err == nil && t != typeFuncRef && t != typeExternRef {
		r.fail("%s %#02x is no funcref or externref", what, t)
	}
	return t
}
