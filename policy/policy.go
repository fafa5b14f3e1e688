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
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Options says which policies are in force. The zero value is the dev profile alone.
type Options struct {
	Profile       string         // "dev" (default), "readonly", "ci" or "locked"
	Paths         []string       // the user's .rego files, or folders of them
	Data          map[string]any // mounted at data.cfg of the user's policies
	DefaultEffect string         // where nothing allows: "ask" (default) or "deny"
	Grants        []string       // admission parameters granted by configuration; "*" = every one
	Protected     []string       // further absolute files and folders nobody may write
	Home          string         // the owner's home folder; empty: that of the process
	ServerID      string         // names this server's run in decisions
	Version       string         // of the program
	Deadline      time.Duration  // for one decision; 0 = 100 ms
	Logger        *slog.Logger   // nil = none
}

// Set is a compiled set of policies, safe for concurrent use.
type Set struct {
	options   Options
	fallback  permission.Effect
	layers    []*layer // in order: builtin, user
	revision  string
	revisions revisionInput // by layer
	stuck     atomic.Int64  // evaluations that ignored their deadline and still run
}

var (
	_ permission.Decider = (*Set)(nil)
	_ admission.Decider  = (*Set)(nil)
)

// profiles are the names of the built-in policy sets, one file each.
var profiles = []string{"dev", "readonly", "ci", "locked"}

// Load compiles the built-in profile and the user's policies. An error names
// the file and line of what is wrong.
func Load(ctx context.Context, o Options) (*Set, error) {
	s := &Set{options: o}
	if err := s.defaults(); err != nil {
		return nil, err
	}
	sources, err := builtinSources(s.options.Profile)
	if err != nil {
		return nil, err
	}
	c, ahead, err := compiledBuiltin(s.options.Profile, sources)
	if err != nil {
		return nil, fmt.Errorf("load built-in policies: %w", err)
	}
	builtin, err := newLayer(ctx, "builtin", c, nil)
	if err != nil {
		return nil, fmt.Errorf("load built-in policies: %w", err)
	}
	s.layers = []*layer{builtin}
	user, err := s.loadUser(ctx)
	if err != nil {
		return nil, err
	}
	s.revision = revision(s.options, sources, user)
	s.options.Logger.Info("policies loaded", "profile", s.options.Profile, "compiled_ahead", ahead, "user_files", len(user), "revision", s.revision)
	return s, nil
}

// Revision is a digest of every module, the data and the options that decide.
func (s *Set) Revision() string { return s.revision }

// loadUser compiles the user's layer, if there is one.
func (s *Set) loadUser(ctx context.Context) ([]source, error) {
	if len(s.options.Paths) == 0 {
		return nil, nil
	}
	sources, err := readSources(s.options.Paths)
	if err != nil {
		return nil, err
	}
	l, err := compile(ctx, "user", sources, s.options.Data)
	if err != nil {
		return nil, fmt.Errorf("load policies: %w", err)
	}
	if l.permission == nil && l.admission == nil {
		return nil, fmt.Errorf("load policies from %q: no file adds to gatehouse.permission.decisions or gatehouse.admission.decisions, so they would decide nothing", s.options.Paths)
	}
	s.layers = append(s.layers, l)
	return sources, nil
}

// defaults fills and checks the options.
func (s *Set) defaults() error {
	o := &s.options
	o.Grants, o.Protected = slices.Clone(o.Grants), slices.Clone(o.Protected)
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
	return o.places()
}

// places resolves the home folder and the protected paths.
func (o *Options) places() error {
	if o.Home == "" {
		o.Home, _ = os.UserHomeDir() // without one, ~ is outside
	}
	if real, err := filepath.EvalSymlinks(o.Home); err == nil && o.Home != "" {
		o.Home = real
	}
	for i, p := range o.Protected {
		if !filepath.IsAbs(p) {
			return fmt.Errorf("protected path %q: must be absolute", p)
		}
		o.Protected[i] = filepath.Clean(p)
		if real, err := filepath.EvalSymlinks(p); err == nil && real != o.Protected[i] {
			o.Protected = append(o.Protected, real)
		}
	}
	return nil
}
