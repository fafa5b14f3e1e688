package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// initResult is the object of --json.
type initResult struct {
	OK    bool     `json:"ok"`
	Files []string `json:"files"`
	TOML  string   `json:"toml"` // to be pasted into the configuration
	Next  nextStep `json:"next"`
}

// policyInit writes starter policies.
func (c *command) policyInit(_ context.Context, args []string) int {
	o := c.policyFlags("init [DIR]", "Writes commented starter policies with a test into DIR (default: policies). Nothing is overwritten.")
	if code, done := o.parse(args); done {
		return code
	}
	if err := c.notNested("policy init"); err != nil {
		return c.failPolicy(o, err)
	}
	folder := "policies"
	switch len(o.rest) {
	case 0:
	case 1:
		folder = o.rest[0]
	default:
		return c.failPolicy(o, fmt.Errorf("policy init takes one folder, got %d", len(o.rest)))
	}
	files, err := author.Starter(folder)
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%w; to add the rest, run gatehouse policy init OTHER-FOLDER and copy from there what is missing", err)
	}
	if err != nil {
		return c.failPolicy(o, err)
	}
	whole, err := filepath.Abs(folder)
	if err != nil {
		return c.failPolicy(o, err)
	}
	out := initResult{
		OK: true, Files: files, Next: nextStep{Command: "gatehouse policy test " + shellWord(folder)},
		TOML: fmt.Sprintf("[policy]\npaths = [%s]\ndata = [%s]\n", quotedText(whole), quotedText(filepath.Join(whole, "data.toml"))),
	}
	if o.json {
		if err := c.printJSON(out); err != nil {
			return c.fail(policyWrong, err)
		}
		return policyYes
	}
	c.say("%s  wrote %s", c.mark(true), plural(len(files), "file"))
	for _, f := range files {
		c.say("  %s", f)
	}
	fmt.Fprintf(c.stdout, "to put them in force, add to gatehouse.toml (where it has [policy] already, add the entries to its lists):\n\n%s\n", escapeLines(out.TOML))
	c.next("%s", out.Next)
	return policyYes
}
