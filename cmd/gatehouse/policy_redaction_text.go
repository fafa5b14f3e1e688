package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// planText prints a plan for people, one edit a line, then what it is about.
func (k *policyCall) planText(out planResult, document json.RawMessage) {
	k.planHead(out)
	if k.o.verbose {
		k.say("document")
		k.showDocument(document)
	}
	k.next("%s", out.Next)
}

func (k *policyCall) planHead(out planResult) {
	counts := 0
	for _, e := range out.Edits {
		if e.Ignored == "" {
			counts++
		}
	}
	if out.OK {
		k.say("%s for sink %s, beside the vendor formats and the detectors of [redaction], which are always covered", plural(counts, "edit"), out.Sink)
	} else {
		k.say("withheld  the whole payload, because a layer gives no plan")
	}
	for _, l := range out.Layers {
		if l.Failure != "" {
			k.say("  FAILED  %s", l.Failure)
		}
	}
	for _, e := range out.Edits {
		k.editText(e)
	}
}

func (k *policyCall) editText(e planEdit) {
	line := fmt.Sprintf("  %-13s %s  layer %s", e.Action, e.Rule, e.Layer)
	if e.File != "" {
		line += fmt.Sprintf("  %s:%d", e.File, e.Line)
	}
	if e.Ignored != "" {
		line += "  (does not count: " + e.Ignored + ")"
	}
	k.say("%s", strings.TrimRight(line+"  "+e.Reason, " "))
	var about []string
	for _, part := range []struct {
		name  string
		words []string
	}{{"blocks", e.Select.Blocks}, {"tools", e.Select.Tools}, {"detectors", e.Detectors}, {"keys", e.Keys}, {"sinks", e.Sinks}} {
		if len(part.words) > 0 {
			about = append(about, part.name+" "+strings.Join(part.words, ", "))
		}
	}
	if e.Select.Pointer != "" {
		about = append(about, "below "+e.Select.Pointer)
	}
	if e.With != "" {
		about = append(about, "with "+e.With)
	}
	if e.MaxBytes > 0 {
		about = append(about, fmt.Sprintf("at most %d bytes", e.MaxBytes))
	}
	if len(about) == 0 {
		about = []string{"every text"}
	}
	k.say("    %s", strings.Join(about, "; "))
}
