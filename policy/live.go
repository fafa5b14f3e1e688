package policy

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Live is a decider whose policies can be replaced while it decides. A decision
// under way ends with the set it began with; answers kept from an older set are
// void, because [Live.Revision] changes with the policies. It is safe for
// concurrent use and starts no goroutine.
type Live struct {
	set atomic.Pointer[Set]

	turn   chan struct{} // holds one token while a reload runs
	asked  atomic.Int64  // reloads asked for
	served int64         // of them, those settled; guarded by turn
	last   error         // of the last reload; guarded by turn
}

var (
	_ permission.Decider = (*Live)(nil)
	_ admission.Decider  = (*Live)(nil)
)

// NewLive decides by set, which must not be nil.
func NewLive(set *Set) *Live {
	l := &Live{turn: make(chan struct{}, 1)}
	l.set.Store(set)
	return l
}

// Set returns the policies in force.
func (l *Live) Set() *Set { return l.set.Load() }

// Swap puts other policies in force and returns those before; nil changes nothing.
func (l *Live) Swap(set *Set) *Set {
	if set == nil {
		return l.set.Load()
	}
	return l.set.Swap(set)
}

// Revision names the policies in force, see [Set.Revision].
func (l *Live) Revision() string { return l.set.Load().Revision() }

// Decide judges one call, see [Set.Decide].
func (l *Live) Decide(ctx context.Context, r permission.Request) (permission.Decision, error) {
	return l.set.Load().Decide(ctx, r)
}

// Admit judges a request, see [Set.Admit].
func (l *Live) Admit(ctx context.Context, r admission.Request) (permission.Decision, error) {
	return l.set.Load().Admit(ctx, r)
}

// Inproc judges a call of a tool in this process, see [Set.Inproc].
func (l *Live) Inproc(ctx context.Context, r permission.InprocRequest) permission.Decision {
	return l.set.Load().Inproc(ctx, r)
}

// Reload puts in force what build returns. While it builds, and for good when it
// errs or panics, the old policies decide; so build is also the place for what
// must hold of new policies, such as their tests. One reload runs at a time;
// calls that wait meanwhile share the next one, and its error.
func (l *Live) Reload(ctx context.Context, build func(context.Context) (*Set, error)) error {
	mine := l.asked.Add(1)
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("reload policies: %w", context.Cause(ctx))
	}
	defer func() { <-l.turn }()
	if l.served >= mine { // by a build that began after this call
		return l.last
	}
	covered := l.asked.Load()
	set, err := safely(ctx, build)
	if ctx.Err() != nil { // says nothing about the policies: the next one tries again
		return fmt.Errorf("reload policies: %w", context.Cause(ctx))
	}
	if err == nil {
		l.set.Store(set)
	}
	l.served, l.last = covered, err
	return err
}

// safely turns a panic of build, and no set without an error, into an error.
func safely(ctx context.Context, build func(context.Context) (*Set, error)) (set *Set, err error) {
	defer func() {
		if p := recover(); p != nil {
			set, err = nil, fmt.Errorf("reload policies: panic: %v", p)
		}
	}()
	if set, err = build(ctx); err == nil && set == nil {
		err = errors.New("reload policies: no set was built")
	}
	return set, err
}
