package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// checkReport is what check found: the object of --json. Parts that were not
// reached are absent.
type checkReport struct {
	OK            bool            `json:"ok"`
	ExitCode      int             `json:"exitCode"`
	Error         string          `json:"error,omitempty"` // of exit codes 2 and 130
	Configuration *checkedConfig  `json:"configuration,omitempty"`
	Tools         *checkedTools   `json:"tools,omitempty"`
	Warnings      []string        `json:"warnings,omitempty"`
	State         *checkedState   `json:"state,omitempty"`
	Policies      *checkedPolicy  `json:"policies,omitempty"`
	Plugins       []checkedPlugin `json:"plugins,omitempty"` // in the order they are called in
	Servers       []checkedServer `json:"servers,omitempty"` // of tools: those of [[mcp_server]], then those of plugins
	CLI           *checkedCLI     `json:"cli,omitempty"`
	Gate          []gateResult    `json:"gate,omitempty"`
	Calls         []checkedSample `json:"calls,omitempty"`  // what policy says to sample tool calls
	Starts        []checkedSample `json:"starts,omitempty"` // and to sample starts of sessions
	Next          string          `json:"next,omitempty"`   // a command to run, or the one thing to do first
}

// checkedConfig is the configuration in force.
type checkedConfig struct {
	Files   []string `json:"files"` // read, the organisation's first; empty: defaults only
	Profile string   `json:"profile"`
	Roots   []string `json:"roots"`
	Trusted []string `json:"trusted"`
}

// checkedPolicy says which policies are loaded.
type checkedPolicy struct {
	Files    []string `json:"files"` // of the user and the organisation
	Revision string   `json:"revision"`
}

// checkedCLI is the Claude Code CLI that sessions would run.
type checkedCLI struct {
	Executable string `json:"executable"`        // absolute when it was found
	Version    string `json:"version,omitempty"` // empty: not found, or not the CLI
	MinVersion string `json:"minVersion"`
	Error      string `json:"error,omitempty"` // why no session can use it
}

// check is one run of the command.
type check struct {
	*command
	options  *options
	settings *settings
	policies *policy.Set
	plugins  *pluginHost // nil: none are configured
	report   checkReport
	hooksOff string // the file of the owner or the machine that switches hooks off
}

// check answers "would this work, and what would be allowed?" without a model,
// a key or a change to anything but a temporary folder.
func (c *command) check(ctx context.Context, args []string) int {
	o, err := c.parse("check", args, false)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return c.failUsage(err)
	}
	k := &check{command: c, options: o}
	code, err := k.steps(ctx)
	k.plugins.close(slog.New(slog.DiscardHandler))
	switch {
	case ctx.Err() != nil:
		return k.stopped(exitInterrupted, errors.New("check: interrupted"))
	case err != nil:
		return k.stopped(code, err)
	}
	return k.finish()
}

// steps does the work; the code belongs to the error.
func (k *check) steps(ctx context.Context) (code int, err error) {
	if err := k.load(ctx); err != nil {
		return exitUsage, err
	}
	if err := k.try(ctx); err != nil || ctx.Err() != nil {
		return exitTurnFailed, err
	}
	return exitTurnFailed, k.sample(ctx)
}

// load reads configuration and policies; an error means exit code 2.
func (k *check) load(ctx context.Context) (err error) {
	if k.settings, err = k.configure(k.options); err != nil {
		return err
	}
	s := k.settings
	k.report.Configuration = &checkedConfig{
		Files: orEmpty(s.files), Profile: s.profile, Roots: s.roots, Trusted: orEmpty(s.trusted),
	}
	k.report.Tools = s.checkedTools(k.env)
	k.report.Warnings = slices.Concat(s.variableWarnings(k.env), s.toolWarnings(), s.redactionWarnings())
	k.show(k.configurationText)
	if err := k.state(); err != nil {
		return err
	}
	logger := newLogger(k.stderr, slog.LevelWarn)
	coverLog(logger, scanRedactor{s.redaction.scanner}) // also what one server says of another's secrets
	r, err := openRollout(ctx, s, logger)
	if err != nil {
		return err
	}
	k.policies = r.live.Set()
	k.report.Policies = &checkedPolicy{Files: policyFiles(s.policyPaths), Revision: k.policies.Revision()}
	k.show(k.policyText)
	if err := k.loadPlugins(ctx, r, logger); err != nil {
		return err
	}
	return k.tryServers(ctx, r, logger)
}

// orEmpty makes a list that encodes as [] when it is empty.
func orEmpty(list []string) []string { return append([]string{}, list...) }

// minSecret is how many bytes CLAUDE_CODE_MCP_RESUME_SECRET should have: a
// shorter one works, and can be guessed from a token.
const minSecret = 32

// environmentWarnings finds variables that will not do what they seem to say.
func environmentWarnings(env environment) []string {
	const remedy = "; make one with openssl rand -base64 32"
	secret := env.get(resumeSecret)
	switch {
	case secret != "" && len(secret) < minSecret:
		return []string{fmt.Sprintf("%s has %d bytes; one below %d can be guessed from a token%s", resumeSecret, len(secret), minSecret, remedy)}
	case secret == "" && env.get(allowDiskResume) == "1":
		return []string{fmt.Sprintf("%s is 1 but %s is not set, so disk resume will refuse%s", allowDiskResume, resumeSecret, remedy)}
	}
	return nil
}

// exitCode tells a broken gate before a missing CLI, and that before a server that
// cannot be reached.
func (r *checkReport) exitCode() int {
	for _, g := range r.Gate {
		if g.Status == gateFailed {
			return exitTurnFailed
		}
	}
	if r.CLI == nil || r.CLI.Error != "" {
		return exitNoCLI
	}
	if r.failedServer() != "" {
		return exitTurnFailed
	}
	return exitOK
}

// finish ends a check that got through.
func (k *check) finish() int {
	r := &k.report
	r.ExitCode = r.exitCode()
	r.OK = r.ExitCode == exitOK
	r.Next = k.next()
	k.show(k.nextText)
	return k.print()
}

// stopped ends a check that did not get through.
func (k *check) stopped(code int, err error) int {
	k.report.ExitCode, k.report.Error = code, err.Error()
	if code == exitUsage {
		k.report.Next = "correct what the error names, then run gatehouse check again"
	}
	k.fail(code, err)
	return k.print()
}

// print writes the object of --json, if it was asked for.
func (k *check) print() int {
	if !k.options.json {
		return k.report.ExitCode
	}
	encoder := json.NewEncoder(k.stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(k.report); err != nil {
		return k.fail(exitTurnFailed, err)
	}
	return k.report.ExitCode
}
