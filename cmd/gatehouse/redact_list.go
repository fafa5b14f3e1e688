package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// listedDetector is an object of --list --json.
type listedDetector struct {
	Kind    string `json:"kind"` // as placeholders and findings name it
	Set     string `json:"set"`  // "vendor", "context" or "custom"
	About   string `json:"about"`
	InForce bool   `json:"inForce"` // with these flags and this configuration
}

// detectors lists every detector: those built in, then those of the configuration
// and the command line.
func (r *redaction) detectors() (all []listedDetector) {
	for _, kind := range redact.Kinds() {
		d := listedDetector{Kind: kind, Set: "vendor", About: kindAbout[kind], InForce: true}
		if kind == "context" {
			d.Set, d.InForce = "context", r.options.Context
		}
		all = append(all, d)
	}
	for _, d := range r.options.Custom {
		about := d.Pattern
		if len(d.Keywords) > 0 {
			about += "  in texts with " + strings.Join(d.Keywords, ", ")
		}
		all = append(all, listedDetector{Kind: d.Name, Set: "custom", About: about, InForce: true})
	}
	var values []listedDetector
	for name := range r.options.Values {
		about := "the value of a variable of this environment"
		if strings.HasPrefix(name, fileKindPrefix) {
			about = "the content of a file that an [[mcp_server]] has its secret from"
		}
		values = append(values, listedDetector{Kind: name, Set: "custom", About: about, InForce: true})
	}
	slices.SortFunc(values, func(a, b listedDetector) int { return strings.Compare(a.Kind, b.Kind) })
	return append(all, values...)
}

// printDetectors prints the list.
func (r *redaction) printDetectors() int {
	for _, d := range r.detectors() {
		if r.o.json {
			_ = r.printJSON(d) // a broken output is told at the end
			continue
		}
		state := ""
		if !d.InForce {
			state = "  (off; --context or redaction.context)"
		}
		fmt.Fprintln(r.stdout, escapeControl(fmt.Sprintf("%-28s %-8s %s%s", d.Kind, d.Set, d.About, state)))
	}
	return redactDone
}
