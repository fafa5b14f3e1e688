package policy

import (
	"encoding/base32"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// This file turns documents into Rego terms without a detour over JSON, which
// took most of a decision's time. Lists and objects that are nil become empty
// ones, a nil pointer becomes null. Terms are never changed, so those that come
// again and again are made once.

// termField is one field of a document type.
type termField struct {
	key  *ast.Term
	at   []int
	make termMaker
}

type termMaker func(reflect.Value) ast.Value

var termMakers sync.Map // reflect.Type -> termMaker

// newDecisionID makes the id of one decision: 128 random bits. Nothing is granted
// for knowing one, so it need not be unguessable.
func newDecisionID() string {
	var raw [16]byte
	binary.LittleEndian.PutUint64(raw[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(raw[8:], rand.Uint64())
	return decisionIDs.EncodeToString(raw[:])
}

var decisionIDs = base32.StdEncoding.WithPadding(base32.NoPadding)

// toTerm turns a document into a term.
func toTerm(doc any) *ast.Term {
	return ast.NewTerm(termMakerOf(reflect.TypeOf(doc))(reflect.ValueOf(doc)))
}

func termMakerOf(t reflect.Type) termMaker {
	if known, ok := termMakers.Load(t); ok {
		return known.(termMaker)
	}
	m := newTermMaker(t)
	termMakers.Store(t, m)
	return m
}

func newTermMaker(t reflect.Type) termMaker {
	switch t.Kind() {
	case reflect.String:
		return func(v reflect.Value) ast.Value { return stringValue(v.String()) }
	case reflect.Bool:
		return func(v reflect.Value) ast.Value { return ast.InternedValue(v.Bool()) }
	case reflect.Int, reflect.Int64:
		return func(v reflect.Value) ast.Value { return intValue(v.Int()) }
	case reflect.Float64:
		return func(v reflect.Value) ast.Value { return ast.FloatNumberTerm(v.Float()).Value }
	case reflect.Pointer:
		return pointerMaker(t)
	case reflect.Slice:
		return sliceMaker(t)
	case reflect.Map:
		return mapMaker(t)
	case reflect.Struct:
		return structMaker(t)
	case reflect.Interface:
		return func(v reflect.Value) ast.Value { return anyValue(v.Interface()) }
	}
	panic(fmt.Sprintf("policy document: no term for %s", t))
}

func stringValue(s string) ast.Value {
	if s == "" {
		return ast.InternedEmptyStringValue
	}
	return ast.String(s)
}

func intValue(n int64) ast.Value {
	if n == int64(int(n)) && ast.HasInternedIntNumberTerm(int(n)) {
		return ast.InternedTerm(int(n)).Value
	}
	return ast.Number(json.Number(strconv.FormatInt(n, 10)))
}

func pointerMaker(t reflect.Type) termMaker {
	inner := termMakerOf(t.Elem())
	return func(v reflect.Value) ast.Value {
		if v.IsNil() {
			return ast.InternedNullValue
		}
		return inner(v.Elem())
	}
}

func sliceMaker(t reflect.Type) termMaker {
	inner := termMakerOf(t.Elem())
	return func(v reflect.Value) ast.Value {
		n := v.Len()
		if n == 0 {
			return ast.InternedEmptyArrayValue
		}
		block, terms := make([]ast.Term, n), make([]*ast.Term, n)
		for i := range terms {
			block[i].Value = inner(v.Index(i))
			terms[i] = &block[i]
		}
		return ast.NewArray(terms...)
	}
}

func mapMaker(t reflect.Type) termMaker {
	inner := termMakerOf(t.Elem())
	return func(v reflect.Value) ast.Value {
		if v.Len() == 0 {
			return ast.InternedEmptyObjectValue
		}
		pairs := make([][2]*ast.Term, 0, v.Len())
		for it := v.MapRange(); it.Next(); {
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(it.Key().String()), ast.NewTerm(inner(it.Value()))})
		}
		return ast.NewObject(pairs...)
	}
}

// pairBuffers are reused between structs: an object copies its pairs.
var pairBuffers = sync.Pool{New: func() any { return new([][2]*ast.Term) }}

func structMaker(t reflect.Type) termMaker {
	build := fieldsMaker(termFields(t, nil))
	if size := sharedTypes[t]; size > 0 {
		return withZero(t, build, shared(build, size))
	}
	return withZero(t, build, build)
}

// withZero makes the term of the zero value once.
func withZero(t reflect.Type, build, other termMaker) termMaker {
	zero := build(reflect.Zero(t))
	return func(v reflect.Value) ast.Value {
		if v.IsZero() {
			return zero
		}
		return other(v)
	}
}

// fieldsMaker makes objects of some fields of a struct.
func fieldsMaker(fields []termField) termMaker {
	return func(v reflect.Value) ast.Value {
		buffer := pairBuffers.Get().(*[][2]*ast.Term)
		pairs, block := (*buffer)[:0], make([]ast.Term, len(fields))
		for i := range fields {
			block[i].Value = fields[i].make(v.FieldByIndex(fields[i].at))
			pairs = append(pairs, [2]*ast.Term{fields[i].key, &block[i]})
		}
		object := ast.NewObject(pairs...)
		*buffer = pairs
		pairBuffers.Put(buffer)
		return object
	}
}

// termFields lists the fields that are written, those of embedded structs included.
func termFields(t reflect.Type, before []int) []termField {
	var all []termField
	for i := range t.NumField() {
		f := t.Field(i)
		at := append(append([]int(nil), before...), i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			all = append(all, termFields(f.Type, at)...)
		case name != "" && f.IsExported():
			all = append(all, termField{ast.StringTerm(name), at, fieldMaker(f)})
		}
	}
	return all
}

// fieldMaker makes the words of an enumeration once.
func fieldMaker(f reflect.StructField) termMaker {
	words, ok := f.Tag.Lookup("enum")
	if !ok || f.Type.Kind() != reflect.String {
		return termMakerOf(f.Type)
	}
	known := map[string]ast.Value{}
	for word := range strings.SplitSeq(words, ",") {
		known[word] = stringValue(word)
	}
	return func(v reflect.Value) ast.Value {
		if value, ok := known[v.String()]; ok {
			return value
		}
		return stringValue(v.String())
	}
}

// anyValue turns a decoded JSON value into a term's; numbers stay as written.
func anyValue(value any) ast.Value {
	switch v := value.(type) {
	case nil:
		return ast.InternedNullValue
	case string:
		return stringValue(v)
	case bool:
		return ast.InternedValue(v)
	case json.Number:
		return ast.Number(v)
	case int:
		return intValue(int64(v))
	case float64:
		return ast.Number(json.Number(strconv.FormatFloat(v, 'g', -1, 64)))
	case []any:
		terms := make([]*ast.Term, len(v))
		for i := range v {
			terms[i] = ast.NewTerm(anyValue(v[i]))
		}
		return ast.NewArray(terms...)
	case map[string]any:
		pairs := make([][2]*ast.Term, 0, len(v))
		for name, inner := range v {
			pairs = append(pairs, [2]*ast.Term{ast.StringTerm(name), ast.NewTerm(anyValue(inner))})
		}
		return ast.NewObject(pairs...)
	}
	panic(fmt.Sprintf("policy document: no term for %T", value))
}
