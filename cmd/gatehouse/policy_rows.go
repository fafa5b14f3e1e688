package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
)

// dailyRow is one rule of rules.toml.
type dailyRow struct {
	Effect  string `toml:"effect" json:"effect"`   // allow, ask or deny
	Tool    string `toml:"tool" json:"tool"`       // as the CLI spells it
	Pattern string `toml:"pattern" json:"pattern"` // empty: every call of the tool
	Folder  string `toml:"folder" json:"folder,omitempty"`
	Reason  string `toml:"reason" json:"reason,omitempty"`
	Added   string `toml:"added" json:"added,omitempty"` // day, for people
}

// String writes the rule as the CLI does.
func (r dailyRow) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

// same reports whether two rows do the same.
func (r dailyRow) same(o dailyRow) bool {
	return r.Effect == o.Effect && r.Tool == o.Tool && r.Pattern == o.Pattern && r.Folder == o.Folder
}

// Bounds of rules.toml.
const (
	maxDailyRows  = 500
	maxDailyText  = 500 // characters of one value
	dailyVersion  = 1
	dailyRowsHead = "[[daily_rules]]"
)

// dailyIntro begins a new rules.toml.
const dailyIntro = `# Your own rules for tool calls. gatehouse policy allow, deny and import add to
# them, gatehouse policy rules lists and removes them; editing by hand is fine.
# daily.rego beside this file applies them and says how a pattern is read.
daily_version = 1
`

// dailyFile is the text of rules.toml and the rows in it.
type dailyFile struct {
	path string
	text string
	rows []dailyRow
}

// readDaily reads rules.toml; one that is not there has no rows.
func readDaily(path string) (*dailyFile, error) {
	f := &dailyFile{path: path, text: dailyIntro}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err := checkOwner(path); err != nil {
		return nil, err
	}
	text, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	f.text = text
	f.rows, err = decodeDaily(path, text)
	return f, err
}

// with returns the file with rows added at its end.
func (f *dailyFile) with(rows ...dailyRow) (*dailyFile, error) {
	if len(f.rows)+len(rows) > maxDailyRows {
		return nil, fmt.Errorf("%s: has %s, and with %d more that is above the %d it may have; remove some (gatehouse policy rules --remove N), or take over the most important only: move the others out of the settings file, or name another file", f.path, counted(len(f.rows), "row"), len(rows), maxDailyRows)
	}
	text := f.text
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	for _, r := range rows {
		text += "\n" + r.toml()
	}
	return f.checked(text, slices.Concat(f.rows, rows))
}

// without returns the file without row number n, from 1.
func (f *dailyFile) without(n int) (*dailyFile, error) {
	lines := strings.SplitAfter(f.text, "\n")
	start, end, seen := -1, len(lines), 0
	for i, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "[") {
			continue
		}
		if strings.HasPrefix(strings.ReplaceAll(line, " ", ""), dailyRowsHead) {
			seen++
		}
		if start >= 0 {
			end = i
			break
		}
		if seen == n {
			start = i
		}
	}
	if start < 0 {
		return nil, fmt.Errorf("%s: row %d was not found; edit the file by hand", f.path, n)
	}
	text := strings.TrimRight(strings.Join(lines[:start], ""), "\n") + "\n"
	if rest := strings.Join(lines[end:], ""); rest != "" {
		text += "\n" + rest
	}
	return f.checked(text, slices.Delete(slices.Clone(f.rows), n-1, n))
}

// checked makes sure that an edited text says what was meant.
func (f *dailyFile) checked(text string, want []dailyRow) (*dailyFile, error) {
	rows, err := decodeDaily(f.path, text)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(rows, want) && len(rows)+len(want) > 0 {
		return nil, fmt.Errorf("%s: is written in a way that cannot be edited here; edit it by hand", f.path)
	}
	return &dailyFile{path: f.path, text: text, rows: rows}, nil
}

// toml writes a row as it stands in the file.
func (r dailyRow) toml() string {
	var b strings.Builder
	b.WriteString(dailyRowsHead + "\n")
	for _, field := range []struct{ name, value string }{
		{"effect", r.Effect}, {"tool", r.Tool}, {"pattern", r.Pattern},
		{"folder", r.Folder}, {"reason", r.Reason}, {"added", r.Added},
	} {
		if field.value != "" {
			fmt.Fprintf(&b, "%s = %s\n", field.name, quotedText(field.value))
		}
	}
	return b.String()
}

// quotedText quotes text as a TOML string.
func quotedText(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// writePrivate replaces a file as a whole, readable by its owner only. Where it
// is a link, what it leads to is replaced.
func writePrivate(path, text string) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return regular.Replace(path, []byte(text))
}
