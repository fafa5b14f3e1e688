package policy

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/util"
)

// ruleWriter encodes compiled rules as ruleReader expects them.
type ruleWriter struct {
	out   []byte
	table []string
	at    map[string]int
	err   error
}

// encode returns the file of compiled rules.
func encode(origin string, c *ast.Compiler) ([]byte, error) {
	w := &ruleWriter{at: map[string]int{}}
	w.modules(c)
	whole := &ruleWriter{}
	whole.text(origin)
	whole.number(len(w.table))
	for _, s := range w.table {
		whole.text(s)
	}
	return append(whole.out, w.out...), w.err
}

func (w *ruleWriter) number(n int) { w.out = binary.AppendUvarint(w.out, uint64(n)) }

func (w *ruleWriter) text(s string) {
	w.number(len(s))
	w.out = append(w.out, s...)
}

func (w *ruleWriter) word(s string) {
	i, ok := w.at[s]
	if !ok {
		i = len(w.table)
		w.at[s], w.table = i, append(w.table, s)
	}
	w.number(i)
}

func (w *ruleWriter) flag(set bool) {
	if set {
		w.number(1)
		return
	}
	w.number(0)
}

func (w *ruleWriter) fail(node any) {
	w.err = fmt.Errorf("%T cannot be written: teach the reader and the writer", node)
}

func (w *ruleWriter) modules(c *ast.Compiler) {
	rewritten := util.KeysSorted(c.RewrittenVars)
	w.number(len(rewritten))
	for _, v := range rewritten {
		w.word(string(v))
		w.word(string(c.RewrittenVars[v]))
	}
	names := slices.DeleteFunc(util.KeysSorted(c.Modules), func(name string) bool { return len(c.Modules[name].Rules) == 0 })
	w.number(len(names))
	for _, name := range names {
		m := c.Modules[name]
		w.word(name)
		w.list(m.Package.Path)
		w.number(len(m.Rules))
		for _, r := range m.Rules {
			w.rule(r)
		}
	}
}

func (w *ruleWriter) rule(r *ast.Rule) {
	w.flag(r.Default)
	w.location(r.Location)
	w.word(string(r.Head.Name))
	w.list(r.Head.Reference)
	w.list(r.Head.Args)
	w.term(r.Head.Key)
	w.term(r.Head.Value)
	w.flag(r.Head.Assign)
	w.location(r.Head.Location)
	w.body(r.Body)
	w.flag(r.Else != nil)
	if r.Else != nil {
		w.rule(r.Else)
	}
}

func (w *ruleWriter) location(l *ast.Location) {
	if l == nil {
		l = &ast.Location{}
	}
	w.number(l.Row)
	w.number(l.Col)
}

func (w *ruleWriter) body(b ast.Body) {
	w.number(len(b))
	for i, e := range b {
		if e.Index != i || len(e.With) > 0 {
			w.fail(e) // `with` on a function needs the types, which are not kept
		}
		w.expr(e)
	}
}

func (w *ruleWriter) expr(e *ast.Expr) {
	flags := 0
	if e.Negated {
		flags |= exprNegated
	}
	if e.Generated {
		flags |= exprGenerated
	}
	head := func(kind int) {
		w.number(kind | flags)
		w.location(e.Location)
	}
	switch t := e.Terms.(type) {
	case *ast.Term:
		head(exprTerm)
		w.term(t)
	case []*ast.Term:
		head(exprCall)
		w.list(t)
	case *ast.Every:
		head(exprEvery)
		w.terms(t.Key, t.Value, t.Domain)
		w.body(t.Body)
	case *ast.Not:
		head(exprNot)
		w.flag(t.ExplicitBody)
		w.body(t.Body)
	default:
		w.fail(t)
	}
}

func (w *ruleWriter) list(list []*ast.Term) {
	w.number(len(list))
	w.terms(list...)
}

func (w *ruleWriter) terms(list ...*ast.Term) {
	for _, t := range list {
		w.term(t)
	}
}

func (w *ruleWriter) term(t *ast.Term) {
	if t == nil {
		w.number(tagNone)
		return
	}
	switch v := t.Value.(type) {
	case ast.Var:
		w.number(tagVar)
		w.word(string(v))
	case ast.String:
		w.number(tagString)
		w.word(string(v))
	case ast.Number:
		w.number(tagNumber)
		w.word(string(v))
	case ast.Boolean:
		w.number(map[bool]int{true: tagTrue, false: tagFalse}[bool(v)])
	case ast.Null:
		w.number(tagNull)
	default:
		w.compound(t.Value)
	}
}

func (w *ruleWriter) compound(v ast.Value) {
	switch v := v.(type) {
	case ast.Ref:
		w.number(tagRef)
		w.list(v)
	case ast.Call:
		w.number(tagCall)
		w.list(v)
	case *ast.Array:
		w.number(tagArray)
		w.list(elements(v.Foreach))
	case ast.Set:
		w.number(tagSet)
		w.list(v.Slice())
	case ast.Object:
		w.number(tagObject)
		w.number(v.Len())
		v.Foreach(func(key, value *ast.Term) { w.terms(key, value) })
	case *ast.ArrayComprehension:
		w.number(tagArrayOf)
		w.term(v.Term)
		w.body(v.Body)
	case *ast.SetComprehension:
		w.number(tagSetOf)
		w.term(v.Term)
		w.body(v.Body)
	case *ast.ObjectComprehension:
		w.number(tagObjectOf)
		w.terms(v.Key, v.Value)
		w.body(v.Body)
	default:
		w.fail(v)
	}
}

func elements(each func(func(*ast.Term))) (list []*ast.Term) {
	each(func(t *ast.Term) { list = append(list, t) })
	return list
}
