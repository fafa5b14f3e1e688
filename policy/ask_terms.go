package policy

import "github.com/gatehouse-mcp/gatehouse/engine/permission"

// termsOf joins the terms of every ask that counts; ok is false when nobody
// could meet them all.
func termsOf(verdicts []verdict) (terms permission.AskTerms, ok bool) {
	first := true
	for i := range verdicts {
		v := &verdicts[i]
		switch {
		case v.Effect != permission.Ask || v.ignored != "":
		case first:
			terms, first = v.Ask, false
		default:
			terms = terms.Stricter(v.Ask)
		}
	}
	return terms, answerable(terms)
}

// answerable reports whether there is somebody who meets the terms.
func answerable(t permission.AskTerms) bool { return t.Approvers == nil || len(t.Approvers) > 0 }
