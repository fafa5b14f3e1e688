package policy

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// maxReasons bounds how many reasons one decision joins.
const maxReasons = 10

// compose takes the strictest of all verdicts that count. Of equally strict ones
// the more severe speaks first, then the rule whose name sorts first; context,
// obligations and labels of all are united. It returns Abstain when no verdict
// says anything.
func compose(verdicts []verdict) permission.Decision {
	slices.SortStableFunc(verdicts, byStrictness)
	var out permission.Decision
	if len(verdicts) > 0 && verdicts[0].ignored == "" && verdicts[0].Effect != permission.Abstain {
		out = verdicts[0].Decision
	}
	out.Context, out.Labels, out.Rules, out.Asking, out.Obligations = nil, nil, nil, nil, nil
	for i := range verdicts {
		word := verdicts[i].word
		if verdicts[i].ignored != "" {
			word = "ignored"
		} else if verdicts[i].Effect == permission.Ask {
			out.Asking = append(out.Asking, verdicts[i].Layer+":"+verdicts[i].Rule)
		}
		out.Rules = append(out.Rules, word+":"+verdicts[i].Rule)
	}
	for _, last := range []bool{false, true} { // a project's labels replace nobody's
		for i := range verdicts {
			if v := &verdicts[i]; v.ignored == "" && (v.Layer == "project") == last {
				unite(&out, v)
			}
		}
	}
	out.Reason = reasons(out, verdicts)
	return out
}

// byStrictness sorts verdicts; those that do not count come last.
func byStrictness(a, b verdict) int {
	return cmp.Or(
		cmp.Compare(len(a.ignored), len(b.ignored)),
		cmp.Compare(b.Effect, a.Effect),
		cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity)),
		cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Layer, b.Layer), cmp.Compare(a.Reason, b.Reason))
}

// unite adds what a verdict brings along whatever is decided.
func unite(out *permission.Decision, v *verdict) {
	out.Context = append(out.Context, v.Context...)
	for _, o := range v.Obligations {
		if !slices.ContainsFunc(out.Obligations, func(known permission.Obligation) bool { return reflect.DeepEqual(known, o) }) {
			out.Obligations = append(out.Obligations, o)
		}
	}
	if v.Labels != nil && out.Labels == nil {
		out.Labels = map[string]string{}
	}
	for _, k := range slices.Sorted(maps.Keys(v.Labels)) {
		if _, taken := out.Labels[k]; !taken { // the stricter rule's label stays
			out.Labels[k] = v.Labels[k]
		}
	}
}

// reasons lists the reasons of every rule that said the same, by rule id.
func reasons(out permission.Decision, verdicts []verdict) string {
	if out.Effect <= permission.Allow {
		return out.Reason
	}
	var same []*verdict
	for i := range verdicts {
		if verdicts[i].Effect == out.Effect && verdicts[i].ignored == "" {
			same = append(same, &verdicts[i])
		}
	}
	if len(same) < 2 {
		return out.Reason
	}
	slices.SortStableFunc(same, func(a, b *verdict) int { return cmp.Compare(a.Rule, b.Rule) })
	var all []string
	for _, v := range same {
		if !slices.Contains(all, v.Reason) {
			all = append(all, v.Reason)
		}
	}
	if more := len(all) - maxReasons; more > 0 {
		all = append(all[:maxReasons], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(all, "; ")
}

// settle turns the verdicts about a call into its decision: changes are
// applied, and where nothing allows the default effect holds.
func (s *Set) settle(verdicts []verdict, tool toolInput) permission.Decision {
	out := compose(verdicts)
	if out.Effect >= permission.Deny {
		return out
	}
	change, refusal := s.change(verdicts, tool)
	if refusal != nil {
		return *refusal
	}
	if out.Effect == permission.Modify && !change.different {
		// Nothing left to change; a second look at a changed input must find an
		// allow of its own.
		rest := slices.DeleteFunc(slices.Clone(verdicts), func(v verdict) bool { return v.Effect == permission.Modify })
		rules := out.Rules
		out = compose(rest)
		out.Rules = rules
	}
	switch {
	case change.clash != "":
		out.Effect, out.Rule, out.By, out.Layer, out.Severity = permission.Ask, "engine.modify_conflict", "engine", "", "high"
		out.Reason, out.AgentMessage = change.clash, ""
	case change.different && (out.Effect == permission.Modify || out.Effect == permission.Ask):
		out.UpdatedInput = change.input
	case out.Effect == permission.Abstain, out.Effect == permission.Ask && s.fallback != permission.Ask && onlyProject(verdicts):
		out = s.byDefault(out)
	}
	return s.asked(out, verdicts)
}

// onlyProject reports whether nobody but a project's policies said something: its
// question must not take the place of a default that is stricter.
func onlyProject(verdicts []verdict) bool {
	return !slices.ContainsFunc(verdicts, func(v verdict) bool {
		return v.ignored == "" && v.Layer != "project" && v.Effect != permission.Abstain
	})
}

// asked completes a decision to ask: its terms are those of every ask together.
func (s *Set) asked(out permission.Decision, verdicts []verdict) permission.Decision {
	if out.Effect != permission.Ask {
		return out
	}
	terms, ok := termsOf(verdicts)
	if !ok {
		return s.noApprover(out.Rules)
	}
	out.Ask = terms
	if p := s.options.Profile; p == "ci" || p == "locked" {
		out.Effect, out.UpdatedInput, out.Ask = permission.Deny, nil, permission.AskTerms{}
		out.Reason += " (profile " + p + ": nobody is there to ask)"
	}
	return out
}

// noApprover refuses a question whose rules no one approver satisfies.
func (s *Set) noApprover(rules []string) permission.Decision {
	return s.refuse("engine.ask_terms", "rules want answers of different people, so nobody could answer: "+strings.Join(rules, ", "))
}

func (s *Set) byDefault(out permission.Decision) permission.Decision {
	out.Effect, out.Rule, out.By, out.Layer = s.fallback, "engine.default", "engine", ""
	out.Reason = "no policy allows this call, so it needs an answer"
	if s.fallback != permission.Ask {
		out.Effect, out.Reason = permission.Deny, "no policy allows this call"
	}
	return out
}
