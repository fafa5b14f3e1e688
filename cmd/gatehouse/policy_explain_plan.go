package main

import (
	"context"
	"encoding/json"
)

// explainedPlan is the object of --json of explain about a redaction: that of
// eval, and the rules that did not fire.
type explainedPlan struct {
	planResult
	Notes  []string      `json:"notes,omitempty"`
	Silent []silentRules `json:"silent"`
}

// explainPlan says which edits there are for payloads of one sort, and why not
// others.
func (x *explanation) explainPlan(ctx context.Context, document json.RawMessage) (out explainedPlan, err error) {
	if out.planResult, err = x.planOf(ctx, document); err != nil {
		return out, err
	}
	var silent explainResult
	if err := x.silent(ctx, &silent, "redaction", document); err != nil {
		return out, err
	}
	out.Silent, out.Notes = silent.Silent, silent.Notes
	if x.o.verbose {
		out.Document = document
	}
	return out, nil
}

// tellPlan prints it, what is covered first.
func (x *explanation) tellPlan(out explainedPlan) int {
	if x.o.json {
		if err := x.printJSON(out); err != nil {
			return x.fail(policyWrong, err)
		}
		return out.ExitCode
	}
	x.planHead(out.planResult)
	for _, n := range out.Notes {
		x.say("  note: %s", n)
	}
	for _, s := range out.Silent {
		x.silentText(s)
	}
	if out.Document != nil {
		x.say("document")
		x.showDocument(out.Document)
	}
	x.next("%s", out.Next)
	return out.ExitCode
}
