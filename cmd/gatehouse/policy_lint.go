package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// lintResult is the object of --json.
type lintResult struct {
	OK       bool             `json:"ok"`
	ExitCode int              `json:"exitCode"`
	Errors   int              `json:"errors"`
	Warnings int              `json:"warnings"`
	Findings []author.Finding `json:"findings"`
	Next     nextStep         `json:"next"`
}

// policyLint looks for mistakes that load.
func (c *command) policyLint(ctx context.Context, args []string) int {
	o := c.policyFlags("lint [PATHS]", "Looks for mistakes that load: what grants more than it says, what never fires, what is slow.\nA comment \"# gatehouse:ignore ID REASON\" above or on a line silences one.")
	o.dataFlag()
	var list bool
	o.flags.BoolVar(&list, "list", false, "list the lints")
	if code, done := o.parse(args); done {
		return code
	}
	if list {
		return c.listLints(o)
	}
	p, err := c.readPolicies(o)
	if err != nil {
		return c.failPolicy(o, err)
	}
	if err := p.load(ctx); err != nil {
		return c.failPolicy(o, err)
	}
	out := lintResult{Findings: author.Lint(author.Linting{Sources: p.sources, Data: p.files})}
	for _, f := range out.Findings {
		if f.Severity == author.SeverityError {
			out.Errors++
		} else {
			out.Warnings++
		}
	}
	out.OK, out.Next = len(out.Findings) == 0, nextStep{Command: o.again("test"), Note: "or gatehouse policy explain 'COMMAND': what the rules say to a call"}
	if !out.OK {
		out.ExitCode, out.Next = policyNo, nextStep{Note: "correct them, or silence one with \"# gatehouse:ignore ID REASON\" above its line"}
	}
	return c.linted(o, out, len(p.sources))
}

func (c *command) linted(o *policyOptions, out lintResult, n int) int {
	if o.json {
		if out.Findings == nil {
			out.Findings = []author.Finding{}
		}
		if err := c.printJSON(out); err != nil {
			return c.fail(policyWrong, err)
		}
		return out.ExitCode
	}
	if out.OK {
		c.say("%s  nothing found in %s", c.mark(true), plural(n, "file"))
	} else {
		c.say("%s  %s, %s in %s", c.mark(false), plural(out.Errors, "error"), plural(out.Warnings, "warning"), plural(n, "file"))
	}
	for _, f := range out.Findings {
		c.say("%s:%d:%d: %s %s: %s", f.File, f.Line, f.Column, f.Severity, f.ID, f.Message)
		if f.Text != "" {
			c.say("      %s", f.Text)
		}
		if f.Advice != "" {
			c.say("    %s", f.Advice)
		}
	}
	c.next("%s", out.Next)
	return out.ExitCode
}

func (c *command) listLints(o *policyOptions) int {
	all := author.Lints()
	if o.json {
		if err := c.printJSON(all); err != nil {
			return c.fail(policyWrong, err)
		}
		return policyYes
	}
	for _, l := range all {
		fmt.Fprintf(c.stdout, "%-18s%-9s%s\n", l.ID, l.Severity, l.Finds)
	}
	return policyYes
}

// escapeTabbed is escapeLines for source text: tabs stay.
func escapeTabbed(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		parts := strings.Split(line, "\t")
		for k := range parts {
			parts[k] = escapeControl(parts[k])
		}
		lines[i] = strings.Join(parts, "\t")
	}
	return strings.Join(lines, "\n")
}
