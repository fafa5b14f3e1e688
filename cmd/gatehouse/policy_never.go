package main

import (
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

// matchesNothing says why an allow can never count; empty when it can.
func (r dailyRow) matchesNothing() string {
	if r.Tool != "Bash" || r.Pattern == "" {
		return ""
	}
	switch {
	case strings.ContainsAny(r.Pattern, "\"'`$;&|<>()[?\\"):
		return "a rule names one command, with its words as the program gets them: without quotes, ; && | > $ ? or brackets; write one rule for each command"
	case strings.Contains(r.Pattern, "  "):
		return "commands are compared with one blank between their words"
	}
	return neverFires(r.sample())
}

// neverFires says why no row allows a command like this one.
func neverFires(text string) string {
	shell := facts.Analyse(text)
	first, _, _ := strings.Cut(text, " ")
	switch {
	case starts(first):
		return fmt.Sprintf("%s only starts another command, and that one has to be allowed: write its own name", first)
	case !shell.OK:
		return "no rule allows what cannot be analysed: " + shell.Reason
	}
	for _, c := range shell.Commands {
		switch {
		case len(c.Env) > 0:
			return "no rule allows a command that sets variables before it; allow the command alone"
		case c.Name.Value != c.Name.Basename:
			return fmt.Sprintf("a rule names a program by its name, so %s is never met; write Rego for a program at a path", c.Name.Value)
		}
	}
	return ""
}

// starts reports that a program begins the command in its arguments, unchanged.
func starts(name string) bool {
	shell := facts.Analyse(name + " 5 true")
	return len(shell.Commands) > 1 && shell.Commands[0].Wrapper
}
