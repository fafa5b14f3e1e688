package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// fmtResult is the object of --json.
type fmtResult struct {
	OK       bool     `json:"ok"`
	ExitCode int      `json:"exitCode"`
	Files    []string `json:"unformatted"` // with -w: that were written
	Diff     string   `json:"diff,omitempty"`
	Next     string   `json:"next"`
}

// policyFmt formats policies as OPA does.
func (c *command) policyFmt(_ context.Context, args []string) int {
	o := c.policyFlags("fmt [PATHS]", "Lists the files of PATHS, or of the configured policies, that are not formatted as OPA formats them.")
	var write, diff, check bool
	o.flags.BoolVar(&write, "w", false, "write them formatted")
	o.flags.BoolVar(&diff, "d", false, "show what would change")
	o.flags.BoolVar(&check, "check", false, "exit with code 1 when there is one")
	if code, done := o.parse(args); done {
		return code
	}
	if write && check {
		return c.failUsage(errors.New("policy fmt: -w and --check exclude each other: one writes, the other only asks"))
	}
	p, err := c.readPolicies(o)
	if err != nil {
		return c.failPolicy(o, err)
	}
	out := fmtResult{OK: true, Files: []string{}, Next: "gatehouse policy lint"}
	for i, s := range p.sources {
		text, err := author.Format(s)
		switch {
		case err != nil:
			return c.failPolicy(o, err)
		case text == s.Text:
			continue
		}
		out.Files = append(out.Files, s.Name)
		if diff {
			out.Diff += author.Diff(s.Name, s.Text, text)
		}
		if write {
			if err := rewrite(p.sources[i], text); err != nil {
				return c.failPolicy(o, err)
			}
		}
	}
	if len(out.Files) > 0 && !write {
		out.Next = "gatehouse policy fmt -w"
		if check {
			out.OK, out.ExitCode = false, policyNo
		}
	}
	return c.formatted(o, out, len(p.sources), write)
}

// rewrite replaces a file as a whole.
func rewrite(s policy.Source, text string) error {
	if err := checkOwner(s.Name); err != nil {
		return err
	}
	if err := writePrivate(s.Name, text); err != nil {
		return fmt.Errorf("policy fmt: write %s: %w", s.Name, err)
	}
	return nil
}

func (c *command) formatted(o *policyOptions, out fmtResult, n int, wrote bool) int {
	if o.json {
		if err := c.printJSON(out); err != nil {
			return c.fail(policyWrong, err)
		}
		return out.ExitCode
	}
	switch {
	case len(out.Files) == 0:
		c.say("%s  %s formatted", c.mark(true), plural(n, "file"))
	case wrote:
		c.say("%s  wrote %s", c.mark(true), plural(len(out.Files), "file"))
	case out.OK:
		c.say("%d of %s not formatted", len(out.Files), plural(n, "file"))
	default:
		c.say("%s  %d of %s not formatted", c.mark(false), len(out.Files), plural(n, "file"))
	}
	for _, f := range out.Files {
		c.say("  %s", f)
	}
	if out.Diff != "" {
		fmt.Fprint(c.stdout, escapeTabbed(out.Diff))
	}
	c.next("%s", out.Next)
	return out.ExitCode
}
