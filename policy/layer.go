package policy

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
)

// The packages that decide. Each holds one partial set named decisions.
const (
	permissionPackage = "gatehouse.permission"
	admissionPackage  = "gatehouse.admission"
)

//go:embed schema/*.json
var schemaFiles embed.FS

// layer is one set of modules with its own compiler and store, so that no
// layer can add to another's rules or replace its results.
type layer struct {
	name       string
	permission *rego.PreparedEvalQuery // nil: this layer has no opinion
	admission  *rego.PreparedEvalQuery
}

// compile parses, checks and prepares the modules of one layer.
func compile(ctx context.Context, name string, sources []source, cfg map[string]any) (*layer, error) {
	c, err := compiler(sources)
	if err != nil {
		return nil, err
	}
	return newLayer(ctx, name, c, cfg)
}

// newLayer prepares the queries of compiled modules.
func newLayer(ctx context.Context, name string, c *ast.Compiler, cfg map[string]any) (l *layer, err error) {
	l = &layer{name: name}
	if l.permission, err = prepare(ctx, c, permissionPackage, cfg); err != nil {
		return nil, err
	}
	l.admission, err = prepare(ctx, c, admissionPackage, cfg)
	return l, err
}

func compiler(sources []source) (*ast.Compiler, error) {
	caps := capabilities()
	modules := map[string]*ast.Module{}
	for _, s := range sources {
		if modules[s.name] != nil {
			return nil, fmt.Errorf("%s: named twice", s.name)
		}
		m, err := parse(s, caps)
		if err != nil {
			return nil, readable(err)
		}
		if m != nil {
			modules[s.name] = m
		}
	}
	schemas, err := annotate(modules, caps)
	if err != nil {
		return nil, err
	}
	c := ast.NewCompiler().WithCapabilities(caps).WithStrict(true).WithSchemas(schemas).
		WithUseTypeCheckAnnotations(true).WithEnablePrintStatements(false).
		WithDefaultRegoVersion(ast.RegoV2)
	if c.Compile(modules); c.Failed() {
		return nil, readable(c.Errors)
	}
	return c, nil
}

// annotate adds one module for each package that reads input. It carries the
// schema, so that authors need not name it: without it OPA checks nothing.
func annotate(modules map[string]*ast.Module, caps *ast.Capabilities) (*ast.SchemaSet, error) {
	set := ast.NewSchemaSet()
	for _, kind := range []string{"permission", "admission", "inproc"} {
		raw, err := schemaFiles.ReadFile("schema/" + kind + ".json")
		if err != nil {
			return nil, fmt.Errorf("read input schema: %w", err)
		}
		var schema any
		if err := json.Unmarshal(raw, &schema); err != nil {
			return nil, fmt.Errorf("read input schema %s: %w", kind, err)
		}
		set.Put(ast.MustParseRef("schema."+kind), schema)
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
	return set, nil
}

// prepare makes the query for one package's decisions, nil when it has none.
func prepare(ctx context.Context, c *ast.Compiler, pkg string, cfg map[string]any) (*rego.PreparedEvalQuery, error) {
	ref := ast.MustParseRef("data." + pkg + ".decisions")
	if len(c.GetRulesExact(ref)) == 0 {
		return nil, nil
	}
	data, err := plain(cfg)
	if err != nil {
		return nil, fmt.Errorf("data of the policies: %w", err)
	}
	q, err := rego.New(
		rego.Compiler(c), rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(ref)))),
		rego.Store(inmem.NewFromObject(map[string]any{"cfg": data})),
		rego.StrictBuiltinErrors(true), rego.SetRegoVersion(ast.RegoV2),
	).PrepareForEval(ctx)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", pkg, readable(err))
	}
	return &q, nil
}

// plain turns what a TOML decoder yields (int64, times, lists of tables) into
// what JSON knows, which is all that Rego knows.
func plain(cfg map[string]any) (map[string]any, error) {
	data := map[string]any{}
	raw, err := json.Marshal(cfg)
	if err != nil || cfg == nil {
		return data, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return data, d.Decode(&data)
}

// maxErrorsShown bounds how many errors of a policy one message lists.
const maxErrorsShown = 5

// readable lists a policy's errors as file:line: message.
func readable(err error) error {
	var list ast.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		return err
	}
	var lines []string
	for i, e := range list {
		if i == maxErrorsShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(list)-i))
			break
		}
		line := e.Message
		if e.Location != nil {
			line = fmt.Sprintf("%s:%d: %s", e.Location.File, e.Location.Row, line)
		}
		if e.Details != nil {
			line += " (" + strings.Join(e.Details.Lines(), " ") + ")"
		}
		lines = append(lines, line)
	}
	return errors.New(strings.Join(lines, "; "))
}
