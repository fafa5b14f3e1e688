package main

import (
	"context"
	"fmt"
	"strings"
)

// policyCommand is one row of the table of sub-commands of gatehouse policy.
type policyCommand struct {
	name string
	does string // one line for the help
	run  func(c *command, ctx context.Context, args []string) int
}

// policyCommands returns the sub-commands in the order of the help: first what an
// author runs every minute. To add one, write a method
//
//	func (c *command) policyName(ctx context.Context, args []string) int
//
// in a file of its own, policy_name.go, and a row here. It is a function because
// the help itself is reached from a row.
func policyCommands() []policyCommand {
	return []policyCommand{
		{"eval", "what would be decided about a call", (*command).policyEval},
		{"explain", "why, and why not the other rules", (*command).policyExplain},
		{"test", "run the tests, with coverage", (*command).policyTest},
		{"fmt", "format, or say what is not formatted", (*command).policyFmt},
		{"lint", "look for mistakes that load", (*command).policyLint},
		{"bench", "how long one decision takes, and where", (*command).policyBench},
		{"init", "write commented starter policies with a test", (*command).policyInit},
		{"allow", "let calls run without asking: 'npm test*'", (*command).policyAllow},
		{"deny", "stop calls: 'terraform *'", (*command).policyDeny},
		{"rules", "list or remove what allow, deny and import wrote", (*command).policyRules},
		{"import", "take over the rules of Claude Code's settings", (*command).policyImport},
		{"from-audit", "propose rules that would have avoided questions", (*command).policyFromAudit},
		{"replay", "what would be decided otherwise about a log", (*command).policyReplay},
		{"score", "how good the policies are, by a corpus of calls", (*command).policyScore},
		{"bundle", "pack, sign and verify what an organisation hands out", (*command).policyBundle},
	}
}

// Exit codes of every policy sub-command.
const (
	policyYes   = exitOK         // done, and the answer is yes
	policyNo    = exitTurnFailed // the answer is no: a test failed, lint found something
	policyWrong = exitUsage      // the command line is wrong, or a policy does not load
)

// policy runs one sub-command for authors of policies.
func (c *command) policy(ctx context.Context, args []string) int {
	if len(args) == 0 {
		return c.failUsage(fmt.Errorf("policy: say what to do: %s", strings.Join(policyNames(), ", ")))
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(c.stdout, policyUsage())
		return policyYes
	}
	for _, p := range policyCommands() {
		if p.name == args[0] {
			return p.run(c, ctx, args[1:])
		}
	}
	return c.failUsage(fmt.Errorf("policy %q is unknown, want one of %s", args[0], strings.Join(policyNames(), ", ")))
}

func policyNames() (all []string) {
	for _, p := range policyCommands() {
		all = append(all, p.name)
	}
	return all
}

func policyUsage() string {
	var b strings.Builder
	b.WriteString("gatehouse policy helps to write, test, explain and roll out policies.\n\n")
	for _, p := range policyCommands() {
		fmt.Fprintf(&b, "  gatehouse policy %-12s %s\n", p.name, p.does)
	}
	b.WriteString(`
Each takes --json, --config, --profile and -h. Exit codes: 0 done, 1 the answer is
no (a test failed, lint found something, it differs), 2 the command line is wrong
or a policy does not load. docs/policy-authoring.md is the guide.
`)
	return b.String()
}
