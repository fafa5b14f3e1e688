package main

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// propose finds rules for questions.
func (g *gathered) propose(open []*auditedAsk) (all []proposal, unfit int) {
	byRule := map[string][]*auditedAsk{}
	for _, q := range open {
		rules := q.rules()
		if len(rules) == 0 {
			unfit++
		}
		for _, rule := range rules {
			byRule[rule] = append(byRule[rule], q)
		}
	}
	widen(byRule)
	for rule, questions := range byRule {
		row, err := parseDaily(rule, "")
		row.Effect = "allow"
		if err != nil || row.tooWide()+row.matchesNothing() != "" {
			unfit += len(questions)
			continue
		}
		all = append(all, g.proposal(row, questions))
	}
	slices.SortFunc(all, func(x, y proposal) int {
		return cmp.Or(cmp.Compare(breadth(x.row), breadth(y.row)), cmp.Compare(y.Avoids, x.Avoids), strings.Compare(x.Rule, y.Rule))
	})
	return all[:min(len(all), maxProposals)], unfit
}

// rules are the exact rules that together cover a call; none where none would.
func (q *auditedAsk) rules() (rules []string) {
	input := q.call.Tool.Input
	switch tool := q.call.Tool.Name; {
	case tool == "Bash":
		for _, part := range q.parts {
			if rule := "Bash(" + part + ")"; !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	case strings.HasPrefix(tool, "mcp__"):
		rules = []string{tool}
	case tool == "WebFetch":
		if host := hostOf(input); host != "" {
			rules = []string{"WebFetch(domain:" + host + ")"}
		}
	case tool == "WebSearch":
		rules = []string{tool}
	case slices.Contains([]string{"Edit", "Write", "MultiEdit", "NotebookEdit"}, tool):
		if path := q.editedPath(); path != "" {
			rules = []string{"Edit(/" + path + ")"}
		}
	}
	return rules
}

// editedPath is the file of an edit, relative to the session's folder; empty
// where it is not below it, or is spelt with what patterns read as something else.
func (q *auditedAsk) editedPath() string {
	path, _ := q.call.Tool.Input["file_path"].(string)
	if path == "" {
		path, _ = q.call.Tool.Input["notebook_path"].(string)
	}
	if rel, err := filepath.Rel(q.call.Session.Cwd, path); err == nil && filepath.IsLocal(rel) && !strings.ContainsAny(rel, `*?[]{}\!`) {
		return filepath.ToSlash(rel)
	}
	return ""
}

func hostOf(input map[string]any) string {
	address, _ := input["url"].(string)
	_, rest, found := strings.Cut(address, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !found || strings.ContainsAny(host, "@:*?#[]") {
		return ""
	}
	return strings.ToLower(host)
}

// widen puts `cmd sub *` in the place of many exact rules of one sub-command, and
// a folder in the place of many files.
func widen(byRule map[string][]*auditedAsk) {
	groups := map[string][]string{}
	for rule := range byRule {
		text, ok := strings.CutPrefix(rule, "Bash(")
		words := strings.Fields(strings.TrimSuffix(text, ")"))
		if ok && len(words) > 2 && !strings.HasPrefix(words[1], "-") {
			key := "Bash(" + words[0] + " " + words[1] + " *)"
			groups[key] = append(groups[key], rule)
		}
		if file, ok := strings.CutPrefix(rule, "Edit("); ok && strings.Count(file, "/") > 1 {
			key := "Edit(" + file[:strings.LastIndexByte(file, '/')] + "/**)"
			groups[key] = append(groups[key], rule)
		}
	}
	for wide, rules := range groups {
		row, err := parseDaily(wide, "")
		if row.Effect = "allow"; err != nil || row.tooWide() != "" || len(rules) < wideFrom {
			continue
		}
		for _, rule := range rules {
			for _, q := range byRule[rule] {
				if !slices.Contains(byRule[wide], q) {
					byRule[wide] = append(byRule[wide], q)
				}
			}
			delete(byRule, rule)
		}
	}
}

// breadth orders proposals: exact ones before those with a star.
func breadth(r dailyRow) int {
	if strings.Contains(r.Pattern, "*") || r.Pattern == "" {
		return 1
	}
	return 0
}

func (g *gathered) proposal(row dailyRow, questions []*auditedAsk) proposal {
	p := proposal{Rule: row.String(), Avoids: len(questions), row: row}
	calls, folders := map[string]bool{}, map[string]bool{}
	for _, q := range questions {
		if g.answers[q.id] == "" {
			p.Unknown++
		}
		calls[q.call.summary()], folders[q.call.Session.Cwd] = true, true
	}
	p.Calls = slices.Sorted(maps.Keys(calls))
	p.Calls = p.Calls[:min(len(p.Calls), maxExamples)]
	argument := row.String()
	if row.Tool == "Bash" {
		argument = row.Pattern
	}
	p.Command = "gatehouse policy allow " + shellQuoted(argument)
	if folder := slices.Collect(maps.Keys(folders)); len(folder) == 1 {
		p.Folder = folder[0]
	}
	p.Also = row.also()
	return p
}

// also says what a rule lets through besides the calls it was made of.
func (r dailyRow) also() string {
	fixed, _, starred := strings.Cut(r.Pattern, "*")
	switch {
	case r.Tool == "Bash" && starred:
		return fmt.Sprintf("%s with any other arguments", strings.TrimSpace(fixed))
	case r.Tool == "Bash":
		return ""
	case r.Tool == "WebFetch":
		return "every address of that host"
	case r.Tool == "Edit":
		return "any edit of it, in the folder of every session"
	}
	return "this tool with any arguments"
}

// shellQuoted quotes a word for a POSIX shell.
func shellQuoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
