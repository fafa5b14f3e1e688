package policy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// compose takes the strictest of all verdicts. Of equally strict ones the more
// severe speaks first, then the rule whose name sorts first; context and labels
// of all are united. It returns Abstain when no verdict says anything.
func compose(verdicts []verdict) permission.Decision {
	slices.SortStableFunc(verdicts, func(a, b verdict) int {
		return cmp.Or(
			cmp.Compare(b.Effect, a.Effect),
			cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Layer, b.Layer))
	})
	var out permission.Decision
	if len(verdicts) > 0 && verdicts[0].Effect != permission.Abstain {
		out = verdicts[0].Decision
	}
	out.Context, out.Labels, out.Rules = nil, nil, nil
	for _, v := range verdicts {
		out.Rules = append(out.Rules, v.word+":"+v.Rule)
		out.Context = append(out.Context, v.Context...)
		if v.Labels != nil && out.Labels == nil {
			out.Labels = map[string]string{}
		}
		for _, k := range slices.Sorted(maps.Keys(v.Labels)) {
			if _, taken := out.Labels[k]; !taken { // the stricter rule's label stays
				out.Labels[k] = v.Labels[k]
			}
		}
		if v.Effect == out.Effect && v.Effect == permission.Ask {
			out.Ask = stricterTerms(out.Ask, v.Ask)
		}
	}
	out.Reason = reasons(out, verdicts)
	return out
}

// reasons lists the reasons of every rule that said the same.
func reasons(out permission.Decision, verdicts []verdict) string {
	var all []string
	for _, v := range verdicts {
		if v.Effect == out.Effect && v.Effect > permission.Allow && !slices.Contains(all, v.Reason) {
			all = append(all, v.Reason)
		}
	}
	if len(all) == 0 {
		return out.Reason
	}
	return strings.Join(all, "; ")
}

// stricterTerms takes the shorter time and a human wherever one is demanded.
func stricterTerms(a, b permission.AskTerms) permission.AskTerms {
	if a.TimeoutSeconds == 0 || b.TimeoutSeconds > 0 && b.TimeoutSeconds < a.TimeoutSeconds {
		a.TimeoutSeconds = b.TimeoutSeconds
	}
	a.Approver = cmp.Or(a.Approver, b.Approver)
	return a
}

// settle turns the verdicts about a call into its decision: changes are
// applied, and where nothing allows the default effect holds.
func (s *Set) settle(verdicts []verdict, input json.RawMessage) permission.Decision {
	var ops []op
	for _, v := range verdicts {
		ops = append(ops, v.ops...)
	}
	changed, different, err := apply(input, ops)
	if err != nil {
		return s.refuse("engine.modify", "a rule's change does not fit the input: "+err.Error())
	}
	if !different {
		// Nothing left to change; a second look at a changed input must find an
		// allow of its own.
		verdicts = slices.DeleteFunc(verdicts, func(v verdict) bool { return v.Effect == permission.Modify })
	}
	out := compose(verdicts)
	if path, clash := conflict(ops); clash && out.Effect <= permission.Ask {
		out.Effect, out.Rule, out.By = permission.Ask, "engine.modify_conflict", "engine"
		out.Reason, out.UpdatedInput = fmt.Sprintf("rules want different values at %s", path), nil
	} else if different && (out.Effect == permission.Modify || out.Effect == permission.Ask) {
		out.UpdatedInput = changed
	}
	if out.Effect == permission.Abstain {
		out = s.byDefault(out)
	}
	if s.fallback == permission.Deny && out.Effect == permission.Ask && s.options.Profile == "ci" {
		out.Effect, out.UpdatedInput = permission.Deny, nil
		out.Reason += " (profile ci: nobody is there to ask)"
	}
	out.Revision = s.revision
	return out
}

func (s *Set) byDefault(out permission.Decision) permission.Decision {
	out.Effect, out.Rule, out.By, out.Layer = s.fallback, "engine.default", "engine", ""
	out.Reason = "no policy allows this call, so it needs an answer"
	if s.fallback == permission.Deny {
		out.Reason = "no policy allows this call"
	}
	return out
}
