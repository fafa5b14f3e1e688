package main

import "strings"

// nextStep is the one thing to do now: a command as it can be typed, what it is
// good for or what to do instead, or both.
type nextStep struct {
	Command string `json:"command,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (n nextStep) String() string {
	return strings.TrimSpace(n.Command + "   " + n.Note)
}

// again is another sub-command about the same files and configuration.
func (o *policyOptions) again(command string) string {
	words := []string{"gatehouse policy " + command}
	for _, path := range o.rest {
		words = append(words, shellWord(path))
	}
	for _, path := range o.data {
		if o.flags.Lookup("data") != nil {
			words = append(words, "--data", shellWord(path))
		}
	}
	for _, f := range []struct{ name, value string }{{"--config", o.config}, {"--profile", o.profile}} {
		if f.value != "" {
			words = append(words, f.name, shellWord(f.value))
		}
	}
	return strings.Join(words, " ")
}

// againBare is again without data files, for sub-commands that take none.
func (o *policyOptions) againBare(command string) string {
	bare := *o
	bare.data = nil
	return bare.again(command)
}
