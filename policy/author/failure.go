package author

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Failure is the expression that kept a rule from holding.
type Failure struct {
	File       string   `json:"file"`
	Line       int      `json:"line"`
	Column     int      `json:"column"`
	Expression string   `json:"expression"`       // the line as written
	Values     []Value  `json:"values,omitempty"` // of what the expression reads
	Times      int      `json:"times,omitempty"`  // how often it stopped the rule, above 1: the values are those of the last time
	Because    *Failure `json:"because,omitempty"`
}

// Value is one variable or field and what it held, as Rego writes it.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value"` // "undefined" when there was none
}

// maxValue bounds the characters of one value that is shown.
const maxValue = 120

// failure describes what stopped q; nil when nothing did.
func (p *program) failure(q *traced, input ast.Value, depth int) *Failure {
	if q == nil || q.stop == nil {
		return nil
	}
	x := q.stop.Node.(*ast.Expr)
	at := x.Location
	if at == nil {
		return nil
	}
	f := &Failure{File: at.File, Line: at.Row, Column: at.Col, Expression: strings.TrimSpace(p.line(at.File, at.Row))}
	if q.stops > 1 {
		f.Times = q.stops
	}
	if written := p.written(at); written != nil {
		f.Line, f.Column = written.Location.Row, written.Location.Col
		f.Expression = strings.TrimSpace(p.line(at.File, f.Line))
		f.Values = reading{input: input, data: p.data, locals: localsOf(q.stop)}.values(written)
	}
	if depth < maxCauses {
		f.Because = p.failure(q.cause(), input, depth+1)
	}
	if f.Because != nil && f.Because.Line == f.Line && f.Because.File == f.File {
		f.Because = f.Because.Because // the same line once more, from inside
	}
	return f
}

// written finds the expression as it stands in the source: the compiler splits
// expressions and renames their variables.
func (p *program) written(at *ast.Location) *ast.Expr {
	m := p.parsed[at.File]
	if at.File == policy.PluginsModule {
		m = p.library
	}
	if m == nil {
		return nil
	}
	var best *ast.Expr
	ast.WalkExprs(m, func(x *ast.Expr) bool {
		l := x.Location
		if l != nil && !after(l, at) && (best == nil || after(l, best.Location)) {
			best = x
		}
		return false
	})
	return best
}

// after reports whether a stands behind b in the same file.
func after(a, b *ast.Location) bool {
	return a.Row > b.Row || a.Row == b.Row && a.Col > b.Col
}

// localsOf returns the variables of an event by the names the author gave them.
func localsOf(e *topdown.Event) map[ast.Var]ast.Value {
	all := map[ast.Var]ast.Value{}
	if e.Locals == nil {
		return all
	}
	e.Locals.Iter(func(k, v ast.Value) bool {
		name, ok := k.(ast.Var)
		if meta, known := e.LocalMetadata[name]; ok && known {
			name = meta.Name
		}
		if ok && !name.IsGenerated() {
			all[name] = v
		}
		return false
	})
	return all
}

// reading resolves what an expression reads.
type reading struct {
	input  ast.Value
	data   ast.Value // data.cfg; nil when it is not known
	locals map[ast.Var]ast.Value
}

// values lists the fields of input and the variables of x, in the order they
// are written. Rules and functions are left out: they are followed instead.
func (r reading) values(x *ast.Expr) []Value {
	var all []Value
	seen := map[string]bool{}
	add := func(name string, v ast.Value) {
		if !seen[name] {
			seen[name] = true
			all = append(all, Value{name, shown(v)})
		}
	}
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Every:
			if ref, ok := node.Domain.Value.(ast.Ref); ok {
				r.ref(ref, add)
			}
			return true
		case *ast.SomeDecl:
			return false
		case ast.Ref:
			r.ref(node, add)
			return true
		case ast.Var:
			if v, ok := r.locals[node]; ok {
				add(string(node), v)
			}
		}
		return false
	}).Walk(x)
	return all
}

func (r reading) ref(ref ast.Ref, add func(string, ast.Value)) {
	head, ok := ref[0].Value.(ast.Var)
	if !ok {
		return
	}
	base, from := r.locals[head], 1
	switch {
	case head.Equal(ast.InputRootDocument.Value):
		base = r.input
	case ref.HasPrefix(cfgRef):
		base, from = r.data, len(cfgRef)
	}
	if base != nil {
		r.follow(base, ref, from, add)
	}
}

// follow walks a path from one of its places on. It adds nothing where it is not
// known which element is meant, and the null that ends a path early.
func (r reading) follow(v ast.Value, ref ast.Ref, from int, add func(string, ast.Value)) {
	for i := from; i < len(ref); i++ {
		key := ref[i].Value
		if name, isVar := key.(ast.Var); isVar {
			if key = r.locals[name]; key == nil {
				return
			}
		}
		if _, null := v.(ast.Null); null {
			add(ref[:i].String(), v)
			return
		}
		next, err := v.Find(ast.Ref{ast.NewTerm(key)})
		if err != nil {
			add(ref.String(), nil)
			return
		}
		v = next
	}
	add(ref.String(), v)
}

// shown writes a value as JSON. Of long texts it is the beginning, of long lists
// and objects the size.
func shown(v ast.Value) string {
	if v == nil {
		return "undefined"
	}
	text := v.String()
	if plain, err := ast.JSON(v); err == nil {
		if raw, err := json.Marshal(plain); err == nil {
			text = string(raw)
		}
	}
	runes := []rune(text)
	if len(runes) <= maxValue {
		return text
	}
	switch v := v.(type) {
	case *ast.Array:
		return fmt.Sprintf("a list of %d", v.Len())
	case ast.Set:
		return fmt.Sprintf("a set of %d", v.Len())
	case ast.Object:
		return fmt.Sprintf("an object of %d fields", v.Len())
	}
	return string(runes[:maxValue]) + "…"
}
