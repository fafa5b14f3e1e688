package policy

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// This file turns documents into Rego terms without a detour over JSON, which
// took most of a decision's time. Lists and objects that are nil become empty
// ones, a nil pointer becomes null.

// termField is one field of a document type.
type termField struct {
	key  *ast.Term
	at   []int
	make termMaker
}

type termMaker func(reflect.Value) *ast.Term

var termMakers sync.Map // reflect.Type -> termMaker

var (
	emptyArray  = ast.ArrayTerm()
	emptyObject = ast.ObjectTerm()
)

// newDecisionID makes the id of one decision.
func newDecisionID() string { return rand.Text() }

// toTerm turns a document into a term.
func toTerm(doc any) *ast.Term { return termMakerOf(reflect.TypeOf(doc))(reflect.ValueOf(doc)) }

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
		return func(v reflect.Value) *ast.Term { return ast.InternedTerm(v.String()) }
	case reflect.Bool:
		return func(v reflect.Value) *ast.Term { return ast.InternedTerm(v.Bool()) }
	case reflect.Int, reflect.Int64:
		return func(v reflect.Value) *ast.Term { return ast.IntNumberTerm(int(v.Int())) }
	case reflect.Float64:
		return func(v reflect.Value) *ast.Term { return ast.FloatNumberTerm(v.Float()) }
	case reflect.Pointer:
		return pointerMaker(t)
	case reflect.Slice:
		return sliceMaker(t)
	case reflect.Map:
		return mapMaker(t)
	case reflect.Struct:
		return structMaker(t)
	case reflect.Interface:
		return func(v reflect.Value) *ast.Term { return anyTerm(v.Interface()) }
	}
	panic(fmt.Sprintf("policy document: no term for %s", t))
}

func pointerMaker(t reflect.Type) termMaker {
	inner := termMakerOf(t.Elem())
	return func(v reflect.Value) *ast.Term {
		if v.IsNil() {
			return ast.InternedNullTerm
		}
		return inner(v.Elem())
	}
}

func sliceMaker(t reflect.Type) termMaker {
	inner := termMakerOf(t.Elem())
	return func(v reflect.Value) *ast.Term {
		if v.Len() == 0 {
			return emptyArray
		}
		terms := make([]*ast.Term, v.Len())
		for i := range terms {
			terms[i] = inner(v.Index(i))
		}
		return ast.ArrayTerm(terms...)
	}
}

func mapMaker(t reflect.Type) termMaker {
	inner := termMakerOf(t.Elem())
	return func(v reflect.Value) *ast.Term {
		if v.Len() == 0 {
			return emptyObject
		}
		object := ast.NewObjectWithCapacity(v.Len())
		for it := v.MapRange(); it.Next(); {
			object.Insert(ast.StringTerm(it.Key().String()), inner(it.Value()))
		}
		return ast.NewTerm(object)
	}
}

func structMaker(t reflect.Type) termMaker {
	fields := termFields(t, nil)
	return func(v reflect.Value) *ast.Term {
		object := ast.NewObjectWithCapacity(len(fields))
		for i := range fields {
			object.Insert(fields[i].key, fields[i].make(v.FieldByIndex(fields[i].at)))
		}
		return ast.NewTerm(object)
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
			all = append(all, termField{ast.StringTerm(name), at, termMakerOf(f.Type)})
		}
	}
	return all
}

// anyTerm turns a decoded JSON value into a term; numbers stay as written.
func anyTerm(value any) *ast.Term {
	switch v := value.(type) {
	case nil:
		return ast.InternedNullTerm
	case string:
		return ast.StringTerm(v)
	case bool:
		return ast.InternedTerm(v)
	case json.Number:
		return ast.NumberTerm(v)
	case int:
		return ast.IntNumberTerm(v)
	case float64:
		return ast.NumberTerm(json.Number(strconv.FormatFloat(v, 'g', -1, 64)))
	case []any:
		terms := make([]*ast.Term, len(v))
		for i := range v {
			terms[i] = anyTerm(v[i])
		}
		return ast.ArrayTerm(terms...)
	case map[string]any:
		object := ast.NewObjectWithCapacity(len(v))
		for name, inner := range v {
			object.Insert(ast.StringTerm(name), anyTerm(inner))
		}
		return ast.NewTerm(object)
	}
	panic(fmt.Sprintf("policy document: no term for %T", value))
}
