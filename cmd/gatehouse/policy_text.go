package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// mark is the word that begins a line of results: a sign for people at a
// terminal, a plain word where it is read by a program or from a file.
func (c *command) mark(ok bool) string {
	switch terminal := isTerminal(c.stdout); {
	case ok && terminal:
		return "✓"
	case ok:
		return "ok"
	case terminal:
		return "✗"
	}
	return "FAILED"
}

// say prints one line for people, with everything of others escaped.
func (c *command) say(format string, args ...any) {
	fmt.Fprintln(c.stdout, escapeControl(fmt.Sprintf(format, args...)))
}

// next is the last line: the one thing to do now.
func (c *command) next(format string, args ...any) { c.say("next: "+format, args...) }

// printJSON writes one object, the output of --json.
func (c *command) printJSON(value any) error {
	e := json.NewEncoder(c.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(value)
}

// policyError is the object of --json when a command cannot be done.
type policyError struct {
	OK       bool             `json:"ok"` // false
	ExitCode int              `json:"exitCode"`
	Error    string           `json:"error"`
	Findings []author.Finding `json:"findings,omitempty"` // where it is wrong
}

// failPolicy reports a command that could not be done. What is wrong with a
// policy is named by file, line and column, with the line itself below.
func (c *command) failPolicy(o *policyOptions, err error) int {
	if !o.json {
		return c.failUsage(err)
	}
	out := policyError{ExitCode: policyWrong, Error: err.Error()}
	var load *author.LoadError
	if errors.As(err, &load) {
		out.Findings = load.Findings
	}
	if failed := c.printJSON(out); failed != nil {
		return c.failUsage(failed)
	}
	return policyWrong
}

// shortPath shows a path relative to the current folder where that is shorter.
func shortPath(path string) string {
	current, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if rel, err := filepath.Rel(current, path); err == nil && len(rel) < len(path) && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return path
}
