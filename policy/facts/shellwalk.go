package facts

import (
	"mvdan.cc/sh/v3/syntax"
)

// walker visits one parsed text.
type walker struct {
	*analysis
	via    []string
	source string // the text being walked
	depth  int
	sub    bool   // inside a substitution
	at     *place // of the shell
	loose  bool   // at holds only while every command so far went well
}

// sequence visits statements that run one after the other. A change of folder
// that failed does not keep the next one from running.
func (w *walker) sequence(stmts []*syntax.Stmt) {
	for _, s := range stmts {
		before := w.at
		w.stmt(s)
		if w.at == before {
			continue
		}
		if w.loose {
			w.at, w.loose = lost, false
		}
		w.at = w.at.settled()
	}
}

// stmt visits one statement and reports whether it is nothing but followed
// changes of folder.
func (w *walker) stmt(s *syntax.Stmt) (moves bool) {
	switch {
	case s.Background || s.Coprocess || s.Disown:
		w.Features.Background = true
		w.aside(func() { w.statement(s) })
	case s.Negated:
		w.aside(func() { w.statement(s) })
	default:
		return w.statement(s)
	}
	return false
}

func (w *walker) statement(s *syntax.Stmt) (moves bool) {
	if call, ok := s.Cmd.(*syntax.CallExpr); ok {
		return w.call(s, call)
	}
	w.opened(s)
	switch c := s.Cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		return w.binary(c)
	case *syntax.Block:
		if len(s.Redirs) > 0 { // one that fails keeps the block from running
			w.aside(func() { w.sequence(c.Stmts) })
		} else {
			w.sequence(c.Stmts)
		}
	case *syntax.Subshell:
		at, loose := w.at, w.loose
		w.sequence(c.Stmts)
		w.at, w.loose = at, loose
	case *syntax.FuncDecl:
		from := len(w.Commands)
		syntax.Walk(c, w.visit)
		w.lose(from)
	default:
		w.branch(func() { syntax.Walk(c, w.visit) })
	}
	return false
}

// opened records the redirections of a compound or empty command.
func (w *walker) opened(s *syntax.Stmt) {
	if redirects := w.redirects(s.Redirs); len(redirects) > 0 {
		w.add(Command{Name: Name{Static: true}, Static: true, Redirects: redirects, Via: w.via, Depth: w.depth, InSubstitution: w.sub, at: w.at, in: w.at})
		w.expandRedirects(s.Redirs)
	}
}

// binary visits a list or a pipeline.
func (w *walker) binary(b *syntax.BinaryCmd) (moves bool) {
	w.inPipe(b)
	if b.Op != syntax.AndStmt {
		w.aside(func() { w.either(b) })
		return false
	}
	left := w.stmt(b.X)
	middle := w.at
	right := w.stmt(b.Y)
	if w.at != middle && !left {
		w.loose = true // the second may not have run
	}
	return left && right
}

// either visits both sides of || or of a pipeline.
func (w *walker) either(b *syntax.BinaryCmd) {
	before := w.at
	w.stmt(b.X)
	moved := w.at != before
	if w.at = before; moved && b.Op == syntax.OrStmt {
		w.at = lost // the second runs only if something before it failed
	}
	w.stmt(b.Y)
	if moved {
		w.at = lost
	}
}

// visit is called for every node below a statement.
func (w *walker) visit(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		w.stmt(n)
		return false
	case *syntax.CmdSubst:
		w.Features.CmdSubst = true
		w.differingNode(n)
		w.substitution(n.Stmts)
		return false
	case *syntax.ProcSubst:
		w.Features.ProcSubst = true
		w.substitution(n.Stmts)
		return false
	}
	w.note(n)
	return true
}

// substitution visits the statements of a substitution.
func (w *walker) substitution(stmts []*syntax.Stmt) {
	inner := *w
	inner.sub = true
	inner.sequence(stmts)
	if inner.at != w.at {
		w.at = lost
	}
}

// expand visits what a word holds beside text.
func (w *walker) expand(word *syntax.Word) {
	for _, part := range word.Parts {
		switch part.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
		default:
			syntax.Walk(part, w.visit)
		}
	}
}
