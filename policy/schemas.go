package policy

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// schemaKinds are the documents; gatehouse.<kind> and gatehouse.lib.<kind> with
// everything below it read that document as input.
var schemaKinds = []string{"permission", "admission", "inproc", "redaction", "log"}

// schemas are the decoded schema files by kind.
var schemas = sync.OnceValues(func() (map[string]schemaNode, error) {
	all := map[string]schemaNode{}
	for _, kind := range schemaKinds {
		raw, err := schemaFiles.ReadFile("schema/" + kind + ".json")
		if err != nil {
			return nil, fmt.Errorf("read input schema: %w", err)
		}
		var node schemaNode
		if err := json.Unmarshal(raw, &node); err != nil {
			return nil, fmt.Errorf("read input schema %s: %w", kind, err)
		}
		all[kind] = node
	}
	return all, nil
})

// annotate adds one module for each package that reads input. It carries the
// schema, so that authors need not name it: without it OPA checks nothing. Where
// the library is named it adds that, too.
func annotate(modules map[string]*ast.Module, caps *ast.Capabilities) (*ast.SchemaSet, error) {
	all, err := schemas()
	if err != nil {
		return nil, err
	}
	set := ast.NewSchemaSet()
	for _, kind := range schemaKinds {
		set.Put(ast.MustParseRef("schema."+kind), map[string]any(all[kind]))
		for _, pkg := range []string{"gatehouse.", "gatehouse.lib."} {
			name := "schema of " + pkg + kind
			text := fmt.Sprintf("# METADATA\n# scope: subpackages\n# schemas:\n#   - input: schema.%s\npackage %s%s\n", kind, pkg, kind)
			m, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV2, ProcessAnnotation: true, Capabilities: caps})
			if err != nil {
				return nil, err
			}
			modules[name] = m
		}
	}
	return set, addLibrary(modules, caps)
}

// schemaOfPackage returns the schema of a package's input; nil for a shared
// library, which may not read it.
func schemaOfPackage(pkg string) (schemaNode, error) {
	all, err := schemas()
	if err != nil {
		return nil, err
	}
	kind, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pkg, "gatehouse."), "lib."), ".")
	return all[kind], nil
}

// schemaNode is a JSON Schema, or a part of one.
type schemaNode map[string]any

// field returns the schema of a member. known is false where the node is open,
// or no object: anything may be there, or the compiler itself complains.
func (n schemaNode) field(name string) (inner schemaNode, known bool) {
	properties, closed := n["properties"].(map[string]any)
	if !closed {
		more, _ := n["additionalProperties"].(map[string]any)
		return more, false
	}
	node, _ := properties[name].(map[string]any)
	return node, true
}

// items returns the schema of the elements of a list, or of an open object.
func (n schemaNode) items() schemaNode {
	if items, ok := n["items"].(map[string]any); ok {
		return items
	}
	more, _ := n["additionalProperties"].(map[string]any)
	return more
}

// names lists the members of a closed object.
func (n schemaNode) names() []string {
	properties, _ := n["properties"].(map[string]any)
	return sortedKeys(properties)
}

// enum lists the words of a field; nil when any will do.
func (n schemaNode) enum() []string {
	list, _ := n["enum"].([]any)
	var words []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			words = append(words, s)
		}
	}
	return words
}

// each calls visit for every member anywhere in the schema.
func (n schemaNode) each(visit func(name string, node schemaNode)) {
	properties, _ := n["properties"].(map[string]any)
	for _, name := range sortedKeys(properties) {
		inner, _ := properties[name].(map[string]any)
		visit(name, inner)
		schemaNode(inner).each(visit)
	}
	if items := n.items(); items != nil {
		items.each(visit)
	}
}
