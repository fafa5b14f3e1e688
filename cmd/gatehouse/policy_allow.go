package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// policyAllow writes a rule that lets calls through.
func (c *command) policyAllow(ctx context.Context, args []string) int {
	return c.policyRow(ctx, "allow", "Lets calls run without asking, as far as the profile does not deny or ask about them for a reason\nof its own. RULE is a command ('npm test*'), a tool, or Tool(pattern) as in Claude Code.", args)
}

// policyDeny writes a rule that stops calls.
func (c *command) policyDeny(ctx context.Context, args []string) int {
	return c.policyRow(ctx, "deny", "Stops calls. RULE is a command ('terraform *'), a tool, or Tool(pattern) as in Claude Code.", args)
}

// rowFlags are the flags of the commands that write rows.
type rowFlags struct {
	*policyOptions
	effect                        string
	tool, reason                  string
	yes, here, force, writeConfig bool
}

func (c *command) rowFlags(effect, usage, does string) *rowFlags {
	o := &rowFlags{policyOptions: c.policyFlags(usage, does), effect: effect}
	o.flags.BoolVar(&o.yes, "yes", false, "write without asking; needed where there is no terminal")
	o.flags.BoolVar(&o.here, "here", false, "only for sessions in the current folder and below")
	o.flags.BoolVar(&o.writeConfig, "write-config", false, "also list the files in the configuration, if they are not")
	return o
}

func (c *command) policyRow(ctx context.Context, effect, does string, args []string) int {
	o := c.rowFlags(effect, effect+" RULE…", does+"\nShows first what would change, then asks.")
	o.flags.StringVar(&o.tool, "tool", "", "`name` of the tool that RULE is a pattern for")
	o.flags.StringVar(&o.reason, "reason", "", "`text` for whoever meets the rule")
	if effect == "allow" {
		o.flags.BoolVar(&o.force, "force", false, "take a rule that lets nearly everything through")
	}
	if code, done := o.parse(args); done {
		return code
	}
	err := c.notNested("policy " + effect)
	var rows []dailyRow
	if err == nil {
		rows, err = c.rowsOf(o)
	}
	if err != nil {
		return c.failPolicy(o.policyOptions, err)
	}
	return c.addRows(ctx, o, rows, nil)
}

// rowsOf reads the rules of the command line.
func (c *command) rowsOf(o *rowFlags) ([]dailyRow, error) {
	if len(o.rest) == 0 {
		return nil, fmt.Errorf("%s: name a rule, for example 'npm test*' or 'Read(docs/**)'", o.effect)
	}
	var rows []dailyRow
	for _, text := range o.rest {
		row, err := c.rowOf(o, text)
		if err != nil {
			return nil, err
		}
		if wide := row.tooWide(); wide != "" && row.Effect == "allow" && !o.force {
			return nil, fmt.Errorf("allow %s: %s; make it narrower, or repeat with --force", row, wide)
		}
		if never := row.matchesNothing(); never != "" && row.Effect == "allow" {
			return nil, fmt.Errorf("allow %s: %s", row, never)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func (c *command) rowOf(o *rowFlags, text string) (dailyRow, error) {
	row, err := parseDaily(text, o.tool)
	if err != nil && strings.Contains(err.Error(), "home folder") {
		row = row.expandHome(c.env.home())
		err = row.check()
	}
	if err != nil {
		return row, err
	}
	row.Effect, row.Reason, row.Added = o.effect, o.reason, time.Now().Format(time.DateOnly)
	if o.here {
		row.Folder, err = currentFolder()
	}
	if err == nil {
		err = row.check()
	}
	return row, err
}

// addRows previews rows, asks, and writes them with their tests. refused are
// rules that were left out, for the report of an import.
func (c *command) addRows(ctx context.Context, o *rowFlags, rows []dailyRow, refused []refusedRule) int {
	plan, err := c.planRows(ctx, o, rows)
	if err != nil {
		return c.failPolicy(o.policyOptions, err)
	}
	plan.Refused = append(refused, plan.Refused...)
	if !o.json {
		c.showPlan(plan)
	}
	if o.effect == "allow" && !o.force && plan.changesNothing() {
		return c.noChange(o, plan)
	}
	if err = plan.ready(o); err == nil && (len(plan.Rows) > 0 || o.writeConfig && len(plan.Known) > 0) {
		err = c.confirm(ctx, o.yes || len(plan.Rows) == 0)
	}
	if err == nil {
		err = c.writeRows(ctx, o, plan)
	}
	switch {
	case errors.Is(err, errNotWanted):
		c.say("nothing was written")
		return policyNo
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(c.stderr, "\ngatehouse: interrupted; "+plan.interrupted())
		return exitInterrupted
	case err != nil:
		return c.failPolicy(o.policyOptions, err)
	}
	return c.tellRows(o, plan)
}

func (plan *rowPlan) interrupted() string {
	if len(plan.Written) == 0 {
		return "nothing was written"
	}
	return "written so far: " + strings.Join(plan.Written, ", ")
}

// noChange refuses an allow behind which everything stays as it is.
func (c *command) noChange(o *rowFlags, plan *rowPlan) int {
	plan.ExitCode, plan.Next = policyNo, nextStep{Note: "gatehouse policy explain shows which rule decides; --force writes the rule anyway"}
	if o.json {
		if err := c.printJSON(plan); err != nil {
			return c.fail(policyWrong, err)
		}
		return plan.ExitCode
	}
	c.say("this changes nothing: another rule decides, or it is allowed already; nothing was written")
	c.next("%s", plan.Next)
	return plan.ExitCode
}

var errNotWanted = errors.New("not wanted")

// confirm asks at a terminal; elsewhere --yes has to say it. It ends with ctx.
func (c *command) confirm(ctx context.Context, yes bool) error {
	switch {
	case yes:
		return nil
	case !isTerminal(c.stdin):
		return errors.New("nobody can be asked here; repeat with --yes to write this")
	}
	return c.question(ctx)
}

// question reads one line of an answer.
func (c *command) question(ctx context.Context) error {
	fmt.Fprint(c.stderr, "Write this? [y/N] ")
	answered := make(chan string, 1)
	go func() { // ends with the line, or with the process
		line, _ := bufio.NewReader(c.stdin).ReadString('\n') // its end is a no
		answered <- line
	}()
	select {
	case <-ctx.Done():
		return context.Canceled
	case line := <-answered:
		if answer := strings.ToLower(strings.TrimSpace(line)); answer != "y" && answer != "yes" {
			return errNotWanted
		}
	}
	return nil
}

func currentFolder() (string, error) {
	folder, err := filepath.Abs(".")
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(folder)
}
