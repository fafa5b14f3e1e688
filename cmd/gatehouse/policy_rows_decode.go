package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// dailyFields are the keys of a row and where their texts go.
var dailyFields = map[string]func(*dailyRow) *string{
	"effect":  func(r *dailyRow) *string { return &r.Effect },
	"tool":    func(r *dailyRow) *string { return &r.Tool },
	"pattern": func(r *dailyRow) *string { return &r.Pattern },
	"folder":  func(r *dailyRow) *string { return &r.Folder },
	"reason":  func(r *dailyRow) *string { return &r.Reason },
	"added":   func(r *dailyRow) *string { return &r.Added },
}

// Names of the top-level keys of rules.toml.
const (
	dailyVersionKey = "daily_version"
	dailyRulesKey   = "daily_rules"
)

// isDaily reports whether a data file means to hold daily rules, however its keys
// are spelt.
func isDaily(document map[string]any) bool {
	for name := range document {
		if strings.HasPrefix(strings.ToLower(name), "daily_") {
			return true
		}
	}
	return false
}

// decodeDaily reads the text of rules.toml.
func decodeDaily(path, text string) ([]dailyRow, error) {
	document, err := parseDocument(path, text)
	if err != nil {
		return nil, err
	}
	return dailyRows(path, document)
}

// dailyRows reads rows strictly: a misspelt key could make a narrow row a wide
// one, and a misspelt value a row that is never met.
func dailyRows(path string, document map[string]any) ([]dailyRow, error) {
	for _, name := range slices.Sorted(maps.Keys(document)) {
		if name != dailyVersionKey && name != dailyRulesKey {
			return nil, fmt.Errorf("%s: unknown key %q; it holds %s and %s only, and other data belongs in a file of its own", path, name, dailyVersionKey, dailyRulesKey)
		}
	}
	if version, ok := document[dailyVersionKey].(json.Number); !ok || version.String() != fmt.Sprint(dailyVersion) {
		return nil, fmt.Errorf("%s: want %s = %d", path, dailyVersionKey, dailyVersion)
	}
	list, ok := document[dailyRulesKey].([]any)
	if _, there := document[dailyRulesKey]; there && !ok {
		return nil, fmt.Errorf("%s: %s is no list of tables; begin each row with %s", path, dailyRulesKey, dailyRowsHead)
	}
	var rows []dailyRow
	for i, one := range list {
		row, err := dailyRowOf(one)
		if err != nil {
			return nil, fmt.Errorf("%s: row %d: %w", path, i+1, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func dailyRowOf(one any) (row dailyRow, err error) {
	table, ok := one.(map[string]any)
	if !ok {
		return row, errors.New("is no table")
	}
	for _, name := range slices.Sorted(maps.Keys(table)) {
		field, known := dailyFields[name]
		if !known {
			return row, fmt.Errorf("unknown key %q; a row has effect, tool, pattern, folder, reason and added", name)
		}
		text, ok := table[name].(string)
		if !ok {
			return row, fmt.Errorf("%s is no text", name)
		}
		*field(&row) = text
	}
	if !slices.Contains([]string{"allow", "ask", "deny"}, row.Effect) || row.Tool == "" {
		return row, errors.New("want effect allow, ask or deny, and a tool")
	}
	return row, row.written()
}

// repeatsTool finds a pattern that begins with its tool, as in Bash(make *).
var repeatsTool = regexp.MustCompile(`^([A-Z][A-Za-z]+|mcp__[A-Za-z0-9_-]+)\(.*\)$`)

// written refuses a row that would silently never be met.
func (r dailyRow) written() error {
	if err := r.plain(r.Tool, r.Pattern, r.Folder); err != nil {
		return err
	}
	bare := r
	if bare.Pattern == "*" {
		bare.Pattern = ""
	}
	if bare.Tool == "Task" {
		bare.Tool = "Agent"
	}
	switch {
	case strings.TrimSpace(r.Pattern) != r.Pattern:
		return fmt.Errorf("pattern %q has blanks around it", r.Pattern)
	case repeatsTool.MatchString(r.Pattern):
		return fmt.Errorf("pattern %q repeats the tool; write what stands in the brackets", r.Pattern)
	}
	return bare.meaning()
}

// checkFolder refuses a folder that no session's would be below.
func (r dailyRow) checkFolder() error {
	switch {
	case r.Folder == "":
		return nil
	case !filepath.IsAbs(r.Folder) || filepath.Clean(r.Folder) != r.Folder || filepath.Dir(r.Folder) == r.Folder:
		return fmt.Errorf("rule %q: folder %q is not absolute and clean: no ~, no slash at the end, no . and ..; leave it out for all folders", r, r.Folder)
	}
	return nil
}
