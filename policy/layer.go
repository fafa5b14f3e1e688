package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
)

// The packages that decide. Each holds one partial set named decisions.
const (
	permissionPackage = "gatehouse.permission"
	admissionPackage  = "gatehouse.admission"
	inprocPackage     = "gatehouse.inproc"
	redactionPackage  = "gatehouse.redaction" // its set is named plan
)

// entrySets are the partial sets that are asked, by entry point.
var entrySets = map[Entrypoint]ast.Ref{
	EntryPermission: ast.MustParseRef("data." + permissionPackage + ".decisions"),
	EntryAdmission:  ast.MustParseRef("data." + admissionPackage + ".decisions"),
	EntryInproc:     ast.MustParseRef("data." + inprocPackage + ".decisions"),
	EntryRedaction:  ast.MustParseRef("data." + redactionPackage + ".plan"),
	entryMask:       ast.MustParseRef("data." + logPackage + ".mask"),
}

// layer is one set of modules with its own compiler and store, so that no
// layer can add to another's rules or replace its results.
type layer struct {
	name     string   // "builtin", "org", "user" or "project"
	revision string   // as it is told: the digest, or the revision of its bundle
	digest   string   // of what decides
	sources  []source // tests left out
	tests    []source // what was left out
	queries  map[Entrypoint]*query
	compiler *ast.Compiler

	rulesOnce sync.Once
	rules     []RuleInfo
}

// compile parses, checks and prepares the modules of one layer.
func compile(ctx context.Context, name string, sources []source, cfg map[string]any) (*layer, error) {
	return compileWith(ctx, name, sources, rights{caps: capabilities, data: cfg})
}

func compileWith(ctx context.Context, name string, sources []source, r rights) (*layer, error) {
	c, err := compileModules(sources, r)
	if err != nil {
		return nil, err
	}
	return newLayer(ctx, name, c, sources, r.data)
}

// newLayer prepares the queries of compiled modules.
func newLayer(ctx context.Context, name string, c *ast.Compiler, sources []source, cfg map[string]any) (*layer, error) {
	data, err := plain(cfg)
	if err != nil {
		return nil, fmt.Errorf("data of the policies: %w", err)
	}
	return digestedLayer(ctx, name, c, sources, data, layerDigest(data, sources))
}

// digestedLayer is newLayer where the digest is known; data is as plain makes it.
func digestedLayer(ctx context.Context, name string, c *ast.Compiler, sources []source, data map[string]any, sum string) (*layer, error) {
	l := &layer{name: name, revision: sum, digest: sum, compiler: c, queries: map[Entrypoint]*query{}}
	for _, src := range sources {
		if c.Modules[src.name] != nil { // a test is no module of a layer
			l.sources = append(l.sources, src)
			continue
		}
		l.tests = append(l.tests, src)
	}
	stored, err := newLayerData(ctx, data)
	if err != nil {
		return nil, err
	}
	for entry, ref := range entrySets {
		if l.queries[entry], err = prepare(c, stored, ref); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// decides reports whether the layer has a say anywhere.
func (l *layer) decides() bool {
	for _, q := range l.queries {
		if q != nil {
			return true
		}
	}
	return false
}

// rights say what the modules of a layer may be.
type rights struct {
	caps    func() *ast.Capabilities
	project *projectSize   // of a project, which may only tighten; see project_check.go
	data    map[string]any // what data.cfg holds
	noData  bool           // it is not at hand, so paths into it are not checked
}

// compiler compiles the modules of a layer that may use all that policies may.
func compiler(sources []source) (*ast.Compiler, error) {
	return compileModules(sources, rights{caps: capabilities})
}

// compileModules parses, checks and compiles the modules of one layer.
func compileModules(sources []source, r rights) (*ast.Compiler, error) {
	caps := r.caps()
	modules := map[string]*ast.Module{}
	for _, s := range sources {
		if modules[s.name] != nil {
			return nil, fmt.Errorf("%s: named twice", s.name)
		}
		if err := r.nesting(s); err != nil {
			return nil, err
		}
		m, err := parse(s, caps)
		if err != nil {
			return nil, readable(err, sources...)
		}
		if m != nil {
			modules[s.name] = m
		}
	}
	if r.project != nil {
		if errs := r.project.add(modules); len(errs) > 0 {
			return nil, readable(errs, sources...)
		}
	}
	if errs := lint(modules, r); len(errs) > 0 {
		return nil, readable(errs, sources...)
	}
	schemas, err := annotate(modules, caps)
	if err != nil {
		return nil, readable(err, sources...)
	}
	c := ast.NewCompiler().WithCapabilities(caps).WithStrict(true).WithSchemas(schemas).
		WithUseTypeCheckAnnotations(true).WithEnablePrintStatements(false).
		WithDefaultRegoVersion(ast.RegoV2)
	if c.Compile(modules); c.Failed() {
		return nil, readable(c.Errors, sources...)
	}
	if errs := checkData(c, r); len(errs) > 0 {
		return nil, readable(errs, sources...)
	}
	return c, nil
}

// prepare makes the query of one set, nil when no rule adds to it.
func prepare(c *ast.Compiler, data *layerData, set ast.Ref) (*query, error) {
	if len(c.GetRulesExact(set)) == 0 {
		return nil, nil
	}
	return newQuery(c, data, set)
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
