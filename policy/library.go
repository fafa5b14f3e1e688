package policy

import (
	_ "embed"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The library of helpers that rules import. It is compiled into those layers alone
// that name it, so that others pay nothing. Its package is none that policies may
// add to, so nobody can replace a helper.

//go:embed library/plugins.rego
var pluginsModule string

// pluginsPackage is the helpers' package; [PluginsModule] is how their module is
// called among those of a layer and in messages.
const (
	pluginsPackage = "gatehouse.plugins"
	PluginsModule  = "library gatehouse.plugins"
)

var pluginsRef = ast.MustParseRef("data." + pluginsPackage)

// libraryParameters are the helpers with how many parameters each has.
var libraryParameters = map[string]int{"plugins.plugin_ok": 1, "plugins.plugin_annotation": 3}

// PluginsSource is the module of helpers, for tools that show its lines.
func PluginsSource() Source { return Source{Name: PluginsModule, Text: pluginsModule} }

// addLibrary adds the helpers where a module names them.
func addLibrary(modules map[string]*ast.Module, caps *ast.Capabilities) error {
	named := false
	for _, file := range sortedKeys(modules) {
		m := modules[file]
		at := namesPlugins(m)
		if at == nil {
			continue
		}
		named = true
		switch kind, _, _ := strings.Cut(strings.TrimPrefix(packageName(m), "gatehouse."), "."); kind {
		case "inproc", "redaction", "log":
			return ast.Errors{flaw(at, "package %s: plugins are heard about calls and requests only, in gatehouse.permission and gatehouse.admission", packageName(m))}
		}
	}
	if !named || modules[PluginsModule] != nil {
		return nil
	}
	m, err := ast.ParseModuleWithOpts(PluginsModule, pluginsModule, ast.ParserOptions{RegoVersion: ast.RegoV2, Capabilities: caps})
	if err == nil {
		modules[PluginsModule] = m
	}
	return err
}

// namesPlugins is where a module names the helpers; nil where it does not.
func namesPlugins(m *ast.Module) (at *ast.Location) {
	ast.WalkTerms(m, func(t *ast.Term) bool {
		if ref, ok := t.Value.(ast.Ref); ok && at == nil && len(ref) >= len(pluginsRef) && ref.HasPrefix(pluginsRef) {
			at = t.Location
		}
		return at != nil
	})
	return at
}

// usesLibrary reports a compiled layer that has the helpers.
func (l *layer) usesLibrary() bool { return l.compiler.Modules[PluginsModule] != nil }
