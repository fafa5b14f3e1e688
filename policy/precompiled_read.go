package policy

import (
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The tags of terms and expressions in a file of compiled rules. Numbers are
// unsigned varints; a list is its length and its elements; a text is its length
// and its bytes; names and texts of terms are indices into a table at the start.
const (
	tagNone = iota
	tagVar
	tagString
	tagNumber
	tagTrue
	tagFalse
	tagNull
	tagRef
	tagCall
	tagArray
	tagSet
	tagObject
	tagArrayOf // comprehensions
	tagSetOf
	tagObjectOf
)

// What an expression holds, and its flags above.
const (
	exprTerm = iota
	exprCall
	exprEvery
	exprNot

	exprKinds     = 4
	exprNegated   = 4
	exprGenerated = 8
)

// maxVarint bounds the bytes of a number: 28 bits are plenty.
const maxVarint = 4

var errDamaged = errors.New("the file is damaged")

// ruleReader decodes compiled rules. The first thing wrong stays in err, and what is
// read after it means nothing. Terms that are one word are made once and shared:
// nothing changes a compiled rule.
type ruleReader struct {
	data  string
	err   error
	table []word
	file  string          // of the module at hand
	lists map[string]bool // modules that hold a comprehension
	terms []ast.Term
	spots []ast.Location
}

// word is one entry of the table and the terms made of it.
type word struct {
	text                string
	name, value, number *ast.Term
}

func (r *ruleReader) fail() int {
	r.err, r.data = errDamaged, ""
	return 0
}

func (r *ruleReader) number() int {
	n := 0
	for i := 0; i < len(r.data) && i < maxVarint; i++ {
		b := r.data[i]
		n |= int(b&0x7f) << (7 * i)
		if b < 0x80 {
			r.data = r.data[i+1:]
			return n
		}
	}
	return r.fail()
}

// count reads the length of a list, each element of which takes a byte at least.
func (r *ruleReader) count() int {
	n := r.number()
	if n > len(r.data) {
		return r.fail()
	}
	return n
}

func (r *ruleReader) text() string {
	n := r.count()
	s := r.data[:n]
	r.data = r.data[n:]
	return s
}

func (r *ruleReader) word() *word {
	if i := r.number(); i < len(r.table) {
		return &r.table[i]
	}
	r.fail()
	return &word{}
}

// modules reads everything after the origin.
func (r *ruleReader) modules() (map[ast.Var]ast.Var, map[string]*ast.Module) {
	r.table, r.lists = make([]word, r.count()), map[string]bool{}
	for i := range r.table {
		r.table[i].text = r.text()
	}
	n := r.count()
	rewritten := make(map[ast.Var]ast.Var, n)
	for range n {
		generated := r.word().text
		rewritten[ast.Var(generated)] = ast.Var(r.word().text)
	}
	n = r.count()
	modules := make(map[string]*ast.Module, n)
	for range n {
		r.file = r.word().text
		m := &ast.Module{Package: &ast.Package{Path: r.list()}}
		m.Rules = make([]*ast.Rule, r.count())
		for i := range m.Rules {
			m.Rules[i] = r.rule(m)
		}
		modules[r.file] = m
	}
	if len(r.data) > 0 {
		r.fail()
	}
	return rewritten, modules
}

func (r *ruleReader) rule(m *ast.Module) *ast.Rule {
	rule := &ast.Rule{Module: m, Default: r.number() == 1, Location: r.location()}
	rule.Head = &ast.Head{
		Name: ast.Var(r.word().text), Reference: r.list(), Args: r.list(),
		Key: r.term(), Value: r.term(), Assign: r.number() == 1, Location: r.location(),
	}
	rule.Body = r.body()
	if r.number() == 1 {
		rule.Else = r.rule(m)
	}
	return rule
}

// location is the line and column of a rule or an expression; line 0 is none.
func (r *ruleReader) location() *ast.Location {
	row, col := r.number(), r.number()
	if row == 0 {
		return nil
	}
	if len(r.spots) == 0 {
		r.spots = make([]ast.Location, 64)
	}
	l := &r.spots[0]
	r.spots = r.spots[1:]
	l.File, l.Row, l.Col = r.file, row, col
	return l
}

func (r *ruleReader) body() ast.Body {
	n := r.count()
	if n == 0 {
		return nil
	}
	body := make(ast.Body, n)
	for i := range body {
		body[i] = r.expr(i)
	}
	return body
}

func (r *ruleReader) expr(index int) *ast.Expr {
	kind := r.number()
	e := &ast.Expr{
		Index: index, Location: r.location(),
		Negated: kind&exprNegated != 0, Generated: kind&exprGenerated != 0,
	}
	switch kind % exprKinds {
	case exprTerm:
		e.Terms = r.term()
	case exprCall:
		e.Terms = r.list()
	case exprEvery:
		e.Terms = &ast.Every{Key: r.term(), Value: r.term(), Domain: r.term(), Body: r.body()}
	case exprNot:
		e.Terms = &ast.Not{ExplicitBody: r.number() == 1, Body: r.body()}
	}
	return e
}

func (r *ruleReader) list() []*ast.Term {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]*ast.Term, n)
	for i := range list {
		if list[i] = r.term(); list[i] == nil {
			r.fail()
			return nil
		}
	}
	return list
}
