package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/open-policy-agent/opa/v1/ast"
)

// What tools for authors of policies need beyond deciding: the text of the
// modules, and what the loader's compiler grants and checks.

// Source is one Rego file.
type Source struct {
	Name string // path as it was given, shown in messages
	Text string
}

// ReadSources reads .rego files, tests included. A folder is walked: links in it
// are not followed, and names that begin with a dot are left out. No file at all
// is an error.
func ReadSources(paths []string) ([]Source, error) {
	read, err := readSources(paths)
	return exported(read), err
}

// BuiltinSources returns the modules of a built-in profile, without their tests.
func BuiltinSources(profile string) ([]Source, error) {
	read, err := builtinSources(profile)
	return exported(read), err
}

func exported(read []source) []Source {
	all := make([]Source, len(read))
	for i, s := range read {
		all[i] = Source{Name: s.name, Text: s.text}
	}
	return all
}

// Capabilities returns the built-in functions that policies may call, and more
// for tests. The caller may change the result.
func Capabilities(more ...*ast.Builtin) *ast.Capabilities {
	c := capabilities()
	c.Builtins = append(c.Builtins, more...)
	return c
}

// Schemas adds to modules what makes the compiler check fields of input, and
// returns the schemas for [ast.Compiler.WithSchemas], and the library where they
// name it. The names of the added modules begin with "schema of ", or are
// [PluginsModule].
func Schemas(modules map[string]*ast.Module) (*ast.SchemaSet, error) {
	return annotate(modules, capabilities())
}

// Data turns decoded TOML or JSON into what Rego knows; see [Options.Data].
func Data(cfg map[string]any) (map[string]any, error) { return plain(cfg) }

// Modules returns what every layer of the set consists of, without its tests. A
// project's layer is told of where document names its revision.
func (s *Set) Modules(document json.RawMessage) []Suite {
	all := make([]Suite, 0, len(s.layers)+1)
	for _, l := range s.layers {
		m := Suite{Layer: l.name, Sources: exported(l.sources)}
		switch l.name {
		case "org":
			m.Data = s.options.OrgData
		case "user":
			m.Data = s.options.Data
		}
		all = append(all, m)
	}
	var names struct {
		Server struct{ Revision struct{ Project string } }
	}
	if json.Unmarshal(document, &names) == nil {
		if p := s.remembered(names.Server.Revision.Project); p != nil {
			for _, l := range p.layers {
				all = append(all, Suite{Layer: "project", Sources: exported(l.sources)})
			}
		}
	}
	return all
}

// Complete fills in what a document leaves out: it is the document that
// [Set.Evaluate] judges.
func Complete(e Entrypoint, document json.RawMessage) (json.RawMessage, error) {
	doc, err := readDocument(e, document)
	if err != nil {
		return nil, err
	}
	return written(doc)
}

// Stages is how long each step of one decision took.
type Stages struct {
	Decode   time.Duration // of the tool's input
	Facts    time.Duration // paths, shell text, the caller's lists
	Document time.Duration // turned into what Rego reads
	Layers   []LayerTime
	Compose  time.Duration
}

// LayerTime is the time of one layer.
type LayerTime struct {
	Name string
	Took time.Duration
}

// Measure judges a call as Decide does, step by step and without what guards a
// decision: no deadline, no memory of earlier answers, no policies of a project.
func (s *Set) Measure(ctx context.Context, r permission.Request) (Stages, error) {
	var t Stages
	began := time.Now()
	lap := func() time.Duration {
		took := time.Since(began)
		began = time.Now()
		return took
	}
	object, err := decodeInput(r.Input)
	if err != nil {
		return t, err
	}
	t.Decode = lap()
	doc := s.document(r, object, nil)
	t.Facts = lap()
	input := toTerm(doc).Value
	t.Document = lap()
	var all []verdict
	for _, l := range s.layers {
		verdicts, failure := s.layer(ctx, l, EntryPermission, input, nil, nil)
		if failure != nil {
			return t, fmt.Errorf("%s: %s", failure.Rule, failure.Reason)
		}
		t.Layers = append(t.Layers, LayerTime{l.name, lap()})
		all = append(all, verdicts...)
	}
	s.settle(all, doc.Tool)
	t.Compose = lap()
	return t, nil
}
