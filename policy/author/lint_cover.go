package author

import (
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// An allow must cover every part of a shell text. These lints look at an allow
// with all helper rules it uses, because the conditions mostly stand there.

var (
	pathsRef    = ast.MustParseRef("input.paths")
	commandsRef = ast.MustParseRef("input.bash.commands")
	okRef       = ast.MustParseRef("input.bash.ok")
	textRef     = ast.MustParseRef("input.tool.input.command")
)

// covering is what an allow requires.
type covering struct {
	some  *ast.Location // where it looks at some commands; nil: nowhere
	every bool          // a condition on every command
	ok    bool          // input.bash.ok
	text  *call         // a pattern match on the text
	raw   *ast.Location // any comparison of the text
	other bool          // it cannot fire for Bash
	look  bool          // it looks at what is run in another way

	somePath  *ast.Location // where it looks at some paths
	everyPath bool
}

// allows are the decisions that let a call run.
func (l *linter) allows() []decision {
	return slices.DeleteFunc(slices.Clone(l.decisions), func(d decision) bool {
		return packageName(d.module) != "gatehouse.permission" || d.text("effect") != "allow"
	})
}

func (l *linter) allowSome(id LintInfo) {
	for _, d := range l.allows() {
		c := l.covers(d)
		if c.somePath != nil && !c.everyPath {
			l.report(id, c.somePath, fmt.Sprintf("allow %q looks at some path: it also allows every other path beside it", d.text("rule")),
				"write count(input.paths) > 0 and every p in input.paths { … }")
		}
		if c.some != nil && !c.every {
			l.report(id, c.some, fmt.Sprintf("allow %q looks at some command: it also allows every other command beside it", d.text("rule")),
				"write every c in input.bash.commands { … }, so that each part of a compound command is covered")
		}
	}
}

func (l *linter) allowUnanalysed(id LintInfo) {
	for _, d := range l.allows() {
		if c := l.covers(d); (c.some != nil || c.every) && !c.ok {
			l.report(id, d.rule.Location, fmt.Sprintf("allow %q does not require input.bash.ok: it also allows what could not be analysed", d.text("rule")),
				"add the condition input.bash.ok")
		}
	}
}

func (l *linter) allowText(id LintInfo) {
	for _, d := range l.allows() {
		if c := l.covers(d); c.text != nil && !c.every {
			l.report(id, c.text.at, fmt.Sprintf("allow %q matches a part of the text: npm test && curl … passes too", d.text("rule")),
				"look at every c in input.bash.commands, or compare the whole text with ==")
		}
	}
}

// covers gathers the conditions of a decision and of the helpers it uses.
func (l *linter) covers(d decision) covering {
	var c covering
	seen := map[*ast.Rule]bool{}
	l.gather(d.module, d.rule, seen, &c)
	return c
}

func (l *linter) gather(m *ast.Module, r *ast.Rule, seen map[*ast.Rule]bool, c *covering) {
	if seen[r] {
		return
	}
	seen[r] = true
	for _, x := range r.Body {
		c.condition(x)
		for _, name := range names(x) {
			for _, helper := range l.named(m, name) {
				l.gather(m, helper, seen, c)
			}
		}
	}
}

// condition takes one expression into account.
func (c *covering) condition(x *ast.Expr) {
	if every, ok := x.Terms.(*ast.Every); ok {
		switch domain := refOf(every.Domain); {
		case domain.Equal(commandsRef):
			c.every = true
			return
		case domain.Equal(pathsRef):
			c.everyPath = true
			return
		}
	}
	if negated(x) {
		return
	}
	c.ok = c.ok || refOf(termOf(x)).Equal(okRef) || isTrue(x, okRef)
	ast.WalkRefs(x, func(r ast.Ref) bool {
		if r.HasPrefix(commandsRef) && c.some == nil && !counts(x) {
			c.some = x.Location
		}
		_, some := x.Terms.(*ast.SomeDecl)
		if r.HasPrefix(pathsRef) && (some || len(r) > len(pathsRef)) && c.somePath == nil && !counts(x) {
			c.somePath = x.Location
		}
		return false
	})
	c.other = c.other || aboutOthers(x)
	c.look = c.look || looksAtCommand(x)
	if c.raw == nil && comparesText(x) {
		c.raw = x.Location
	}
	calls(x, func(one call) {
		if len(one.args) == 0 || !slices.ContainsFunc(one.args, func(t *ast.Term) bool { return refOf(t).Equal(textRef) }) {
			return
		}
		if slices.Contains(append(matchers, "startswith"), one.name) && c.text == nil {
			c.text = &one
		}
	})
}

// counts reports count(input.bash.commands) > 0 and its like, which look at none.
func counts(x *ast.Expr) bool {
	found := false
	calls(x, func(c call) {
		found = found || c.name == "count" && (refOf(c.args[0]).Equal(commandsRef) || refOf(c.args[0]).Equal(pathsRef))
	})
	return found
}

// isTrue reports field == true.
func isTrue(x *ast.Expr, field ast.Ref) (found bool) {
	calls(x, func(c call) {
		if (c.name == "eq" || c.name == "equal") && len(c.args) > 1 {
			a, b := c.args[0], c.args[1]
			found = found || refOf(a).Equal(field) && b.Value.Compare(ast.Boolean(true)) == 0 || refOf(b).Equal(field) && a.Value.Compare(ast.Boolean(true)) == 0
		}
	})
	return found
}

// termOf is the single term of an expression; an empty one for calls.
func termOf(x *ast.Expr) *ast.Term {
	if t, ok := x.Terms.(*ast.Term); ok {
		return t
	}
	return ast.NullTerm()
}

// names are the rules and functions of the same package that x uses.
func names(x *ast.Expr) (all []ast.Var) {
	if x.IsCall() {
		if ref := x.Operator(); len(ref) == 1 {
			all = append(all, ref[0].Value.(ast.Var))
		}
	}
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Term:
			switch v := node.Value.(type) {
			case ast.Var:
				all = append(all, v)
			case ast.Call:
				if ref := refOf(v[0]); len(ref) == 1 {
					all = append(all, ref[0].Value.(ast.Var))
				}
			}
		case ast.Ref:
			if head, ok := node[0].Value.(ast.Var); ok {
				all = append(all, head)
			}
		}
		return false
	}).Walk(x)
	return all
}

// named are the rules of that name in m's package.
func (l *linter) named(m *ast.Module, name ast.Var) (all []*ast.Rule) {
	if name == "decisions" || name == "input" || name == "data" {
		return nil
	}
	for _, file := range sorted(l.parsed) {
		other := l.parsed[file]
		if !other.Package.Path.Equal(m.Package.Path) {
			continue
		}
		for _, r := range other.Rules {
			if r.Head.Ref()[0].Value.Compare(name) == 0 {
				all = append(all, r)
			}
		}
	}
	return all
}
