package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
)

// reloadTime bounds one reload, its tests included.
const reloadTime = 2 * time.Minute

// The types of notices to sessions; docs/events.md describes them.
const (
	noticePolicy = "policy"
	noticeBundle = "policy_bundle"
)

// announcer tells every session; *engine.Engine is one.
type announcer interface{ Announce(engine.Announcement) }

// reload reads the configuration, policies, data and bundle again and puts them in
// force if all of it loads and its tests pass. Whatever fails, the old policies
// stay. asked: somebody waits for an answer, even that nothing has changed.
func (r *rollout) reload(ctx context.Context, to announcer, reread func() (*settings, error), asked bool) {
	bounded, cancel := context.WithTimeout(ctx, reloadTime)
	defer cancel()
	before := r.live.Revision()
	restarts, err := r.replace(bounded, reread, asked)
	if ctx.Err() != nil {
		return // the server ends
	}
	r.tellBundle(to)
	if err != nil {
		r.tellFailure(to, err)
		return
	}
	now := r.live.Revision()
	quiet := !asked && !r.failed && now == before && slices.Equal(restarts, r.restarts)
	r.failed, r.restarts = false, restarts
	r.logger.Info("policies reloaded", "revision", now, "before", before, "needs_restart", restarts)
	if quiet {
		return
	}
	message, more := "policies reloaded, revision "+now, map[string]any{"reloaded": true, "policyRevision": now}
	if len(restarts) > 0 {
		message += "; changed, but only a restart heeds it: " + strings.Join(restarts, ", ")
		more["needsRestart"] = restarts
	}
	to.Announce(engine.Announcement{Type: noticePolicy, Message: message, More: more})
}

func (r *rollout) tellFailure(to announcer, err error) {
	r.failed = true
	revision := r.live.Revision()
	what, rest := "policies", ""
	if _, ok := errors.AsType[*pluginsError](err); ok {
		what, rest = "plugins", ", and so do the old policies"
	}
	r.logger.Error(what+" could not be reloaded; the old ones stay in force"+rest, "error", err.Error(), "revision", revision)
	to.Announce(engine.Announcement{
		Type: noticePolicy, Standing: true, Message: what + " could not be reloaded: " + clipped(err) + "; the old ones stay in force" + rest,
		More: map[string]any{"reloaded": false, "policyRevision": revision},
	})
}

// tellBundle tells sessions that the newest bundle is not in force, once for each
// reason, and when that is over.
func (r *rollout) tellBundle(to announcer) {
	now := r.loading
	if r.fetching != "" {
		now = r.fetching
	}
	if now == r.told {
		return
	}
	r.told = now
	if now == "" {
		now = "the newest bundle is in force"
	}
	to.Announce(engine.Announcement{
		Type: noticeBundle, Message: now, Standing: r.told != "", More: map[string]any{"inForce": r.told == ""},
	})
}

// replace returns the changed keys that only a restart would heed.
func (r *rollout) replace(ctx context.Context, reread func() (*settings, error), asked bool) ([]string, error) {
	r.configuration.Reset(r.start.looked, policyExt) // before it is read, as always
	fresh, err := reread()
	if err != nil {
		return nil, r.refuse(ctx, true, err)
	}
	restarts := changedKeys(r.start.config, fresh.config)
	if r.plugins == nil && len(fresh.plugins.list) > 0 {
		restarts = append(restarts, pluginKey+" (the first one)")
	}
	if slices.Contains(strictProfiles, fresh.profile) != slices.Contains(strictProfiles, r.start.profile) {
		restarts = append(restarts, "profile (attachments, and whether anybody is asked)")
	}
	fresh.executable, fresh.decisions = r.start.executable, r.start.decisions // those in use
	fresh.decisionLog, fresh.decisions, fresh.server = r.start.decisionLog, r.start.decisions, r.start.server
	fresh.servers = fresh.servers.beside(r.start.servers)
	fresh.store, fresh.audit, fresh.plugins.cache = r.start.store, r.start.audit, r.start.plugins.cache
	r.policies.Reset(fresh.policyInputs(), policyExt)
	old, fetching := r.source, r.fetching
	source, err := r.reopen(ctx, fresh, asked)
	if err != nil {
		return nil, r.refuse(ctx, false, err)
	}
	r.source = source
	// Once plugins were replaced nothing may hold up the policies, not even the end of ctx.
	err = r.live.Reload(context.WithoutCancel(ctx), func(context.Context) (*policy.Set, error) {
		return r.firstOf(func(b *bundle.Bundle) (*policy.Set, error) { return r.withPlugins(ctx, fresh, b) })
	})
	if err != nil {
		if r.source != old {
			r.source, r.fetching = old, fetching
		}
		return nil, r.refuse(ctx, false, err)
	}
	r.settings = fresh
	r.share()
	r.tellLoaded(ctx)
	return restarts, nil
}

// refuse tells why something was not loaded.
func (r *rollout) refuse(ctx context.Context, config bool, err error) error {
	if r.refused != nil {
		r.refused(ctx, config, err)
	}
	return err
}

// reopen looks for a new bundle where that costs no more than reading a file, or
// where somebody asked. Another place or key of bundles has to hold at once.
func (r *rollout) reopen(ctx context.Context, fresh *settings, asked bool) (*bundle.Source, error) {
	switch {
	case fresh.bundle == nil:
		r.fetching, r.loading = "", ""
		return nil, nil
	case r.source == nil || *fresh.bundle != *r.settings.bundle:
		return r.openBundle(ctx, *fresh.bundle)
	case !r.source.Remote() || asked:
		_, err := r.refresh(ctx, r.source)
		return r.source, err
	}
	return r.source, nil
}

// withPlugins is tested, with plugins that are replaced last: the policies follow
// at once, and with an error neither is in force.
func (r *rollout) withPlugins(ctx context.Context, s *settings, b *bundle.Bundle) (*policy.Set, error) {
	set, err := r.tested(ctx, s, b)
	if err != nil {
		return nil, err
	}
	return set, r.plugins.reload(ctx, s)
}

// tested loads policies and runs their tests.
func (r *rollout) tested(ctx context.Context, s *settings, b *bundle.Bundle) (*policy.Set, error) {
	set, err := r.load(ctx, s, b)
	if err != nil {
		return nil, err
	}
	return set, runTests(ctx, set, s.profile)
}

// runTests runs the tests of the layers named, or of every one that has some. The
// documents they make are those of gatehouse policy test, whatever machine it is.
func runTests(ctx context.Context, set *policy.Set, profile string, layers ...string) error {
	suites := slices.DeleteFunc(set.Suites(), func(s policy.Suite) bool { return len(layers) > 0 && !slices.Contains(layers, s.Layer) })
	if len(suites) == 0 {
		return nil
	}
	documents, err := policy.Load(ctx, policy.Options{Profile: profile, Home: author.TestHome()})
	if err != nil {
		return fmt.Errorf("tests of the policies: %w", err)
	}
	for _, s := range suites {
		report, err := author.Suite{Sources: s.Sources, Data: s.Data, Documents: documents}.Test(ctx)
		if err != nil {
			return fmt.Errorf("tests of the %s policies: %w", s.Layer, err)
		}
		if err := failedTests(report); err != nil {
			return err
		}
	}
	return nil
}

// maxTestsTold bounds the failed tests that one message lists.
const maxTestsTold = 5

func failedTests(report author.Report) error {
	var lines []string
	for _, t := range report.Tests {
		if t.Status != author.Failed && t.Status != author.Broken {
			continue
		}
		line := fmt.Sprintf("%s:%d: test %s failed", t.File, t.Line, t.Name)
		if t.Error != "" {
			line += ": " + t.Error
		}
		lines = append(lines, line)
	}
	if more := len(lines) - maxTestsTold; more > 0 {
		lines = append(lines[:maxTestsTold], fmt.Sprintf("and %d more", more))
	}
	if len(lines) == 0 {
		return nil
	}
	return errors.New(strings.Join(lines, "; "))
}
