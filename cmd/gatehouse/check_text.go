package main

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"
)

// show prints a part of the report for people, as soon as it is there.
func (k *check) show(text func()) {
	if !k.options.json {
		text()
	}
}

// Widths of the report, in characters.
const (
	statusWidth = 9
	sampleWidth = 30
	ruleWidth   = 21
	reasonShown = 80
)

func (k *check) title(format string, args ...any) { fmt.Fprintf(k.stdout, format+"\n", args...) }

// row prints one line: a word, then what it is about.
func (k *check) row(word, text string) {
	fmt.Fprintf(k.stdout, "  %-*s %s\n", statusWidth, word, escapeControl(text))
}

func (k *check) configurationText() {
	c := k.report.Configuration
	k.title("Configuration")
	for _, f := range c.Files {
		k.row("file", f)
	}
	if len(c.Files) == 0 {
		k.row("file", "none; the defaults are in force")
	}
	k.row("profile", c.Profile)
	for _, r := range c.Roots {
		k.row("root", r)
	}
	for _, t := range c.Trusted {
		k.row("trusted", t)
	}
	if len(c.Trusted) == 0 {
		k.row("trusted", "none; folders' own Claude Code settings are not loaded live")
	}
	k.toolsText()
	for _, w := range k.report.Warnings {
		k.row("warning", w)
	}
}

func (k *check) policyText() {
	p := k.report.Policies
	k.title("Policies")
	k.row(gateOK, fmt.Sprintf("profile %s, %s of your own, revision %.12s", k.settings.profile, plural(len(p.Files), "file"), p.Revision))
	for _, f := range p.Files {
		k.row("file", f)
	}
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (k *check) cliText() {
	c := k.report.CLI
	k.title("Claude Code CLI")
	if c.Error != "" {
		k.row("FAILED", c.Error)
		return
	}
	k.row(gateOK, fmt.Sprintf("version %s; at least %s is needed", c.Version, c.MinVersion))
	k.row("file", c.Executable)
}

// addGate takes over the results of one CLI.
func (k *check) addGate(cli string, results []gateResult) {
	for i := range results {
		results[i].CLI = cli
	}
	k.report.Gate = append(k.report.Gate, results...)
	k.show(func() { k.gateText(cli, results) })
}

func (k *check) gateText(cli string, results []gateResult) {
	title := "Gate, tried with a scripted CLI"
	if cli == gateConfigured {
		title = "Gate, tried with your CLI (no model, no key, a temporary folder)"
	}
	k.title("%s", title)
	for _, r := range results {
		switch r.Status {
		case gateOK:
			k.row(r.Status, checkTitles[r.Check])
		case gateSkipped:
			k.row(r.Status, r.Detail)
		default:
			k.row("FAILED", checkTitles[r.Check]+": "+r.Detail)
		}
	}
}

func (k *check) samplesText() {
	k.title("What would be allowed in %s", escapeControl(k.settings.roots[0]))
	for _, s := range k.report.Calls {
		k.sampleText(s)
	}
	k.title("Starting a session with")
	for _, s := range k.report.Starts {
		k.sampleText(s)
	}
}

func (k *check) sampleText(s checkedSample) {
	line := pad(escapeControl(s.Sample), sampleWidth) + pad(s.Rule, ruleWidth) + cut(escapeControl(s.Reason), reasonShown)
	fmt.Fprintf(k.stdout, "  %-*s %s\n", statusWidth, s.Effect, strings.TrimRight(line, " "))
}

// cut shortens s to width; --json has the whole text.
func cut(s string, width int) string {
	if runes := []rune(s); len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return s
}

// pad fills s up to width and leaves a space after a longer one.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(1, width-utf8.RuneCountInString(s)))
}

func (k *check) nextText() {
	k.title("Next")
	fmt.Fprintf(k.stdout, "  %s\n", escapeControl(cmp.Or(k.report.Next, "nothing")))
	if k.report.OK {
		k.title("  (Claude Code; README.md has the lines for other clients)")
	}
}
