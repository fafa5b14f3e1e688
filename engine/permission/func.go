package permission

import (
	"cmp"
	"context"
)

// FuncRule is the rule of a decision of a function that names none.
const FuncRule = "go.func"

// DeciderFunc is a function as a [Decider]. Its Revision never changes, so it has to
// judge equal calls alike for as long as it is in force; one that follows a
// configuration is a Decider of its own.
type DeciderFunc func(ctx context.Context, r Request) (Decision, error)

var _ Decider = DeciderFunc(nil)

// Decide implements [Decider]. A decision without a Rule has [FuncRule].
func (f DeciderFunc) Decide(ctx context.Context, r Request) (Decision, error) {
	d, err := f(ctx, r)
	if d.Effect != Abstain {
		d.Rule = cmp.Or(d.Rule, FuncRule)
	}
	return d, err
}

// Revision implements [Decider].
func (DeciderFunc) Revision() string { return "func" }

// InprocFunc is a function as an [InprocDecider].
type InprocFunc func(ctx context.Context, r InprocRequest) Decision

var _ InprocDecider = InprocFunc(nil)

// Inproc implements [InprocDecider]. A decision without a Rule has [FuncRule].
func (f InprocFunc) Inproc(ctx context.Context, r InprocRequest) Decision {
	d := f(ctx, r)
	d.Rule = cmp.Or(d.Rule, FuncRule)
	return d
}
