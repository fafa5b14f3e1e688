package permission

import "slices"

// Scopes are what an approval can cover, the narrowest first, always in the same
// folder and mode, and of the same agent:
//
//	once     this call
//	exact    calls of the same tool with the same input, asked by the same rules
//	rule     calls of the same tool, asked by the same rules
//	session  calls asked by the same rules
var Scopes = []string{"once", "exact", "rule", "session"}

// Stricter joins the terms of two rules that both ask: the shorter times, the
// narrower scope, the approvers that satisfy both, the larger quorum.
func (t AskTerms) Stricter(o AskTerms) AskTerms {
	t.TimeoutSeconds = shorter(t.TimeoutSeconds, o.TimeoutSeconds)
	t.TTLSeconds = shorter(t.TTLSeconds, o.TTLSeconds)
	t.OnTimeout, t.Quorum = max(t.OnTimeout, o.OnTimeout), max(t.Quorum, o.Quorum)
	if t.Approver == "" {
		t.Approver = o.Approver
	}
	switch {
	case t.Approvers == nil:
		t.Approvers = o.Approvers
	case o.Approvers != nil:
		t.Approvers = common(t.Approvers, o.Approvers)
	}
	if slices.Index(Scopes, o.Scope) < slices.Index(Scopes, t.Scope) {
		t.Scope = o.Scope
	}
	for _, f := range o.Fields {
		if !slices.Contains(t.Fields, f) {
			t.Fields = append(slices.Clone(t.Fields), f)
		}
	}
	return t
}

// shorter is the smaller of two bounds of which 0 is none.
func shorter(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// common is never nil: nobody is not anybody.
func common(a, b []string) []string {
	both := []string{}
	for _, x := range a {
		if slices.Contains(b, x) {
			both = append(both, x)
		}
	}
	return both
}
