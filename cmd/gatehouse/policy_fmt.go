package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// fmtResult is the object of --json.
type fmtResult struct {
	OK       bool     `json:"ok"`
	ExitCode int      `json:"exitCode"`
	Files    []string `json:"unformatted"` // with -w: that were written
	Diff     string   `json:"diff,omitempty"`
	Next     nextStep `json:"next"`
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
	if err := c.notNested("policy fmt -w"); write && err != nil {
		return c.failPolicy(o, err)
	}
	if write && check {
		return c.failPolicy(o, errors.New("policy fmt: -w and --check exclude each other: one writes, the other only asks"))
	}
	p, err := c.readPolicies(o)
	if err != nil {
		return c.failPolicy(o, err)
	}
	out := fmtResult{OK: true, Files: []string{}, Next: nextStep{Command: o.againBare("lint")}}
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
			if err := p.rewrite(p.sources[i], text); err != nil {
				return c.failPolicy(o, err)
			}
		}
	}
	if len(out.Files) > 0 && !write {
		out.Next = nextStep{Command: o.againBare("fmt -w")}
		if check {
			out.OK, out.ExitCode = false, policyNo
		}
	}
	return c.formatted(o, out, len(p.sources), write)
}

// rewrite replaces a file as a whole, with the mode it has. A link that leads out
// of the paths is not followed: who named the paths did not name that file.
func (p *policySources) rewrite(s policy.Source, text string) error {
	real, err := p.within(s.Name)
	if err == nil {
		err = checkOwner(real)
	}
	if err == nil {
		err = regular.Rewrite(real, []byte(text))
	}
	if err != nil {
		return fmt.Errorf("policy fmt: write %s: %w", s.Name, err)
	}
	return nil
}

// within follows the links of a file and returns where it is, or an error when
// that lies in none of the paths.
func (p *policySources) within(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return "", err
	}
	for _, path := range p.paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return "", err
		}
		above, err := filepath.EvalSymlinks(filepath.Dir(path)) // links above it are how the system is laid out
		if err == nil && inside(real, filepath.Join(above, filepath.Base(path))) {
			return real, nil
		}
	}
	return "", fmt.Errorf("a link leads to %s, out of what was named; name that file or its folder itself", real)
}

// are writes a number with its noun and verb.
func are(n int, noun string) string {
	if n == 1 {
		return plural(n, noun) + " is"
	}
	return plural(n, noun) + " are"
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
		c.say("%s  nothing to do: %s formatted", c.mark(true), are(n, "file"))
	case wrote:
		c.say("%s  formatted %s of %d", c.mark(true), plural(len(out.Files), "file"), n)
	case out.OK:
		c.say("%s not formatted, of %d", are(len(out.Files), "file"), n)
	default:
		c.say("%s  %s not formatted, of %d", c.mark(false), are(len(out.Files), "file"), n)
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
