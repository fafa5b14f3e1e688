package author

import (
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// pluginsOfInput is where a document has what plugins said.
var pluginsOfInput = ast.MustParseRef("input.plugins")

// pluginAbsent finds allows that negate what a plugin says, directly or through a
// helper, with no other condition that asks for the plugin: a plugin that is not
// there, or failed, says nothing, and the negation holds.
func (l *linter) pluginAbsent(id LintInfo) {
	for _, d := range l.decisions {
		if effect := d.word(); effect != "allow" && effect != "modify" {
			continue
		}
		for _, x := range d.rule.Body {
			name, ok := saysOf(d.module, x)
			if !ok || !negated(x) || asksFor(d.module, d.rule.Body, x, name) {
				continue
			}
			shown := name
			if shown == "" {
				shown = "NAME"
			}
			l.report(id, x.Location, "this holds where the plugin is not there or failed",
				fmt.Sprintf("put plugins.plugin_ok(%q) before it, of data.gatehouse.plugins", shown))
		}
	}
}

// asksFor reports a body in which another condition holds only where the plugin
// was heard. An unknown name, "", is asked for by any.
func asksFor(m *ast.Module, body ast.Body, self *ast.Expr, name string) bool {
	for _, x := range body {
		if x == self || negated(x) {
			continue
		}
		if asked, ok := saysOf(m, x); ok && !defaulted(m, x) && (asked == name || name == "" || asked == "") {
			return true
		}
	}
	return false
}

// saysOf is the plugin that an expression is about; "" where its name is computed.
func saysOf(m *ast.Module, x *ast.Expr) (name string, ok bool) {
	ast.WalkRefs(x, func(r ast.Ref) bool {
		if !ok && r.HasPrefix(pluginsOfInput) && len(r) > len(pluginsOfInput) {
			name, _ = keyAt(r, len(pluginsOfInput))
			ok = true
		}
		return ok
	})
	calls(x, func(c call) {
		if _, helper := pluginHelper(m, c.name); helper && !ok && len(c.args) > 0 {
			text, _ := c.args[0].Value.(ast.String)
			name, ok = string(text), true
		}
	})
	return name, ok
}

// defaulted reports a condition on an annotation with a fallback, which can hold
// without the plugin.
func defaulted(m *ast.Module, x *ast.Expr) (found bool) {
	calls(x, func(c call) {
		helper, ok := pluginHelper(m, c.name)
		found = found || ok && helper == "plugin_annotation" || c.name == "object.get"
	})
	return found
}

// pluginHelper is the helper of data.gatehouse.plugins that a function's name means.
func pluginHelper(m *ast.Module, name string) (string, bool) {
	const pkg = "data.gatehouse.plugins"
	for _, i := range m.Imports {
		path, ok := i.Path.Value.(ast.Ref)
		if !ok || !path.HasPrefix(ast.DefaultRootRef) {
			continue
		}
		if rest, in := strings.CutPrefix(name, string(i.Name())); in && (rest == "" || rest[0] == '.') {
			name = path.String() + rest
			break
		}
	}
	helper, ok := strings.CutPrefix(name, pkg+".")
	return helper, ok
}
