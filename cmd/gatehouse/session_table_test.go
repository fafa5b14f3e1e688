package main

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// A table fits the terminal as long as the columns that say which session it is do.
func TestSqueezed(t *testing.T) {
	for _, tt := range []struct {
		width, want int // columns that are left
		prompt      string
	}{
		{0, 8, strings.Repeat("p", 48)},
		{200, 8, strings.Repeat("p", 48)},
		{110, 8, strings.Repeat("p", 23) + "…"},
		{80, 7, strings.Repeat("p", 14) + "…"},
		{30, 7, strings.Repeat("p", 11) + "…"}, // there is no room: the least is shown
	} {
		rows := squeezed([][]string{
			{"ID", "STATE", "AGE", "TURNS", "COST", "FOLDER", "CLIENT", "PROMPT"},
			{"3f9c1a70", "error (server ended)", "59m", "1", "$0.03", "…/a/folder/with/a/long/name/here", "claude-code", strings.Repeat("p", 48)},
		}, tt.width)
		row := rows[1]
		if got := row[len(row)-1]; len(row) != tt.want || got != tt.prompt || row[0] != "3f9c1a70" {
			t.Errorf("width %d: %d columns, prompt %q, want %d, %q", tt.width, len(row), got, tt.want, tt.prompt)
		}
		var out strings.Builder
		printTable(&out, rows)
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); tt.width >= 80 && n > tt.width {
				t.Errorf("width %d: a line of %d", tt.width, n)
			}
		}
	}
}
