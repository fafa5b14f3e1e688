package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// output is standard output that keeps its first error: an answer that did not
// arrive is no success. It may be used by several goroutines.
type output struct {
	io.Writer

	mu  sync.Mutex
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.err == nil {
			o.err = err
		}
	}
	return n, err
}

// delivered is the exit code of a command that wrote to o.
func (c *command) delivered(o *output, code int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		return code
	}
	fmt.Fprintf(c.stderr, "gatehouse: standard output: %s\n", escapeControl(o.err.Error()))
	if code == exitOK {
		return exitUsage
	}
	return code
}

// parseFlags reads args. What is wrong with them is an error of one line, that
// names the command; with -h it prints the help and returns [flag.ErrHelp].
// From here on errors of the command line are JSON where --json asks for that.
func (c *command) parseFlags(f *flag.FlagSet, args []string) error {
	c.noteJSON(f, args)
	help := f.Usage
	f.Usage = func() {} // it would be printed at every error
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	f.SetOutput(c.stderr)
	f.Usage = help
	name := strings.TrimPrefix(f.Name(), "gatehouse ")
	switch {
	case errors.Is(err, flag.ErrHelp):
		help()
	case err != nil:
		return fmt.Errorf("%s: %w; gatehouse %s -h lists the flags", name, err, name)
	}
	return err
}

// parseAmong reads flags that may stand behind other words, up to "--", and returns
// those words.
func (c *command) parseAmong(f *flag.FlagSet, args []string) (words []string, err error) {
	var literal []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, literal = args[:i], args[i+1:]
	}
	for {
		if err := c.parseFlags(f, args); err != nil {
			return nil, err
		}
		if args = f.Args(); len(args) == 0 {
			return append(words, literal...), nil
		}
		words, args = append(words, args[0]), args[1:]
	}
}

// noteJSON finds --json also behind what is wrong, for commands that know it.
func (c *command) noteJSON(f *flag.FlagSet, args []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	asked := func(arg string) bool {
		return slices.Contains([]string{"json", "json=true"}, strings.TrimLeft(arg, "-")) && arg[0] == '-'
	}
	if f.Lookup("json") != nil && slices.ContainsFunc(args, func(arg string) bool { return arg != "" && asked(arg) }) {
		c.asJSON = true
	}
}
