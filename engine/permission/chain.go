package permission

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Chain judges a call by several deciders; the strictest answer wins.
type Chain struct {
	Deciders   []Decider
	Default    Effect      // when nobody spoke; anything looser than Ask counts as Ask
	Annotators []Annotator // heard before the deciders, of each input that is judged
}

// Decide is total: it never fails and never returns Abstain. All annotators and
// deciders run even after a deny, so that the record is complete. A changed input
// is judged once more; a second change is a deny. A question about a changed input
// was judged so by its decider; only others, and plugins, have yet to see the change.
func (c Chain) Decide(ctx context.Context, r Request) Decision {
	d := c.once(ctx, r)
	others := len(c.Deciders) > 1 || len(d.Plugins) > 0 || d.PluginRevision != ""
	asked := d.Effect == Ask && len(d.UpdatedInput) > 0 && others
	if d.Effect != Modify && !asked {
		return d
	}
	changed := r
	changed.Input = d.UpdatedInput
	return d.Rejudged(c.once(ctx, changed))
}

// Rejudged joins d, which changed the input, with what was decided about the
// changed input: the stricter one decides, asks have the terms of both, and
// rules, context, obligations and labels unite. What runs, or what an approver
// would let run, is the input as d changed it; another change is a deny. Plugins
// are told as of that input.
func (d Decision) Rejudged(again Decision) Decision {
	change := again.Effect == Modify || again.Effect == Ask && len(again.UpdatedInput) > 0
	if change && !bytes.Equal(again.UpdatedInput, d.UpdatedInput) {
		out := engineDeny("engine.modify_loop", "the policies changed the input twice", again.Diagnostics)
		out.Plugins = again.Plugins
		return out
	}
	input := d.UpdatedInput
	again.UpdatedInput = input
	out := joined(d, again)
	if out.UpdatedInput = input; out.Effect >= Deny {
		out.UpdatedInput = nil
	}
	out.Plugins, out.PluginRevision = again.Plugins, d.PluginRevision // the older one, should others have come in between
	return out
}

// Revision names all that decides: the deciders' policies, and the plugins with
// their settings. [Decision.InForce] is the same of what decided.
func (c Chain) Revision() string { return inForce(c.Policies(), c.plugins()) }

// Policies names the deciders' policies.
func (c Chain) Policies() string {
	parts := make([]string, len(c.Deciders))
	for i, d := range c.Deciders {
		parts[i] = d.Revision()
	}
	return strings.Join(parts, "+")
}

// plugins names those of the annotators; empty: there are none.
func (c Chain) plugins() string {
	var parts []string
	for _, a := range c.Annotators {
		if revision := revisionOf(a); revision != "" {
			parts = append(parts, revision)
		}
	}
	return strings.Join(parts, "+")
}

func inForce(policies, plugins string) string {
	if plugins == "" {
		return policies
	}
	return policies + "\n" + plugins // in no name of either
}

// InForce names the policies and plugins that decided, as [Chain.Revision] does.
func (d Decision) InForce() string { return inForce(d.Revision, d.PluginRevision) }

// once judges one input: plugins are heard, then the deciders, and what binds of
// plugins is composed with what these say.
func (c Chain) once(ctx context.Context, r Request) Decision {
	plugins := c.plugins() // read first: what was decided must never count for plugins that came after it
	said, failed := c.annotate(ctx, r)
	r.Annotations = said
	d := c.decide(ctx, r)
	out := d.bound(said)
	if failed.Effect != Abstain {
		out = stricter(out, failed).underPolicies(d)
	}
	out.Plugins, out.PluginRevision = spoken(said), plugins
	return out
}

// decide asks the deciders.
func (c Chain) decide(ctx context.Context, r Request) Decision {
	if len(c.Deciders) == 0 {
		return engineDeny("engine.no_policy", "no policy is loaded, so nothing may run", nil)
	}
	out, revisions := Decision{Effect: Abstain}, make([]string, len(c.Deciders))
	for i, decider := range c.Deciders {
		d := decideOne(ctx, decider, r)
		revisions[i] = cmp.Or(d.Revision, decider.Revision())
		out = stricter(out, d)
	}
	if out.Effect == Abstain {
		out = c.fallback(out)
	}
	if out.Effect == Modify && len(out.UpdatedInput) == 0 {
		return engineDeny("engine.modify_empty", "a policy changed the input but gave no input", out.Diagnostics)
	}
	out.Revision = strings.Join(revisions, "+") // as Revision has it, of the policies that decided
	return out
}

func (c Chain) fallback(d Decision) Decision {
	d.Effect, d.Rule, d.By = max(c.Default, Ask), "engine.default", "engine"
	d.Reason = "no policy allows this call, so it needs an answer"
	if d.Effect >= Deny {
		d.Reason = "no policy allows this call"
	}
	return d
}

// decideOne turns an error, a panic or an unknown effect of a decider into a deny.
func decideOne(ctx context.Context, d Decider, r Request) (out Decision) {
	defer func() {
		if p := recover(); p != nil {
			out = engineDeny("engine.panic", "a decider panicked", []string{fmt.Sprint(p)})
		}
	}()
	out, err := d.Decide(ctx, r)
	if err != nil {
		return engineDeny("engine.error", "a decider ended with an error", []string{err.Error()})
	}
	if out.Effect > Halt {
		return engineDeny("engine.decode", "a decider answered with an unknown effect", nil)
	}
	return out
}

func engineDeny(rule, reason string, diagnostics []string) Decision {
	return Decision{
		Effect: Deny, Rule: rule, Reason: reason, By: "engine", Severity: "high",
		AgentMessage: "The call was refused because it could not be judged (" + rule + ").",
		Rules:        []string{"deny:" + rule}, Diagnostics: diagnostics,
	}
}

// stricter merges two decisions: the stricter one decides, what both add unites.
// A question is about the input as the other one changed it.
func stricter(a, b Decision) Decision {
	win, other := a, b
	if b.Effect > a.Effect {
		win, other = b, a
	}
	switch change := len(other.UpdatedInput) > 0 && (win.Effect == Modify || win.Effect == Ask); {
	case change && len(win.UpdatedInput) == 0 && win.Effect == Ask:
		win.UpdatedInput = other.UpdatedInput
	case change && !bytes.Equal(win.UpdatedInput, other.UpdatedInput):
		win.Effect, win.Rule, win.By, win.Layer = Ask, "engine.modify_conflict", "engine", ""
		win.Reason, win.AgentMessage, win.UpdatedInput = "two policies change the input differently", "", nil
	}
	if win.Effect == Ask && other.Effect == Ask {
		win.Ask = win.Ask.Stricter(other.Ask)
	}
	win.Rules, win.Asking = union(a.Rules, b.Rules), union(a.Asking, b.Asking)
	win.Context, win.Diagnostics = union(a.Context, b.Context), union(a.Diagnostics, b.Diagnostics)
	return win.With(other)
}

// union is a and then what only b has; neither is changed.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(a, x) {
			all = append(all, x)
		}
	}
	return all
}

// With adds the obligations and labels of another decision about the same call
// to d; where both have a label, d's stays. Neither is changed.
func (d Decision) With(other Decision) Decision {
	for _, o := range other.Obligations {
		if !slices.ContainsFunc(d.Obligations, func(have Obligation) bool { return reflect.DeepEqual(have, o) }) {
			d.Obligations = append(slices.Clone(d.Obligations), o)
		}
	}
	if len(other.Labels) > 0 {
		labels := maps.Clone(other.Labels)
		maps.Copy(labels, d.Labels)
		d.Labels = labels
	}
	return d
}
