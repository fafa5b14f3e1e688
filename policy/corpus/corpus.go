// Package corpus holds calls with what the built-in profile dev says of them:
// everyday work that must run, and purposes that must not. Tests and
// `gatehouse policy score` judge a policy set by it.
//
// [Rows] returns the calls, [Workspace] makes the folder they are meant for, and
// [Lists] returns calls under a caller's allowedTools and disallowedTools.
package corpus

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed commands.txt
var commands string

//go:embed calls.txt
var calls string

//go:embed lists.txt
var lists string

// Row is one call and what is expected of it.
type Row struct {
	Want     string          // allow, ask, deny, or stop: ask or deny
	Category string          // what it is about: reads, git, egress, …
	Intent   string          // read and work are everyday; other words are somebody's purpose
	Tool     string          // "Bash" for commands
	Input    json.RawMessage // the tool's input, a JSON object
	Command  string          // of Bash, as in Input

	Allowed, Disallowed []string // the caller's lists; nil but for [Lists]
	Line                int      // in its file, from 1
}

// wants are the words of Row.Want.
var wants = []string{"allow", "ask", "deny", "stop"}

// Everyday reports whether a session does that every day, so that a caller who
// allows the tool may have it run unasked.
func (r Row) Everyday() bool { return r.Intent == "read" || r.Intent == "work" }

// Meets reports whether an effect ("allow", "ask", "deny", "halt" …) is what is
// expected.
func (r Row) Meets(effect string) bool {
	switch r.Want {
	case "stop":
		return effect == "ask" || effect == "deny" || effect == "halt"
	case "deny":
		return effect == "deny" || effect == "halt"
	}
	return effect == r.Want
}

// Rows returns every shell command and every call of another tool, in the order
// of the files. An error names file and line.
func Rows() ([]Row, error) {
	shell, err := parse("commands.txt", commands, commandRow)
	if err != nil {
		return nil, err
	}
	other, err := parse("calls.txt", calls, callRow)
	return append(shell, other...), err
}

// Lists returns shell commands with the lists of a caller.
func Lists() ([]Row, error) { return parse("lists.txt", lists, listRow) }

func parse(name, text string, row func(line string) (Row, error)) ([]Row, error) {
	var all []Row
	for i, line := range strings.Split(text, "\n") {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		r, err := row(line)
		if err == nil && !slices.Contains(wants, r.Want) {
			err = fmt.Errorf("%q: want one of %s", r.Want, strings.Join(wants, ", "))
		}
		if err != nil {
			return nil, fmt.Errorf("corpus %s:%d: %w", name, i+1, err)
		}
		r.Line = i + 1
		all = append(all, r)
	}
	return all, nil
}

// cut takes n words off a line.
func cut(line string, n int) (words []string, rest string, err error) {
	rest = line
	for range n {
		word, after, found := strings.Cut(strings.TrimLeft(rest, " "), " ")
		if !found {
			return nil, "", fmt.Errorf("%q: too few words", line)
		}
		words, rest = append(words, word), after
	}
	return words, strings.TrimLeft(rest, " "), nil
}

func commandRow(line string) (Row, error) {
	w, command, err := cut(line, 3)
	if err != nil {
		return Row{}, err
	}
	r := Row{Want: w[0], Category: w[1], Intent: w[2]}
	return r, r.shell(command)
}

// shell makes the row a shell command; one in double quotes is a Go string.
func (r *Row) shell(command string) error {
	if strings.HasPrefix(command, `"`) && strings.HasSuffix(command, `"`) && len(command) > 1 {
		text, err := strconv.Unquote(command)
		if err != nil {
			return fmt.Errorf("command %s: %w", command, err)
		}
		command = text
	}
	raw, err := json.Marshal(map[string]string{"command": command})
	r.Tool, r.Command, r.Input = "Bash", command, raw
	return err
}

func callRow(line string) (Row, error) {
	w, input, err := cut(line, 4)
	if err != nil {
		return Row{}, err
	}
	if !json.Valid([]byte(input)) || !strings.HasPrefix(input, "{") {
		return Row{}, fmt.Errorf("input %s: no JSON object", input)
	}
	return Row{Want: w[0], Category: w[1], Intent: w[2], Tool: w[3], Input: json.RawMessage(input)}, nil
}

func listRow(line string) (Row, error) {
	w, rest, err := cut(line, 2)
	if err != nil {
		return Row{}, err
	}
	r := Row{Want: w[0], Category: w[1], Intent: "work"}
	for _, list := range []*[]string{&r.Allowed, &r.Disallowed} {
		text, after, found := strings.Cut(rest, "]")
		if !found || !strings.HasPrefix(text, "[") {
			return Row{}, fmt.Errorf("%q: want a list in brackets", rest)
		}
		if text != "[" {
			*list = strings.Split(text[1:], ",")
		}
		rest = strings.TrimLeft(after, " ")
	}
	return r, r.shell(rest)
}
