package main

import (
	"encoding/json"
	"slices"
	"strings"
)

// explainedCall is what the next step reads of a document.
type explainedCall struct {
	Schema string `json:"schema"`
	Tool   struct {
		Name string `json:"name"`
	} `json:"tool"`
	Bash struct {
		OK       bool `json:"ok"`
		Commands []struct {
			Text           string            `json:"text"`
			Static         bool              `json:"static"`
			InSubstitution bool              `json:"in_substitution"`
			Env            []json.RawMessage `json:"env"`
			Redirects      []json.RawMessage `json:"redirects"`
			Via            []json.RawMessage `json:"via"`
		} `json:"commands"`
	} `json:"bash"`
	Paths []struct {
		Abs string `json:"abs"`
	} `json:"paths"`
	URL struct {
		Host string `json:"host"`
	} `json:"url"`
}

// allowable returns a rule for gatehouse policy allow for each part of a call;
// none when one part can have none: an allow counts when it covers all of them.
func allowable(document json.RawMessage) (rules []string) {
	var call explainedCall
	if json.Unmarshal(document, &call) != nil || !strings.HasPrefix(call.Schema, "permission/") {
		return nil
	}
	switch {
	case call.Tool.Name == "Bash" && !call.Bash.OK:
		return nil
	case call.Tool.Name == "Bash":
		for _, c := range call.Bash.Commands {
			if !c.Static || c.InSubstitution || len(c.Env)+len(c.Redirects)+len(c.Via) > 0 {
				return nil // a rule names the words of a command and nothing beside them
			}
			rules = append(rules, c.Text)
		}
	case slices.Contains(fileTools, call.Tool.Name):
		for _, p := range call.Paths {
			rules = append(rules, call.Tool.Name+"(/"+p.Abs+")")
		}
	case call.Tool.Name == "WebFetch":
		rules = []string{"WebFetch(domain:" + call.URL.Host + ")"}
	default:
		rules = []string{call.Tool.Name}
	}
	slices.Sort(rules)
	rules = slices.Compact(rules)
	if slices.ContainsFunc(rules, func(rule string) bool { return !accepted(rule, call.Tool.Name) }) {
		return nil
	}
	return rules
}

// accepted reports a rule for the tool that gatehouse policy allow would take.
func accepted(rule, tool string) bool {
	row, err := parseDaily(rule, "")
	return err == nil && row.Tool == tool && row.tooWide() == "" && row.matchesNothing() == ""
}

// allowCommands are the commands that write these rules, one for each.
func allowCommands(rules []string) []string {
	commands := make([]string, len(rules))
	for i, rule := range rules {
		commands[i] = "gatehouse policy allow " + shellWord(rule)
	}
	return commands
}

// nextStep follows from the answer: rules for what nothing spoke about, else the tests.
func (x *explanation) nextStep(out explainResult, rules []string) nextStep {
	if out.Rule == "engine.default" && out.Effect == "ask" && len(rules) > 0 {
		words := make([]string, len(rules))
		for i, rule := range rules {
			words[i] = shellWord(rule)
		}
		return nextStep{"gatehouse policy allow " + strings.Join(words, " "), "shows what that would change before it writes anything"}
	}
	bare := policyOptions{options: options{config: x.o.config, profile: x.o.profile}, flags: x.o.flags}
	return nextStep{bare.again("test"), "once the rules say what you want"}
}
