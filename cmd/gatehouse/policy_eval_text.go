package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// evaluated prints the result and returns the exit code.
func (k *policyCall) evaluated(out evalResult, document json.RawMessage, expect string) int {
	out.Next = nextStep{"gatehouse policy explain " + k.words(), "why, and why not the other rules"}
	if k.o.json {
		if k.o.verbose {
			out.Document = document
		}
		if err := k.printJSON(out); err != nil {
			return k.fail(policyWrong, err)
		}
		return out.ExitCode
	}
	k.headline(out)
	if !out.OK {
		k.say("%s  expected %s", k.mark(false), expect)
	}
	k.heard(out)
	if k.o.verbose {
		for _, l := range out.Layers {
			k.layerText(l)
		}
		k.say("document")
		k.showDocument(document)
	}
	k.next("%s", out.Next)
	return out.ExitCode
}

// headline is the answer on one line.
func (k *policyCall) headline(out evalResult) {
	k.say("%s", strings.TrimRight(out.Effect+"  "+out.Rule+"  "+out.Reason, " "))
	for _, d := range out.Diagnostics {
		k.say("  %s", d)
	}
	for _, n := range out.Notes {
		k.say("  note: %s", n)
	}
}

// heard says what the model would read, and what would run instead.
func (k *policyCall) heard(out evalResult) {
	switch out.Effect {
	case "deny", "halt":
		k.say("  the model reads: %s", out.Model)
	case "ask":
		k.say("  the model waits; when it is refused without a reason it reads: %s", out.Model)
	}
	if out.Ask != nil {
		k.say("  terms: %s", *out.Ask)
	}
	if out.UpdatedInput != nil {
		k.say("  what would run instead, after it is judged itself: %s", out.UpdatedInput)
	}
}

func (k *policyCall) layerText(l layerResult) {
	k.say("%s  revision %s", l.Name, l.Revision)
	if l.Failure != "" {
		k.say("  FAILED  %s", l.Failure)
	}
	for _, v := range l.Verdicts {
		line := fmt.Sprintf("  %-7s %s  %s", v.Effect, v.Rule, v.Reason)
		if v.File != "" {
			line += fmt.Sprintf("  %s:%d", v.File, v.Line)
		}
		if v.Ignored != "" {
			line += "  (does not count: " + v.Ignored + ")"
		}
		k.say("%s", line)
	}
	if len(l.Verdicts) == 0 && l.Failure == "" {
		k.say("  no rule fired")
	}
}

// words are the arguments that name this call again.
func (k *policyCall) words() string {
	words := []string{}
	for _, rest := range k.o.rest {
		words = append(words, shellWord(rest))
	}
	for _, f := range []struct{ name, value, unless string }{
		{"--tool", k.tool, ""}, {"--input", k.input, ""}, {"--document", k.document, ""},
		{"--entrypoint", k.entrypoint, ""}, {"--action", k.action, "start"}, {"--mode", k.mode, "default"},
		{"--allowed-tools", k.allowed, ""}, {"--disallowed-tools", k.disallowed, ""},
		{"--config", k.o.config, ""}, {"--profile", k.o.profile, ""}, {"--cwd", k.o.cwd, ""},
	} {
		if f.value != f.unless {
			words = append(words, f.name, shellWord(f.value))
		}
	}
	return strings.Join(words, " ")
}
