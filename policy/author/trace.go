package author

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// failures is a tracer that remembers how far each query got and which
// expression stopped it. It keeps one event for each query instead of all.
type failures struct {
	queries map[uint64]*traced
	rules   []*traced // queries of rules, in the order they were entered
}

// traced is one query: the body of a rule, of every or of a comprehension.
type traced struct {
	node     ast.Node
	rule     *ast.Rule // nil for other bodies
	parent   *traced
	from     int  // index of the parent's expression that entered it
	exited   bool // it was true at least once
	now      int  // index of the expression being evaluated
	stop     *topdown.Event
	stops    int // how often that expression stopped it
	children []*traced
}

var _ topdown.QueryTracer = (*failures)(nil)

func newFailures() *failures { return &failures{queries: map[uint64]*traced{}} }

func (f *failures) Enabled() bool { return true }

func (f *failures) Config() topdown.TraceConfig { return topdown.TraceConfig{PlugLocalVars: true} }

// TraceEvent implements [topdown.QueryTracer].
func (f *failures) TraceEvent(e topdown.Event) {
	switch e.Op {
	case topdown.EnterOp:
		f.enter(e)
	case topdown.ExitOp:
		if q := f.queries[e.QueryID]; q != nil {
			q.exited = true
		}
	case topdown.EvalOp:
		if q, x := f.at(e); q != nil {
			q.now = x.Index
		}
	case topdown.FailOp:
		// every fails in the query of its domain too: that says nothing new
		if q, x := f.at(e); q != nil && ast.Node(x) != q.node {
			q.stopped(x, e)
		}
	}
}

func (f *failures) enter(e topdown.Event) {
	q := &traced{node: e.Node, parent: f.queries[e.ParentID]}
	if q.parent != nil {
		q.from = q.parent.now
		q.parent.children = append(q.parent.children, q)
	}
	if rule, ok := e.Node.(*ast.Rule); ok {
		q.rule = rule
		f.rules = append(f.rules, q)
	}
	f.queries[e.QueryID] = q
}

func (f *failures) at(e topdown.Event) (*traced, *ast.Expr) {
	x, ok := e.Node.(*ast.Expr)
	q := f.queries[e.QueryID]
	if !ok || q == nil {
		return nil, nil
	}
	return q, x
}

// stopped keeps the expression that is furthest down the body: what is before it
// has held at least once.
func (q *traced) stopped(x *ast.Expr, e topdown.Event) {
	last := -1
	if q.stop != nil {
		last = q.stop.Node.(*ast.Expr).Index
	}
	switch {
	case x.Index > last:
		q.stop, q.stops = &e, 1
	case x.Index == last:
		q.stop, q.stops = &e, q.stops+1
	}
}

// maxCauses bounds how deep a failure is followed into helpers.
const maxCauses = 3

// cause returns the query that made q's stopping expression fail: the one of
// its children that got furthest without ever being true. It is nil where the
// expression itself was false, and for a negation, which fails by success.
func (q *traced) cause() *traced {
	if q.stop == nil || negated(q.stop.Node.(*ast.Expr)) {
		return nil
	}
	index := q.stop.Node.(*ast.Expr).Index
	var best *traced
	for _, c := range q.children {
		if c.from != index || c.exited {
			continue
		}
		if c.stop == nil {
			c = c.inner()
		}
		if c != nil && c.stop != nil && (best == nil || c.progress() >= best.progress()) {
			best = c
		}
	}
	return best
}

// inner looks through a query without expressions of its own, as every has.
func (q *traced) inner() *traced {
	for i := len(q.children) - 1; i >= 0; i-- {
		if c := q.children[i]; !c.exited && c.stop != nil {
			return c
		}
	}
	return nil
}

func (q *traced) progress() int { return q.stop.Node.(*ast.Expr).Index }

func negated(x *ast.Expr) bool {
	_, ok := x.Terms.(*ast.Not)
	return ok || x.Negated
}
