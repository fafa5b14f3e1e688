// Package author holds the tools of people who write policies: running tests,
// explaining a decision, measuring, formatting and looking for mistakes. The
// commands gatehouse policy test, explain, bench, fmt, lint and init are thin
// programs around it.
//
// It reads sources with [policy.ReadSources], compiles them as the loader does
// and returns plain values with file, line and column; printing is the caller's.
// Nothing has to be closed.
package author

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
)

// The weights of a finding.
const (
	SeverityError   = "error"   // does not load, or grants what nobody meant
	SeverityWarning = "warning" // works, but should be looked at
)

// Finding is one thing wrong at one place.
type Finding struct {
	ID       string `json:"id"`       // of the lint, or "load"
	Severity string `json:"severity"` // "error" or "warning"
	File     string `json:"file"`
	Line     int    `json:"line"`   // from 1
	Column   int    `json:"column"` // from 1
	Text     string `json:"text"`   // the line itself, without the blanks around it
	Message  string `json:"message"`
	Advice   string `json:"advice,omitempty"` // what to write instead
}

// String is the finding on one line, as compilers write it.
func (f Finding) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
}

// LoadError says why sources do not compile. It holds at least one finding.
type LoadError struct{ Findings []Finding }

// Error has a line for each finding, and behind a tab the line it is about.
func (e *LoadError) Error() string {
	var lines []string
	for _, f := range e.Findings {
		lines = append(lines, f.String())
		if f.Text != "" {
			lines = append(lines, "\t"+f.Text)
		}
	}
	return strings.Join(lines, "\n")
}

// program is a set of sources, parsed and compiled.
type program struct {
	texts    map[string][]string    // lines by file
	parsed   map[string]*ast.Module // as written
	compiler *ast.Compiler          // holds rewritten copies of them
	library  *ast.Module            // the helpers of plugins, as written; nil where no source names them
	data     ast.Value              // data.cfg, to be shown; nil when it is not known
}

// features say how to compile.
type features struct {
	builtins []*ast.Builtin // granted besides those of policies
	print    bool           // print statements have an effect
}

// compile parses and compiles sources as the loader does. The error is a
// [*LoadError] when the sources are to blame.
func compile(sources []policy.Source, f features) (*program, error) {
	p, err := parseAll(sources, f)
	if err != nil {
		return nil, err
	}
	modules, c, err := p.ready(f)
	if err != nil {
		return nil, err
	}
	if c.Compile(modules); c.Failed() {
		return nil, p.loadError(c.Errors)
	}
	p.compiler = c
	return p, nil
}

func parseAll(sources []policy.Source, f features) (*program, error) {
	p := &program{texts: map[string][]string{}, parsed: map[string]*ast.Module{}}
	caps := policy.Capabilities(f.builtins...)
	for _, s := range sources {
		p.texts[s.Name] = strings.Split(s.Text, "\n")
		m, err := parse(s, caps)
		if err != nil {
			return nil, p.loadError(err)
		}
		p.parsed[s.Name] = m
	}
	return p, nil
}

// ready returns what is to be compiled, and the compiler for it.
func (p *program) ready(f features) (map[string]*ast.Module, *ast.Compiler, error) {
	modules := maps.Clone(p.parsed)
	schemas, err := policy.Schemas(modules)
	if err != nil {
		return nil, nil, p.loadError(err)
	}
	if p.library = modules[policy.PluginsModule]; p.library != nil {
		p.library = p.library.Copy()
		p.texts[policy.PluginsModule] = strings.Split(policy.PluginsSource().Text, "\n")
	}
	c := ast.NewCompiler().WithCapabilities(policy.Capabilities(f.builtins...)).WithStrict(true).WithSchemas(schemas).
		WithUseTypeCheckAnnotations(true).WithEnablePrintStatements(f.print).
		WithDefaultRegoVersion(ast.RegoV2)
	return modules, c, nil
}

func parse(s policy.Source, caps *ast.Capabilities) (*ast.Module, error) {
	m, err := ast.ParseModuleWithOpts(s.Name, s.Text, ast.ParserOptions{
		RegoVersion: ast.RegoV2, ProcessAnnotation: true, Capabilities: caps,
	})
	if err == nil && m == nil {
		err = ast.Errors{ast.NewError(ast.ParseErr, ast.NewLocation(nil, s.Name, 1, 1), "empty; begin with a package line")}
	}
	return m, err
}

// maxFindings bounds how many errors of a compiler are kept.
const maxFindings = 50

// loadError turns the compiler's errors into findings.
func (p *program) loadError(err error) error {
	var list ast.Errors
	if !errors.As(err, &list) || len(list) == 0 {
		return err
	}
	e := &LoadError{}
	for _, one := range list[:min(len(list), maxFindings)] {
		message := one.Message
		if _, line := one.Details.(*ast.ParserErrorDetail); one.Details != nil && !line {
			message += " (" + strings.Join(one.Details.Lines(), " ") + ")"
		}
		f := p.finding("load", SeverityError, one.Location, message, "")
		if n := len(e.Findings); n > 0 && e.Findings[n-1].Line == f.Line && e.Findings[n-1].File == f.File {
			continue // what follows from the first error of a line
		}
		e.Findings = append(e.Findings, f)
	}
	return e
}

// finding places a message. A nil location yields the zero place.
func (p *program) finding(id, severity string, at *ast.Location, message, advice string) Finding {
	f := Finding{ID: id, Severity: severity, Message: message, Advice: advice}
	if at == nil {
		return f
	}
	f.File, f.Line, f.Column = at.File, at.Row, max(at.Col, 1)
	f.Text = strings.TrimSpace(p.line(at.File, at.Row))
	return f
}

// line returns one line of a source, empty outside of it.
func (p *program) line(file string, row int) string {
	lines := p.texts[file]
	if row < 1 || row > len(lines) {
		return ""
	}
	return lines[row-1]
}

// packageName is the package without the leading "data.".
func packageName(m *ast.Module) string {
	return strings.TrimPrefix(m.Package.Path.String(), "data.")
}

// isTest reports whether a module holds tests only: the loader leaves it out.
func isTest(m *ast.Module) bool { return strings.HasSuffix(packageName(m), "_test") }

// sorted are the keys of m in order.
func sorted[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// Decides reports whether any of the sources belongs to a package that is asked
// for decisions. Sources that do not parse count: loading them names the error.
func Decides(sources []policy.Source) bool {
	return slices.ContainsFunc(sources, func(s policy.Source) bool {
		m, err := parse(s, policy.Capabilities(declarations()...))
		return err != nil || slices.Contains(askedPackages, packageName(m))
	})
}
