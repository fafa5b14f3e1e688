// Package policy decides with Rego. It turns a tool call or a request to start,
// continue or answer a session into an input document, asks the layers of
// policies about it and composes their answers; the strictest wins.
//
// Start with [Load], which compiles everything and refuses what it does not
// understand, and use the [Set] as the engine's permission and admission
// decider:
//
//	set, err := policy.Load(ctx, policy.Options{Profile: "dev", Paths: []string{"policies"}})
//	decision, err := set.Decide(ctx, request)
//
// A Set is immutable; a reload loads another one. Nothing has to be closed.
// Every failure on the way is a deny whose rule begins with "engine.".
package policy

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Options says which policies are in force. The zero value is the dev profile alone.
type Options struct {
	Profile       string          // "dev" (default), "readonly", "ci", "locked" or "none"
	Paths         []string        // the user's .rego files, or folders of them
	Data          map[string]any  // mounted at data.cfg of the user's policies
	DataElsewhere bool            // Data is not at hand, as for a tool that checks modules: paths into it are not checked
	DefaultEffect string          // where nothing allows: "ask" (default) or "deny"
	Grants        []string        // admission parameters granted by configuration; "*" = every one
	Protected     []string        // further absolute files and folders nobody may write
	Secret        []string        // the same that nobody may read either
	Home          string          // the owner's home folder; empty: that of the process
	ServerID      string          // names this server's run in decisions
	Version       string          // of the program
	Deadline      time.Duration   // for one decision; 0 = 100 ms
	Logger        *slog.Logger    // nil = none
	Decisions     DecisionLog     // is told every decision; nil = none
	Redaction     *redact.Options // of the configuration; with it, names of detectors in redaction plans are checked. nil: not known

	Org         []string          // the organisation's .rego files, or folders of them
	OrgModules  map[string]string // further modules of the organisation by name, as from a bundle
	OrgData     map[string]any    // mounted at data.cfg of the organisation's policies
	OrgRevision string            // what the organisation's layer is told as; empty: its digest

	Projects *Projects // of the set before; nil = a new memory
}

// Set is a compiled set of policies, safe for concurrent use.
type Set struct {
	options   Options
	places    *facts.Places // home and protected places, prepared
	fallback  permission.Effect
	layers    []*layer // in order: builtin, org, user
	revision  string
	revisions revisionInput     // by layer, for documents
	byLayer   map[string]string // the same for decisions; never changed
	turns     turns
	guard     guard
	maskGuard guard

	detectors       []redact.Custom // of the layers' data
	planGuard       guard
	planEvaluations atomic.Int64 // of one layer each
	planOnce        sync.Once
	plans           *planner                     // of RedactionPlan
	memo            atomic.Pointer[decisionMemo] // nil until a rule says that its answer holds
	memoOnce        sync.Once

	readDoc        termMaker // of documents, without what no rule looks at
	readOnce       sync.Once
	readInproc     termMaker // the same of calls of tools in this process
	readInprocOnce sync.Once
	wholeDocuments bool // set by tests
}

var (
	_ permission.Decider = (*Set)(nil)
	_ admission.Decider  = (*Set)(nil)
)

// Load compiles the built-in profile and the policies of the organisation and
// the user. An error names the file, line and column of what is wrong.
func Load(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o, turns: newTurns()}
	if err := s.defaults(); err != nil {
		return nil, err
	}
	ahead, err := s.loadBuiltin(ctx)
	if err != nil {
		return nil, fmt.Errorf("load built-in policies: %w", err)
	}
	if err := s.loadOrg(ctx); err != nil {
		return nil, fmt.Errorf("load policies of the organisation: %w", err)
	}
	if err := s.loadUser(ctx); err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	if err := s.checkDetectors(); err != nil {
		return nil, err
	}
	s.seal()
	s.options.Logger.Info("policies loaded", "profile", s.options.Profile, "compiled_ahead", ahead, "layers", len(s.layers), "revision", s.revision)
	return s, nil
}

// Revision is a digest of every module, the data and the options that decide.
// Project policies have digests of their own.
func (s *Set) Revision() string { return s.revision }

func (s *Set) loadBuiltin(ctx context.Context) (ahead bool, err error) {
	sources, err := builtinSources(s.options.Profile)
	if err != nil {
		return false, err
	}
	sum := textDigest(sources)
	c, ahead, err := compiledBuiltin(s.options.Profile, sources, sum)
	if err != nil {
		return false, err
	}
	l, err := digestedLayer(ctx, "builtin", c, sources, map[string]any{}, sum[:shortDigest])
	if err == nil && (l.queries[EntryPermission] == nil || l.queries[EntryAdmission] == nil) {
		err = fmt.Errorf("profile %s decides nothing about calls or sessions", s.options.Profile)
	}
	s.layers = []*layer{l}
	return ahead, err
}

func (s *Set) loadOrg(ctx context.Context) error {
	o := &s.options
	if len(o.Org)+len(o.OrgModules) == 0 {
		return s.loadDetectors("org", o.OrgData) // they need no rule
	}
	var sources []source
	if len(o.Org) > 0 {
		var err error
		if sources, err = readSources(o.Org); err != nil {
			return err
		}
	}
	for _, name := range sortedKeys(o.OrgModules) {
		sources = append(sources, source{name, o.OrgModules[name]})
	}
	return s.add(ctx, "org", o.OrgRevision, sources, o.OrgData)
}

func (s *Set) loadUser(ctx context.Context) error {
	if len(s.options.Paths) == 0 {
		return s.loadDetectors("user", s.options.Data) // they need no rule
	}
	sources, err := readSources(s.options.Paths)
	if err != nil {
		return err
	}
	return s.add(ctx, "user", "", sources, s.options.Data)
}

// add compiles one layer, holds its examples against it and takes it in.
func (s *Set) add(ctx context.Context, name, revision string, sources []source, data map[string]any) error {
	l, err := compileWith(ctx, name, sources, rights{caps: capabilities, data: data, noData: name == "user" && s.options.DataElsewhere})
	if err != nil {
		return err
	}
	if !l.decides() {
		return fmt.Errorf("none of the files adds to gatehouse.permission.decisions, gatehouse.admission.decisions, gatehouse.inproc.decisions, gatehouse.redaction.plan or gatehouse.log.mask, so they would decide nothing")
	}
	if revision != "" {
		l.revision = revision
	}
	s.layers = append(s.layers, l)
	if err := s.loadDetectors(l.name, data); err != nil {
		return err
	}
	return s.checkExamples(ctx, l)
}

// seal notes which revisions are in force.
func (s *Set) seal() {
	s.byLayer = map[string]string{}
	for _, l := range s.layers {
		s.byLayer[l.name] = l.revision
	}
	s.revisions = revisionInput{Builtin: s.byLayer["builtin"], Org: s.byLayer["org"], User: s.byLayer["user"]}
	s.revision = revision(s.options, s.layers, s.detectors)
}

// defaults fills and checks the options.
func (s *Set) defaults() error {
	o := &s.options
	o.Grants, o.Protected, o.Secret = slices.Clone(o.Grants), slices.Clone(o.Protected), slices.Clone(o.Secret)
	if o.Profile == "" {
		o.Profile = "dev"
	}
	if !slices.Contains(profiles, o.Profile) {
		return fmt.Errorf("profile %q: unknown, want one of %v", o.Profile, profiles)
	}
	switch o.DefaultEffect {
	case "", "ask":
		s.fallback = permission.Ask
	case "deny":
		s.fallback = permission.Deny
	default:
		return fmt.Errorf("default_effect %q: want \"ask\" or \"deny\"", o.DefaultEffect)
	}
	if o.Profile == "ci" || o.Profile == "locked" {
		s.fallback = permission.Deny // nobody is there to answer
	}
	if o.Deadline <= 0 {
		o.Deadline = defaultDeadline
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Projects == nil {
		o.Projects = NewProjects()
	}
	if err := o.places(); err != nil {
		return err
	}
	s.places = facts.NewPlaces(o.Home, o.Protected, o.Secret...)
	return nil
}

// places resolves the home folder and the protected paths.
func (o *Options) places() error {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, ~ is outside
	}
	if real, err := filepath.EvalSymlinks(o.Home); err == nil && o.Home != "" {
		o.Home = real
	}
	if err := bothNames(&o.Protected); err != nil {
		return err
	}
	return bothNames(&o.Secret)
}

// bothNames adds where links lead.
func bothNames(paths *[]string) error {
	for i, p := range *paths {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("protected path %q: must be absolute", p)
		}
		(*paths)[i] = filepath.Clean(p)
		if real := realName(filepath.Clean(p)); real != (*paths)[i] {
			*paths = append(*paths, real)
		}
	}
	return nil
}

// realName is a path with the links resolved of as much of it as there is.
func realName(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil || path == filepath.Dir(path) {
		return cmp.Or(real, path)
	}
	return filepath.Join(realName(filepath.Dir(path)), filepath.Base(path))
}
