package main

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
)

// options are the flags that serve, run, check and demo share, as given.
type options struct {
	config  string
	cli     string
	cwd     string
	profile string

	serves string    // the command that serves, empty with others
	tools  toolFlags // of it

	json         bool
	model        string
	allowedTools string
	maxTurns     int
	onAsk        string
	prompt       string
}

// parse reads the flags of the command called name; session adds those of run.
func (c *command) parse(name string, args []string, session bool) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("gatehouse "+name, flag.ContinueOnError)
	f.StringVar(&o.config, "config", "", "configuration `file`; default: $GATEHOUSE_CONFIG, then the XDG folder")
	f.StringVar(&o.cli, "cli", "", "`path` of the Claude Code CLI; default: [cli] executable")
	f.StringVar(&o.cwd, "cwd", "", "`folder` to work in; default: the current one")
	f.StringVar(&o.profile, "profile", "", "built-in policy `name`: "+strings.Join(profiles, ", "))
	o.toolsOf(f, name)
	switch name {
	case mpmName:
		mpmHelp(f, c.stdout)
	case "run", "demo":
		f.BoolVar(&o.json, "json", false, "print one JSON object a line")
	case "check":
		f.BoolVar(&o.json, "json", false, "print one JSON object")
	}
	if session {
		f.StringVar(&o.model, "model", "", "model `name`")
		f.StringVar(&o.allowedTools, "allowed-tools", "", "comma-separated `rules` that run without asking, for example Read,Bash(go test *)")
		f.IntVar(&o.maxTurns, "max-turns", 0, "model turns at most; 0 = no limit")
		f.StringVar(&o.onAsk, "on-ask", "", "`how` questions are answered: prompt (terminal only), stdin (lines allow, for a form allow {json}, deny [reason]) or deny")
	}
	if err := c.parseFlags(f, args); err != nil {
		return nil, err
	}
	return o, o.finish(name, f.Args(), c)
}

func (o *options) finish(name string, rest []string, c *command) error {
	if name != "run" {
		if len(rest) > 0 {
			return fmt.Errorf("%s takes no argument, got %q", name, rest[0])
		}
		return nil
	}
	if len(rest) != 1 {
		return fmt.Errorf("run takes one prompt, got %d arguments; put flags before it and quotes around it", len(rest))
	}
	if o.prompt = rest[0]; strings.TrimSpace(o.prompt) == "" {
		return errors.New("run: the prompt is blank; say what the session should do")
	}
	if o.maxTurns < 0 {
		return fmt.Errorf("run: --max-turns %d is negative; 0 means no limit", o.maxTurns)
	}
	return o.chooseOnAsk(c)
}

func (o *options) chooseOnAsk(c *command) error {
	terminal := isTerminal(c.stdin)
	switch {
	case o.onAsk == "" && terminal:
		o.onAsk = onAskPrompt
	case o.onAsk == "":
		o.onAsk = onAskDeny
	case o.onAsk == onAskPrompt && !terminal:
		return errors.New("run: --on-ask prompt needs a terminal on stdin; use stdin or deny")
	case o.onAsk != onAskPrompt && o.onAsk != onAskStdin && o.onAsk != onAskDeny:
		return fmt.Errorf("run: --on-ask %q is unknown, want prompt, stdin or deny", o.onAsk)
	}
	return nil
}

// The values of --on-ask.
const (
	onAskPrompt = "prompt"
	onAskStdin  = "stdin"
	onAskDeny   = "deny"
)

// override puts flags over the configuration; what is locked stays.
func (o *options) override(l *loaded) error {
	for _, f := range []struct {
		flag, key, value string
		target           *string
	}{
		{"--profile", "profile", o.profile, &l.Profile},
		{"--cli", "cli.executable", o.cli, &l.CLI.Executable},
	} {
		if f.value == "" {
			continue
		}
		if err := l.mayOverride(f.key); err != nil {
			return fmt.Errorf("%s: %w", f.flag, err)
		}
		*f.target, l.at[f.key] = f.value, f.flag
		l.sums = append(l.sums, fmt.Sprintf("%s %q", f.flag, f.value))
	}
	return o.overrideTools(l)
}

// tools splits a comma-separated list of rules; commas inside brackets stay.
func tools(list string) []string {
	var out []string
	depth, start := 0, 0
	for i := range len(list) + 1 {
		switch {
		case i == len(list) || list[i] == ',' && depth == 0:
			if rule := strings.TrimSpace(list[start:i]); rule != "" {
				out = append(out, rule)
			}
			start = i + 1
		case list[i] == '(':
			depth++
		case list[i] == ')':
			depth--
		}
	}
	return out
}

// startFolder is where the command works: --cwd, or the current folder.
func (o *options) startFolder(current string) string {
	if o.cwd == "" {
		return current
	}
	if filepath.IsAbs(o.cwd) {
		return filepath.Clean(o.cwd)
	}
	return filepath.Join(current, o.cwd)
}
