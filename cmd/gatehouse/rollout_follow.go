package main

import (
	"context"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy/bundle"
)

// lookEvery is how often files are looked at. A change counts once two looks in a
// row see the same, so within two seconds.
const lookEvery = time.Second

// policyExt ends the names of the files of a folder that are policies.
const policyExt = ".rego"

// follow reloads the policies whenever their files or the configuration change, a
// new bundle is there, or hangup receives. The goroutine ends with stop, which
// waits for it.
//
//	ticker ─▶ look at files ─┐
//	hangup ──────────────────┼─▶ reload ─▶ sessions are told
//	timer ─▶ fetch ─▶ bundle ┘   (one goroutine; only a fetch has one of its own)
func (r *rollout) follow(ctx context.Context, to announcer, reread func() (*settings, error), hangup <-chan os.Signal) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	f := &follower{rollout: r, to: to, reread: reread, fetched: make(chan fetch, 1)}
	go func() { // ends with ctx
		defer close(done)
		f.run(ctx, hangup)
	}()
	return func() { cancel(); <-done }
}

// follower is the goroutine of [rollout.follow] and what only it needs.
type follower struct {
	*rollout
	to     announcer
	reread func() (*settings, error)

	next     *time.Timer // of the next fetch
	fetched  chan fetch  // holds one
	fetching bool
}

// fetch is how a look at a bundle's address ended.
type fetch struct {
	source  *bundle.Source
	changed bool
	err     error
}

func (f *follower) run(ctx context.Context, hangup <-chan os.Signal) {
	f.next = time.NewTimer(f.wait())
	defer f.next.Stop()
	f.begin(ctx)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			if f.fetching {
				<-f.fetched // it ends with ctx
			}
			return
		case <-tick.C:
			if changed, other := f.policies.Changed(), f.configuration.Changed(); changed || other {
				f.again(ctx, false)
			}
		case <-hangup:
			f.again(ctx, true)
		case <-f.next.C:
			f.fetch(ctx)
		case got := <-f.fetched:
			f.took(ctx, got)
		}
	}
}

// begin tells what was found at the start, and reloads where the configuration
// changed since it was read.
func (f *follower) begin(ctx context.Context) {
	f.tellBundle(f.to)
	f.configuration.Reset(f.start.looked, policyExt)
	if s, err := f.reread(); err != nil || !reflect.DeepEqual(s.config, f.start.config) {
		f.again(ctx, false)
	}
}

func (f *follower) again(ctx context.Context, asked bool) {
	before := f.source
	if f.reload(ctx, f.to, f.reread, asked); f.source != before {
		f.next.Reset(f.wait()) // another address, with a time of its own
	}
}

// fetch looks at the bundle's address, where there is one, without holding up the
// rest. How it ends sets the timer.
func (f *follower) fetch(ctx context.Context) {
	switch source := f.source; {
	case f.fetching:
	case source != nil && source.Remote():
		f.fetching = true
		go func() { // ends with the request, which ends with ctx
			changed, err := source.Refresh(ctx)
			f.fetched <- fetch{source, changed, err} // there is room: one runs at a time
		}()
	default:
		f.next.Reset(f.wait())
	}
}

// took puts a new bundle in force, if it came from the source in use.
func (f *follower) took(ctx context.Context, got fetch) {
	f.fetching = false
	defer func() { f.next.Reset(f.wait()) }()
	if got.source != f.source || ctx.Err() != nil {
		return
	}
	f.rollout.fetched(got.source, got.err)
	if got.changed {
		f.again(ctx, false)
		return
	}
	f.tellBundle(f.to)
}

// wait is how long until the next look at the bundle's address, or at whether
// there is one now.
func (r *rollout) wait() time.Duration {
	if r.source == nil || !r.source.Remote() {
		return bundle.DefaultInterval
	}
	return r.source.Next()
}

// policyInputs are the files and folders policies and plugins come from.
func (s *settings) policyInputs() []string {
	return slices.Concat(s.policyPaths, s.policyData, s.bundleFiles, s.plugins.files)
}

// reloadable are the beginnings of the keys that a reload heeds.
var reloadable = []string{"profile", "policy.", "grants.", "lock."}

// changedKeys lists the other keys whose values differ, in order.
func changedKeys(a, b fileConfig) []string {
	before, after := map[string]any{}, map[string]any{}
	collectValues(reflect.ValueOf(a), "", before)
	collectValues(reflect.ValueOf(b), "", after)
	var keys []string
	for key, value := range after {
		heeded := key == pluginKey || slices.ContainsFunc(reloadable, func(p string) bool { return strings.HasPrefix(key, p) })
		if !heeded && !reflect.DeepEqual(value, before[key]) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func collectValues(v reflect.Value, prefix string, into map[string]any) {
	for i := range v.NumField() {
		key := prefix + v.Type().Field(i).Tag.Get("toml")
		if field := v.Field(i); field.Kind() == reflect.Struct {
			collectValues(field, key+".", into)
		} else {
			into[key] = field.Interface()
		}
	}
}

// hangups is that of run: at a terminal SIGHUP means that the terminal is gone,
// and has to end the session.
func (c *command) hangups() (<-chan os.Signal, func()) {
	if isTerminal(c.stdin) {
		return nil, func() {}
	}
	return hangups()
}
