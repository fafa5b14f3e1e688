package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"sync/atomic"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/watch"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
)

// Times of the first look at a bundle's address. A copy of an earlier run is
// used when the address does not answer in time.
const (
	firstFetch    = 20 * time.Second // without a copy
	firstWithCopy = 3 * time.Second
)

// rollout holds the policies in force and replaces them. Its fields are used by
// one goroutine at a time: the one that opens it, then that of [rollout.follow].
type rollout struct {
	logger   *slog.Logger
	live     *policy.Live
	start    *settings      // all but the policies are those of the start
	settings *settings      // the policies in force were loaded with
	source   *bundle.Source // nil: no bundle
	projects *policy.Projects
	plugins  *pluginHost  // nil: none are configured; set by build
	servers  *toolServers // nil: the same; all their life those of the start

	data   map[string]any                 // of the policies loaded last
	shared atomic.Pointer[map[string]any] // of those in force, to plugins

	// loaded is told which configuration and policies are in force, by their digests,
	// at the start and after each reload; nil: nobody wants to know.
	loaded func(ctx context.Context, config, revision, digest string)
	// refused is told of a configuration (config) or policies that were to be loaded
	// and could not be; nil: nobody wants to know.
	refused func(ctx context.Context, config bool, err error)

	policies, configuration watch.Files

	fetching string   // why the newest bundle could not be had; empty: it could
	loading  string   // why the newest bundle is not in force; empty: it is
	told     string   // of both, to the sessions
	failed   bool     // the last reload did
	restarts []string // keys that need a restart, as they were told last
}

// openRollout loads the policies in force. An error names file and line; without
// a bundle that is configured, nothing is loaded at all.
func openRollout(ctx context.Context, s *settings, logger *slog.Logger) (*rollout, error) {
	r := &rollout{logger: logger, start: s, settings: s, projects: policy.NewProjects()}
	r.policies.Reset(s.policyInputs(), policyExt) // before they are read: no later change goes unseen
	var err error
	if s.bundle != nil {
		if r.source, err = r.openBundle(ctx, *s.bundle); err != nil {
			return nil, err
		}
	}
	set, err := r.firstOf(func(b *bundle.Bundle) (*policy.Set, error) { return r.first(ctx, s, b) })
	if err != nil {
		return nil, err
	}
	r.live = policy.NewLive(set)
	r.share()
	return r, nil
}

// share shows plugins the data of the policies that were just put in force.
func (r *rollout) share() {
	data := r.data
	r.shared.Store(&data)
}

// policyData is the data in force. It is safe for concurrent use.
func (r *rollout) policyData() map[string]any { return *r.shared.Load() }

// tellLoaded tells what is in force.
func (r *rollout) tellLoaded(ctx context.Context) {
	if r.loaded != nil {
		r.loaded(ctx, r.settings.configDigest, r.live.Revision(), r.live.Set().Digest())
	}
}

// first loads the policies of a start. The tests of a bundle are run unless it was
// in force before: whoever signed it need not have run them. Other tests are not,
// since their policies have no older ones to fall back to.
func (r *rollout) first(ctx context.Context, s *settings, b *bundle.Bundle) (*policy.Set, error) {
	set, err := r.load(ctx, s, b)
	if err != nil || b == nil || r.source.Proven(b) {
		return set, err
	}
	ctx, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	if err := runTests(ctx, set, s.profile, "org"); err != nil {
		return nil, fmt.Errorf("policy.bundle: %s is signed, but its tests fail: %w", named(b), err)
	}
	return set, nil
}

// openBundle gets a bundle for the first time.
func (r *rollout) openBundle(ctx context.Context, o bundle.Options) (*bundle.Source, error) {
	source, err := bundle.Open(o)
	if err != nil {
		return nil, err
	}
	if err := source.Recall(); err != nil {
		r.logger.Warn("bundle", "error", err)
	}
	wait := firstFetch
	if len(source.Candidates()) > 0 {
		wait = firstWithCopy
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if _, err := r.refresh(ctx, source); err != nil {
		return nil, err
	}
	return source, nil
}

// refresh looks for a new bundle. Not to get it is an error only where there is
// none from before.
func (r *rollout) refresh(ctx context.Context, source *bundle.Source) (changed bool, err error) {
	changed, err = source.Refresh(ctx)
	if err != nil && len(source.Candidates()) == 0 {
		return false, fmt.Errorf("policy.%w; without the organisation's policies nothing is loaded", err)
	}
	r.fetched(source, err)
	return changed, nil
}

// fetched notes how a look for a new bundle ended.
func (r *rollout) fetched(source *bundle.Source, err error) {
	r.fetching = ""
	if err != nil {
		r.fetching = r.trouble(source, err)
	}
}

// firstOf loads with the newest bundle, or else the last good one, and keeps the
// one that will do. The error is that of the newest.
func (r *rollout) firstOf(load func(*bundle.Bundle) (*policy.Set, error)) (*policy.Set, error) {
	if r.source == nil {
		return load(nil)
	}
	r.loading = ""
	var errs []error
	for _, b := range r.source.Candidates() {
		set, err := load(b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if len(errs) > 0 {
			r.loading = r.trouble(r.source, errs[0])
		}
		if err := r.source.InForce(b); err != nil {
			r.logger.Warn("bundle", "error", err)
		}
		return set, nil
	}
	return nil, errs[0] // a source without candidates is not opened
}

// trouble logs what is wrong with a bundle and returns what sessions are told.
func (r *rollout) trouble(source *bundle.Source, err error) string {
	good := source.Candidates()
	last := named(good[len(good)-1])
	r.logger.Error("bundle", "error", err.Error(), "in_force", last)
	return fmt.Sprintf("%s; the last good bundle stays in force (%s)", clipped(err), last)
}

// named tells which bundle is meant.
func named(b *bundle.Bundle) string {
	if b.Revision != "" {
		return fmt.Sprintf("revision %q", b.Revision)
	}
	return "digest " + b.Digest[:16]
}

// maxTold bounds an error shown to clients, in bytes.
const maxTold = 2000

func clipped(err error) string {
	text := err.Error()
	if len(text) > maxTold {
		text = text[:maxTold] + "…"
	}
	return text
}

// load compiles the policies of s with a bundle, which may be nil.
func (r *rollout) load(ctx context.Context, s *settings, b *bundle.Bundle) (*policy.Set, error) {
	o, err := s.policyOptions(r.logger)
	if err != nil {
		return nil, err
	}
	o.Projects = r.projects // which policies hold in a session outlives a reload
	if b != nil {
		o.OrgModules, o.OrgRevision = b.Modules, b.Revision
		if o.OrgData, err = united(o.OrgData, b.Data); err != nil {
			return nil, err
		}
	}
	set, err := policy.Load(ctx, o)
	if err == nil {
		r.data = overlaid(o.Data, o.OrgData)
	}
	return set, err
}

// overlaid is the data plugins see. Where both set one member, the organisation's
// holds: its plugins must not be steered by what a user writes.
func overlaid(user, organisation map[string]any) map[string]any {
	all := make(map[string]any, len(user)+len(organisation))
	maps.Copy(all, user)
	maps.Copy(all, organisation)
	return all
}

// united puts a bundle's data beside the organisation's own.
func united(own, given map[string]any) (map[string]any, error) {
	all := maps.Clone(own)
	if all == nil {
		all = map[string]any{}
	}
	for name, value := range given {
		if _, taken := all[name]; taken {
			return nil, fmt.Errorf("policy.data: a file of the organisation and its bundle both set %q; keep one", name)
		}
		all[name] = value
	}
	return all, nil
}
