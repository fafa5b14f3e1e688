package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
)

const auditUsage = `gatehouse audit reads and verifies the audit logs of all servers of this user.

  gatehouse audit show         who was allowed what, in the order of time; --follow
  gatehouse audit verify       was anything changed, left out or put in?
  gatehouse audit export       flat JSON lines for other systems
  gatehouse audit checkpoint   the newest checkpoint, to be kept elsewhere
  gatehouse audit key          the key of this configuration; key new makes one

Each takes --config, --dir and -h. Exit codes: 0 done, and verify found the logs
whole; 1 verify found something, or nothing to verify, or a log cannot be read;
2 the command line or the configuration is wrong; 130 interrupted. docs/audit.md
describes the logs.
`

// auditLog runs one command about the audit logs.
func (c *command) auditLog(ctx context.Context, args []string) int {
	known := map[string]func(context.Context, []string) int{
		"show": c.auditShow, "export": c.auditExport, "verify": c.auditVerify, "checkpoint": c.auditCheckpoint, "key": c.auditKey,
	}
	const all = "show, verify, export, checkpoint, key"
	if len(args) == 0 {
		return c.failUsage(errors.New("audit: say what to do: " + all))
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprint(c.stdout, auditUsage)
		return exitOK
	}
	if run := known[args[0]]; run != nil {
		return run(ctx, args[1:])
	}
	return c.failUsage(fmt.Errorf("audit %q is unknown, want one of %s", args[0], all))
}

// auditFlags are the flags of the audit commands.
type auditFlags struct {
	flags  *flag.FlagSet
	config string
	dir    string
	json   bool
	server string
}

func auditFlagSet(name string) *auditFlags {
	o := &auditFlags{flags: flag.NewFlagSet("gatehouse audit "+name, flag.ContinueOnError)}
	o.flags.StringVar(&o.config, "config", "", "configuration `file` whose [audit] holds; default: $GATEHOUSE_CONFIG, then the XDG folder")
	o.flags.StringVar(&o.dir, "dir", "", "`folder` with logs, or a copy of it; default: [audit] dir, then the state folder")
	return o
}

// name is the command's, such as audit show.
func (o *auditFlags) name() string { return strings.TrimPrefix(o.flags.Name(), "gatehouse ") }

// parse reads the flags; there are no other arguments.
func (o *auditFlags) parse(c *command, args []string) error {
	err := c.parseFlags(o.flags, args)
	if err == nil && o.flags.NArg() > 0 {
		err = fmt.Errorf("%s takes no argument, got %q", o.name(), o.flags.Arg(0))
	}
	if err == nil {
		err = c.notNested("audit")
	}
	return err
}

// settings are those of [audit] alone: logs are read also where the rest of the
// configuration would not start a server.
func (o *auditFlags) settings(c *command) (*settings, error) {
	l, err := loadConfig(organisationFile, o.config, c.env)
	if err != nil {
		return nil, err
	}
	k := &checker{l: l, env: c.env}
	s := &settings{audit: k.audit(), stateFolder: c.env.stateFolder()}
	return s, k.err
}

// root is the folder whose logs are meant.
func (o *auditFlags) root(c *command) (string, error) {
	if o.dir != "" {
		root := filepath.Clean(c.env.expand(o.dir))
		if info, err := os.Stat(root); err != nil || !info.IsDir() { // a slip must not pass for an empty log
			return "", fmt.Errorf("--dir %s is no folder", o.dir)
		}
		return root, nil
	}
	s, err := o.settings(c)
	if err != nil {
		return "", err
	}
	s.audit.off = false // there may be logs of before
	if root := s.auditRoot(); root != "" {
		return root, nil
	}
	return "", errHomeless
}

// failAudit ends a command with an error; help is none.
func (c *command) failAudit(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return c.failUsage(err)
}

// moment reads a point in time: RFC 3339, a date and perhaps a time of day here,
// or how long ago, such as 90m, 24h or 7d.
func moment(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	hours, days := strings.CutSuffix(text, "d")
	if days {
		hours += "h"
	}
	d, err := time.ParseDuration(hours)
	if days {
		d *= 24
	}
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("%q is no time; write it like 2026-01-31T12:00:00Z, 2026-01-31, 90m or 7d", text)
	}
	return now.Add(-d), nil
}

// auditKinds are the kinds of records.
var auditKinds = func() (names []string) {
	for _, k := range []audit.Kind{
		audit.SessionStart, audit.SessionResume, audit.SessionEnd, audit.Decision, audit.Admission,
		audit.ApprovalAsked, audit.ApprovalAnswered, audit.ApprovalExpired, audit.Redaction, audit.Unmediated,
		audit.ServerStart, audit.ServerStop, audit.ConfigLoad, audit.PolicyLoad, audit.PluginLoad, audit.PluginState,
		audit.ProtocolError, audit.Limit, audit.Gap, audit.Checkpoint, audit.Removal,
	} {
		names = append(names, string(k))
	}
	return names
}()

// auditFilter are the flags that pick records.
type auditFilter struct {
	audit.Filter
	limit int
}

func (f *auditFilter) declare(o *auditFlags, now time.Time) {
	at := func(to *time.Time) func(string) error {
		return func(text string) (err error) {
			*to, err = moment(text, now)
			return err
		}
	}
	list := func(to *[]string, known ...string) func(string) error {
		return func(text string) error {
			for one := range strings.SplitSeq(text, ",") {
				if one = strings.TrimSpace(one); len(known) > 0 && !slices.Contains(known, one) {
					return fmt.Errorf("%q is unknown, want one of %s", one, strings.Join(known, ", "))
				}
				*to = append(*to, one)
			}
			return nil
		}
	}
	o.flags.Func("since", "from this `time` on: 2026-01-31T12:00:00Z, 2026-01-31, or how long ago: 90m, 7d", at(&f.Since))
	o.flags.Func("until", "before this `time`", at(&f.Until))
	o.flags.StringVar(&f.Session, "session", "", "of the session whose `id` begins so")
	o.flags.StringVar(&f.Server, "server", "", "of the server whose `id` begins so")
	o.flags.Func("tool", "about these tools, `names` with commas; * stands for any characters", list(&f.Tools))
	o.flags.Func("effect", "with this outcome, `effects` with commas: allow, deny, ask", list(&f.Effects, "allow", "deny", "ask"))
	o.flags.Func("rule", "decided by these rules, or they spoke, `names` with commas; *", list(&f.Rules))
	o.flags.Func("kind", "of these `kinds`, with commas; docs/audit.md lists them", func(text string) error {
		var names []string
		err := list(&names, auditKinds...)(text)
		for _, name := range names {
			f.Kinds = append(f.Kinds, audit.Kind(name))
		}
		return err
	})
	o.flags.IntVar(&f.limit, "limit", 0, "only the newest `number` of them; 0 = all")
}
