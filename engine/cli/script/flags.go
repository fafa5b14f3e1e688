package script

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
)

// flagKind says how an option of the real CLI takes values.
type flagKind int

const (
	boolFlag     flagKind = iota
	valueFlag             // exactly one
	optionalFlag          // one unless the next word is an option
	listFlag              // every word up to the next option
)

// knownFlags are the options of the real CLI that hosts use.
var knownFlags = map[string]flagKind{
	"--output-format": valueFlag, "--input-format": valueFlag, "--permission-prompt-tool": valueFlag,
	"--permission-mode": valueFlag, "--settings": valueFlag, "--managed-settings": valueFlag,
	"--setting-sources": valueFlag, "--max-turns": valueFlag, "--model": valueFlag, "--fallback-model": valueFlag,
	"--system-prompt": valueFlag, "--append-system-prompt": valueFlag, "--agent": valueFlag, "--agents": valueFlag,
	"--max-budget-usd": valueFlag, "--effort": valueFlag, "--json-schema": valueFlag, "--thinking": valueFlag,
	"--max-thinking-tokens": valueFlag, "--thinking-display": valueFlag, "--debug-file": valueFlag,
	"--resume-session-at": valueFlag, "--session-id": valueFlag, "--task-budget": valueFlag, "--plugin-dir": valueFlag,
	"--mcp-config": listFlag, "--allowedTools": listFlag, "--allowed-tools": listFlag, "--disallowedTools": listFlag,
	"--disallowed-tools": listFlag, "--tools": listFlag, "--add-dir": listFlag, "--betas": listFlag,
	"--resume": optionalFlag, "-r": optionalFlag, "--debug": optionalFlag, "-d": optionalFlag,
	"--verbose": boolFlag, "--strict-mcp-config": boolFlag, "--no-session-persistence": boolFlag,
	"--include-partial-messages": boolFlag, "--fork-session": boolFlag, "--replay-user-messages": boolFlag,
	"--include-hook-events": boolFlag, "--session-mirror": boolFlag, "--dangerously-skip-permissions": boolFlag,
	"--allow-dangerously-skip-permissions": boolFlag, "--continue": boolFlag, "-c": boolFlag, "--bare": boolFlag,
	"--print": boolFlag, "-p": boolFlag, "--version": boolFlag, "-v": boolFlag,
}

// aliases maps short and alternative spellings to the names the code asks for.
var aliases = map[string]string{
	"-r": "--resume", "-d": "--debug", "-c": "--continue", "-p": "--print", "-v": "--version",
	"--allowed-tools": "--allowedTools", "--disallowed-tools": "--disallowedTools",
}

// cliError is an error in the words the real CLI prints.
type cliError string

func (e cliError) Error() string { return string(e) }

// options is a parsed command line.
type options struct {
	args   []string
	values map[string][]string
}

func parseFlags(args []string) (options, error) {
	o := options{args: args, values: map[string][]string{}}
	for i := 0; i < len(args); {
		name, value, joined := strings.Cut(args[i], "=")
		i++
		kind, known := knownFlags[name]
		switch {
		case !strings.HasPrefix(name, "-"):
			continue // a positional prompt; stream-json input ignores it
		case !known:
			return o, cliError("error: unknown option '" + name + "'")
		}
		values := []string{value}
		if !joined {
			values = nil
			for kind != boolFlag && i < len(args) && (kind == valueFlag || !strings.HasPrefix(args[i], "-")) {
				values = append(values, args[i])
				i++
				if kind != listFlag {
					break
				}
			}
			if kind == valueFlag && values == nil {
				return o, cliError("error: option '" + name + " <value>' argument missing")
			}
		}
		if alias, ok := aliases[name]; ok {
			name = alias
		}
		o.values[name] = append(o.values[name], values...)
		if values == nil {
			o.values[name] = append(o.values[name], "")
		}
	}
	return o, nil
}

func (o options) has(name string) bool { return o.values[name] != nil }

// get returns the last value of an option.
func (o options) get(name string) string {
	if v := o.values[name]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

// rules splits every value of a tool option into rules; commas inside
// parentheses do not separate.
func (o options) rules(name string) []string {
	var rules []string
	for _, v := range o.values[name] {
		depth, start := 0, 0
		for i, r := range v + "," {
			switch {
			case r == '(':
				depth++
			case r == ')':
				depth--
			case r == ',' && depth == 0:
				if rule := strings.TrimSpace(v[start:i]); rule != "" {
					rules = append(rules, rule)
				}
				start = i + 1
			}
		}
	}
	return rules
}

var uuidPattern = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// check refuses what the real CLI refuses at start.
func (o options) check() error {
	if o.get("--output-format") == "stream-json" && !o.has("--verbose") {
		return cliError("Error: When using --print, --output-format=stream-json requires --verbose")
	}
	if id := o.get("--session-id"); id != "" && !uuidPattern.MatchString(id) {
		return cliError("Error: Invalid session ID. Must be a valid UUID.")
	}
	for _, name := range []string{"--settings", "--managed-settings"} {
		if _, err := o.settings(name); err != nil {
			return err
		}
	}
	return nil
}

// isolated reports whether no settings file is loaded.
func (o options) isolated() bool {
	return o.has("--setting-sources") && o.get("--setting-sources") == ""
}

// settings reads a JSON option, given inline or as the name of a file.
func (o options) settings(name string) (map[string]any, error) {
	text := o.get(name)
	if text == "" {
		return nil, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		data, err := os.ReadFile(text)
		if err != nil {
			return nil, cliError("Error: Settings file not found: " + text)
		}
		text = string(data)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		return nil, cliError("Error: Invalid JSON provided to " + name)
	}
	return m, nil
}

// hidden reports whether the tool is off the list: denied by its bare name or
// not among --tools.
func (o options) hidden(tool string) bool {
	if slices.Contains(o.rules("--disallowedTools"), tool) {
		return true
	}
	if !o.has("--tools") || o.get("--tools") == "default" || strings.HasPrefix(tool, "mcp__") {
		return false
	}
	return !slices.Contains(o.rules("--tools"), tool)
}
