package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
)

const pluginUsage = `gatehouse plugin helps to write plugins: WebAssembly modules that may annotate,
refuse and cover, and that nobody needs to trust.

  gatehouse plugin new NAME [FOLDER]      start one: source, a test, a build line; --lang go|c|as
  gatehouse plugin check FILE.wasm        would it load, and what does it do? prints the TOML to paste
  gatehouse plugin run FILE.wasm HOOK     call it with documents from standard input

new, check and run take --json and -h. Exit codes: 0 done, and the plugin answered;
1 it would not load, or a call failed; 2 the command line is wrong, or a file cannot
be read; 130 interrupted. docs/plugins.md is the guide.
`

// Exit codes of the plugin commands.
const (
	pluginDone   = exitOK
	pluginFailed = exitTurnFailed // it does not load, or a call of it failed
	pluginWrong  = exitUsage      // the command line is wrong, or a file cannot be read
)

// plugin runs one command for authors of plugins.
func (c *command) plugin(ctx context.Context, args []string) int {
	known := map[string]func(context.Context, []string) int{"new": c.pluginNew, "check": c.pluginCheck, "run": c.pluginRun}
	const all = "new, check, run"
	if len(args) == 0 {
		return c.failUsage(errors.New("plugin: say what to do: " + all))
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprint(c.stdout, pluginUsage)
		return pluginDone
	}
	if run := known[args[0]]; run != nil {
		return run(ctx, args[1:])
	}
	return c.failUsage(fmt.Errorf("plugin %q is unknown, want one of %s", args[0], all))
}

// pluginFlags are the flags of check and run, as given.
type pluginFlags struct {
	flags   *flag.FlagSet
	memory  string
	timeout string
	config  string
	data    string
	kv      bool
	json    bool
	rest    []string // what is no flag
}

// pluginFlagSet declares the flags of one command. usage is its command line
// without "gatehouse plugin".
func (c *command) pluginFlagSet(name, usage, does string) *pluginFlags {
	o := &pluginFlags{flags: flag.NewFlagSet("gatehouse plugin "+name, flag.ContinueOnError)}
	f := o.flags
	f.Usage = func() {
		fmt.Fprintf(c.stderr, "gatehouse plugin %s\n\n%s\n\n", usage, does)
		f.PrintDefaults()
	}
	f.BoolVar(&o.json, "json", false, "print JSON")
	return o
}

// limits adds the flags that stand for keys of [[plugin]].
func (o *pluginFlags) limits() {
	f := o.flags
	f.StringVar(&o.memory, "memory", "", "`size` of its memory at most, as the key memory; default 32MiB")
	f.StringVar(&o.timeout, "timeout", "", "`time` of a call at most, as the key timeout; default 200ms, of tools_call 30s")
	f.StringVar(&o.config, "config", "", "its [plugin.config]: a `JSON` object, or a TOML or JSON file")
	f.StringVar(&o.data, "data", "", "TOML or JSON `file` of policy data, all of which it sees as /data")
	f.BoolVar(&o.kv, "kv", false, "it may keep values, as the key kv; check finds out by itself")
}

// parsePlugin reads the flags, which may stand behind other words.
func (c *command) parsePlugin(o *pluginFlags, args []string) error {
	words, err := c.parseAmong(o.flags, args)
	o.rest = append(o.rest, words...)
	return err
}
