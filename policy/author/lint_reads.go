package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// call is one call of a function: as an expression or inside of one.
type call struct {
	name string
	args []*ast.Term
	at   *ast.Location
}

// calls visits every call in x that has arguments, from the outside in.
func calls(x any, f func(call)) {
	ast.NewGenericVisitor(func(node any) bool {
		switch node := node.(type) {
		case *ast.Expr:
			if node.IsCall() && len(node.Operands()) > 0 {
				f(call{node.Operator().String(), node.Operands(), node.Location})
			}
		case *ast.Term:
			if c, ok := node.Value.(ast.Call); ok && len(c) > 1 {
				f(call{c[0].String(), c[1:], node.Location})
			}
		}
		return false
	}).Walk(x)
}

// refOf is the reference a term is; nil for others.
func refOf(t *ast.Term) ast.Ref {
	ref, _ := t.Value.(ast.Ref)
	return ref
}

func (l *linter) objectGet(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		calls(m, func(c call) {
			if c.name == "object.get" && rootedAt(c.args[0], "input") && !ownInput(c.args[0]) {
				l.report(id, c.at, "object.get on input is checked against no schema: a misspelt field is its default for ever",
					"read the field itself; every field is always there")
			}
		})
	})
}

// ownInput reports the arguments of a tool, the parameters of a caller and what a
// plugin annotated, which have no schema and can be absent.
func ownInput(t *ast.Term) bool {
	ref := refOf(t)
	if field, ok := keyAt(ref, 3); ok && field == "annotations" && ref.HasPrefix(pluginsOfInput) {
		return true
	}
	return ref.HasPrefix(ast.MustParseRef("input.tool.input")) || ref.HasPrefix(ast.MustParseRef("input.parameters"))
}

// rootedAt reports a term that is the document itself or something in it.
func rootedAt(t *ast.Term, name string) bool {
	if v, ok := t.Value.(ast.Var); ok {
		return string(v) == name
	}
	ref := refOf(t)
	return len(ref) > 0 && ref[0].Value.Compare(ast.Var(name)) == 0
}

func (l *linter) walk(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		calls(m, func(c call) {
			if c.name == "walk" && (rootedAt(c.args[0], "input") && !ownInput(c.args[0]) || rootedAt(c.args[0], "data")) {
				l.report(id, c.at, "walk visits everything there is at every call", "name the fields; for lists use some … in")
			}
		})
	})
}

func (l *linter) toolCase(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		calls(m, func(c call) {
			if (c.name == "lower" || c.name == "upper") && refOf(c.args[0]).HasPrefix(ast.MustParseRef("input.tool.name")) {
				l.report(id, c.at, "tools' names differ by case: bash is not Bash", `compare exactly: input.tool.name == "Bash"`)
			}
		})
	})
}

// pathFields hold paths, whose prefixes mean nothing: /srv/data is no folder above /srv/data-old.
var pathFields = []string{"real", "abs", "raw", "root", "cwd", "file_path", "notebook_path", "path"}

func (l *linter) pathPrefix(id LintInfo) {
	l.deciding(func(m *ast.Module) {
		calls(m, func(c call) {
			if c.name != "startswith" || len(c.args) < 2 {
				return
			}
			ref := refOf(c.args[0])
			field, ok := keyAt(ref, len(ref)-1)
			prefix, literal := c.args[1].Value.(ast.String)
			if !ok || !slices.Contains(pathFields, field) || literal && strings.HasSuffix(string(prefix), "/") {
				return
			}
			l.report(id, c.at, fmt.Sprintf("a prefix of %s also begins its siblings: /srv/app and /srv/app-old", ref),
				"use p.inside and p.root, or end the prefix with a slash")
		})
	})
}

// matchers compare by pattern; each takes microseconds a rule at every call.
var matchers = []string{"regex.match", "glob.match", "contains", "endswith", "regex.find_n", "regex.split"}

// notIndexed finds decisions whose first condition is a pattern: the rule is
// tried at every call, whatever the tool.
func (l *linter) notIndexed(id LintInfo) {
	for _, d := range l.decisions {
		if !d.final() {
			continue // what takes it in has conditions of its own
		}
		for _, x := range d.rule.Body {
			if pattern := matcher(x); pattern != "" {
				l.report(id, x.Location, fmt.Sprintf("%s is tried at every call: no cheaper condition stands before it", pattern),
					`begin the rule with what the index knows, such as input.tool.name == "Bash"`)
			}
			if !declares(x) {
				break
			}
		}
	}
}

func matcher(x *ast.Expr) string {
	found := ""
	if _, every := x.Terms.(*ast.Every); every || negated(x) {
		return ""
	}
	calls(x, func(c call) {
		if slices.Contains(matchers, c.name) && found == "" {
			found = c.name
		}
	})
	return found
}

// declares reports some … in and assignments, which are no conditions.
func declares(x *ast.Expr) bool {
	_, some := x.Terms.(*ast.SomeDecl)
	return some || x.IsAssignment()
}
