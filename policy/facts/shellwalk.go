package facts

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// walker visits one parsed text.
type walker struct {
	*analysis
	via   []string
	depth int
	sub   bool // inside a substitution
}

func (w *walker) stmts(root syntax.Node) {
	syntax.Walk(root, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			w.stmt(n)
		case *syntax.CmdSubst:
			w.Features.CmdSubst = true
			w.nested(n.Stmts)
			return false
		case *syntax.ProcSubst:
			w.Features.ProcSubst = true
			w.nested(n.Stmts)
			return false
		default:
			w.note(n)
		}
		return true
	})
}

// nested visits the statements of a substitution.
func (w *walker) nested(stmts []*syntax.Stmt) {
	inner := &walker{analysis: w.analysis, via: w.via, depth: w.depth, sub: true}
	for _, s := range stmts {
		inner.stmts(s)
	}
}

// note records constructs that are no commands.
func (w *walker) note(n syntax.Node) {
	f := &w.Features
	switch n := n.(type) {
	case *syntax.ParamExp:
		f.Param = true
		w.expansion(n)
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause:
		f.Arith = true
		w.arithmetic(n)
	case *syntax.ExtGlob:
		f.Glob = true
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		f.ControlFlow = true
	case *syntax.TestClause:
		f.ControlFlow = true
		w.arithmetic(n)
	case *syntax.FuncDecl:
		f.Function = true
		w.doubt("defines a function")
	case *syntax.WordIter:
		w.assigns(n.Items...)
	case *syntax.CoprocClause:
		f.Background = true
	case *syntax.DeclClause:
		f.Assign = true
		w.arithmetic(n)
	case *syntax.Assign:
		f.Assign = true
		w.arithmetic(n)
		w.assigns(n.Value)
		if n.Name != nil && steers(n.Name.Value) {
			w.doubt("sets " + n.Name.Value)
		}
	}
}

// assigns remembers what variables are set to.
func (w *walker) assigns(values ...*syntax.Word) {
	for _, v := range values {
		if v != nil && len(w.assigned) < maxCommandsKept {
			w.assigned = append(w.assigned, w.word(v))
		}
	}
}

// stmt records a statement's redirections and, if it is a simple command, the command.
func (w *walker) stmt(s *syntax.Stmt) {
	if s.Background || s.Coprocess || s.Disown {
		w.Features.Background = true
	}
	redirects := w.redirects(s.Redirs)
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		if len(redirects) > 0 {
			w.add(Command{Static: true, Redirects: redirects})
		}
		return
	}
	c := Command{Redirects: redirects, Via: w.via, InSubstitution: w.sub}
	for _, as := range call.Assigns {
		if as.Name != nil {
			c.Env = append(c.Env, Variable{Name: as.Name.Value, Static: as.Value == nil || w.word(as.Value).Static})
		}
	}
	words := make([]Word, len(call.Args))
	for i, arg := range call.Args {
		words[i] = w.word(arg)
	}
	w.command(c, words)
}

// command records words as one command and looks behind it.
func (w *walker) command(c Command, words []Word) {
	name := words[0]
	c.Args, c.Static, c.Depth = words[1:], name.Static, w.depth
	c.Name = Name{Value: name.Value, Static: name.Static}
	texts := []string{name.Value}
	for _, a := range c.Args {
		c.Static = c.Static && a.Static
		texts = append(texts, a.Value)
	}
	c.Text = strings.Join(texts, " ")
	if name.Static && !name.Tilde {
		c.Name.Basename = baseName(name.Value)
	}
	if c.Name.Basename == "" {
		w.Features.DynamicName = true
		w.doubt("a command whose name is only known at run time")
	}
	if strings.ContainsAny(c.Name.Basename, " \t\n;|&<>=") {
		w.doubt("a command whose name is no plain word")
	}
	w.subscripted(c)
	c.Git = gitFacts(c)
	wrapped := w.unwrap(&c)
	w.add(c)
	wrapped()
}

func (w *walker) add(c Command) {
	c.Args, c.Env = full(c.Args), full(c.Env)
	c.Redirects, c.Via = full(c.Redirects), full(c.Via)
	if len(w.Commands) <= maxCommandsKept {
		w.Commands = append(w.Commands, c)
	}
}

// full copies a list so that an empty one is written as [], not null.
func full[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }

// maxCommandsKept bounds the commands reported for one text; beyond
// maxShellCommands it is not OK anyway.
const maxCommandsKept = 256

func (w *walker) redirects(list []*syntax.Redirect) []Redirect {
	var all []Redirect
	for _, r := range list {
		out := Redirect{Op: r.Op.String(), FD: -1, Static: true}
		switch r.Op {
		case syntax.Hdoc, syntax.DashHdoc:
			w.Features.Heredoc = true
		case syntax.WordHdoc:
			out.Static = w.word(r.Word).Static
		default:
			t := w.word(r.Word)
			out.Target, out.Static, out.tilde = t.Value, t.Static, t.Tilde
			out.Writes = opens(r.Op, t)
		}
		all = append(all, out)
	}
	return all
}

// opens reports whether a redirection opens a file for writing. >& and <&
// only duplicate when a number or "-" follows.
func opens(op syntax.RedirOperator, target Word) bool {
	switch op {
	case syntax.RdrIn:
		return false
	case syntax.DplIn, syntax.DplOut:
		return !target.Static || strings.Trim(target.Value, "0123456789-") != ""
	}
	return true
}

// steers reports variables that change what later commands do.
func steers(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "GIT_", "BASH_", "NODE_", "PYTHON", "PERL", "RUBY", "CLAUDE_", "ANTHROPIC_", "SSH_", "BUN_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return slices.Contains([]string{"PATH", "IFS", "ENV", "HOME", "SHELL", "SHELLOPTS", "PROMPT_COMMAND", "PS4", "PAGER", "EDITOR", "VISUAL", "CDPATH", "FPATH", "ZDOTDIR"}, name)
}
