package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// Exit codes of redact; a broken output and a signal end it as everywhere.
const (
	redactDone  = exitOK
	redactFound = exitTurnFailed // --check: a secret was found
	redactWrong = exitUsage      // the command line or the configuration is wrong, or an input cannot be read
)

// The values of --as.
const (
	asAuto = "auto" // text, and binary files as they are
	asText = "text" // text, whatever bytes it holds
	asJSON = "json" // JSON documents: what their strings say is covered
)

// redactFlags are the flags of redact, as given.
type redactFlags struct {
	options // --config, --cwd, --json

	flags     *flag.FlagSet
	noConfig  bool
	context   bool
	detectors []redact.Custom
	as        string
	report    bool
	check     bool
	write     bool
	list      bool
	payload   payloadFlags
	tool      string
	files     []string
}

const redactUsage = `gatehouse redact [flags] [FILE...]

Covers secrets in files, or in what comes on standard input: each becomes
[REDACTED:detector]. The result goes to standard output; files stay as they are
unless --write says otherwise. Without FILE, or where FILE is "-", text goes
through as it comes.

The formats of vendors are always looked for. [redaction] of the configuration
adds what it names; --context and --detector add more for this run.

  some-command 2>&1 | gatehouse redact
  git diff --cached | gatehouse redact --check
  git ls-files -z | xargs -0 gatehouse redact --check
  gatehouse redact --detector 'ticket=TCK-[0-9]{6}' notes.txt

With --sink, --event or --tool the policies in force say what to cover, as in a
payload of that sort in a session:

  gatehouse redact --as json --tool mcp__crm__get customer.json

Exit codes: 0 done; 1 --check found a secret; 2 the command line or the
configuration is wrong, or an input cannot be read; 130 a signal.

`

// redactFlagSet declares the flags.
func (c *command) redactFlagSet() *redactFlags {
	o := &redactFlags{flags: flag.NewFlagSet("gatehouse redact", flag.ContinueOnError)}
	f := o.flags
	f.Usage = func() {
		fmt.Fprint(c.stderr, redactUsage)
		f.PrintDefaults()
	}
	f.StringVar(&o.config, "config", "", "configuration `file` whose [redaction] holds; default: $GATEHOUSE_CONFIG, then the XDG folder")
	f.BoolVar(&o.noConfig, "no-config", false, "read no configuration")
	f.BoolVar(&o.context, "context", false, "also cover what only its surroundings tell, such as password = \"…\"")
	f.Func("detector", "also cover what a detector `NAME=PATTERN` finds; the pattern is RE2, its group named secret or else all of it is covered; may be repeated", o.detector)
	f.StringVar(&o.as, "as", asAuto, "read the input as `form`: text, json (one or more documents), auto (text; binary files pass as they are)")
	f.BoolVar(&o.report, "report", false, "tell on stderr what was found where: file:line:column, or file and JSON pointer")
	f.BoolVar(&o.check, "check", false, "print only what was found where; exit with 1 when something was")
	f.BoolVar(&o.json, "json", false, "print only what was found where, as one JSON object a line")
	f.BoolVar(&o.write, "write", false, "change the files")
	f.BoolVar(&o.list, "list", false, "list the detectors")
	o.payload.declare(f)
	f.StringVar(&o.tool, "tool", "", "of a redaction: the `name` of the tool")
	return o
}

func (o *redactFlags) detector(value string) error {
	name, pattern, ok := strings.Cut(value, "=")
	if !ok {
		return errors.New("want NAME=PATTERN, such as ticket=TCK-[0-9]{6}")
	}
	o.detectors = append(o.detectors, redact.Custom{Name: name, Pattern: pattern})
	return nil
}

// redact covers secrets in files and pipes.
func (c *command) redact(ctx context.Context, args []string) int {
	o := c.redactFlagSet()
	err := c.redactParse(o, args)
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	if err != nil {
		return c.failUsage(err)
	}
	r, err := c.redactRun(ctx, o)
	if err != nil {
		return c.failUsage(err)
	}
	if o.list {
		return r.printDetectors()
	}
	return r.all(ctx)
}

// redactParse reads the flags, which may stand behind files.
func (c *command) redactParse(o *redactFlags, args []string) error {
	files, err := c.parseAmong(o.flags, args)
	if err != nil {
		return err
	}
	o.files = append(o.files, files...)
	return o.finish()
}

// finish refuses what makes no sense together.
func (o *redactFlags) finish() error {
	if !slices.Contains([]string{asAuto, asText, asJSON}, o.as) {
		return fmt.Errorf("redact: --as %q is unknown, want %s, %s or %s", o.as, asAuto, asText, asJSON)
	}
	if o.noConfig && o.config != "" {
		return errors.New("redact: --no-config and --config exclude each other")
	}
	if o.write && (o.check || o.json && !o.list) {
		return errors.New("redact: --write changes files, --check and --json only tell; use --write --report")
	}
	if o.write && (len(o.files) == 0 || slices.Contains(o.files, stdinName)) {
		return errors.New("redact: --write changes files; name them, or leave it out for a pipe")
	}
	if o.list && len(o.files) > 0 {
		return fmt.Errorf("redact: --list takes no file, got %q", o.files[0])
	}
	return nil
}

// redaction is one run of redact.
type redaction struct {
	*command
	o       *redactFlags
	options redact.Options
	scanner redact.Scanner
	plan    *planned // nil: no policy is asked
	code    int
	secrets int // found so far
	files   int // in which there were some
}

// redactRun makes the scanner. An error names the flag or the key.
func (c *command) redactRun(ctx context.Context, o *redactFlags) (*redaction, error) {
	r := &redaction{command: c, o: o}
	if !o.noConfig {
		s, err := c.redactSettings(&o.options)
		if err != nil {
			return nil, err
		}
		r.options = s.options
	}
	r.options.Context = r.options.Context || o.context
	r.options.Custom = slices.Concat(r.options.Custom, o.detectors)
	var err error
	if r.scanner, err = redact.New(r.options); err != nil {
		return nil, fmt.Errorf("redact: --detector: %w", err)
	}
	r.plan, err = c.planned(ctx, o, r.options)
	return r, err
}

// redactSettings checks [redaction] alone: what else a configuration says has no
// effect on a filter, and need not hold here.
func (c *command) redactSettings(o *options) (redactionSettings, error) {
	l, err := loadConfig(organisationFile, o.config, c.env)
	if err != nil {
		return redactionSettings{}, err
	}
	servers := (&checker{l: l, env: c.env}).mcpServers()
	k := &checker{l: l, env: c.env}
	return k.redaction(servers.values), k.err
}

// stdinName stands for standard input.
const stdinName = "-"

// all covers every input. One that cannot be read does not keep the others back.
func (r *redaction) all(ctx context.Context) int {
	files := r.o.files
	if len(files) == 0 {
		files = []string{stdinName}
	}
	for _, name := range files {
		before := r.secrets
		if err := r.one(ctx, name); err != nil && ctx.Err() == nil {
			r.code = r.fail(redactWrong, fmt.Errorf("redact: %s: %w", shown(name), err))
		}
		if r.secrets > before {
			r.files++
		}
		if ctx.Err() != nil {
			return exitInterrupted
		}
	}
	if r.code != redactDone || !r.o.check || r.secrets == 0 {
		return r.code
	}
	fmt.Fprintf(r.stderr, "gatehouse: redact: %s in %s; take them out, and revoke those that got about\n", plural(r.secrets, "secret"), plural(r.files, "input"))
	return redactFound
}

// tells reports whether somebody wants to know where secrets are.
func (o *redactFlags) tells() bool { return o.check || o.json || o.report }

// shown is how messages name an input.
func shown(name string) string {
	if name == stdinName {
		return "stdin"
	}
	return name
}
