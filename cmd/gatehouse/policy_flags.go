package main

import (
	"errors"
	"flag"
	"fmt"
	"strings"
)

// policyOptions are the flags that sub-commands of policy share, as given.
type policyOptions struct {
	options // --config, --profile, --cwd, --json

	verbose bool
	data    []string // --data, absolute or relative to the current folder
	rest    []string // what is no flag
	flags   *flag.FlagSet
	command *command
}

// policyFlags makes the flag set of one sub-command. usage is its command line
// without "gatehouse policy", does says in a sentence what it does.
func (c *command) policyFlags(usage, does string) *policyOptions {
	name, _, _ := strings.Cut(usage, " ")
	o := &policyOptions{command: c, flags: flag.NewFlagSet("gatehouse policy "+name, flag.ContinueOnError)}
	f := o.flags
	f.Usage = func() {
		fmt.Fprintf(c.stderr, "gatehouse policy %s\n\n%s\n\n", usage, does)
		f.PrintDefaults()
	}
	f.StringVar(&o.config, "config", "", "configuration `file`; default: $GATEHOUSE_CONFIG, then the XDG folder")
	f.StringVar(&o.profile, "profile", "", "built-in policy `name`: "+strings.Join(profiles, ", "))
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.verbose, "v", false, "show more")
	return o
}

// cwdFlag adds --cwd.
func (o *policyOptions) cwdFlag() {
	o.flags.StringVar(&o.cwd, "cwd", "", "`folder` the session works in; default: the current one")
}

// dataFlag adds --data.
func (o *policyOptions) dataFlag() {
	o.flags.Func("data", "TOML or JSON `file` read as data.cfg; may be repeated. Default: policy.data of the configuration; with PATHS data.toml, data.json and rules.toml in them", func(path string) error {
		o.data = append(o.data, path)
		return nil
	})
}

// parse reads args; flags may stand behind other words, up to "--". done is set
// when the command ends here, with that exit code.
func (o *policyOptions) parse(args []string) (code int, done bool) {
	words, err := o.command.parseAmong(o.flags, args)
	if errors.Is(err, flag.ErrHelp) {
		return policyYes, true
	} else if err != nil {
		return o.command.failUsage(err), true
	}
	o.rest = append(o.rest, words...)
	return 0, false
}
