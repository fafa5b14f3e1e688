package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"
)

// Columns of the table that give way in a narrow terminal.
const (
	folderColumn = 5
	clientColumn = 6
	promptColumn = 7
)

// Widths of these columns, in characters: where there is room, and the least
// before the next one gives way.
const (
	folderWidth, leastFolder = 32, 12
	clientWidth              = 16
	promptWidth, leastPrompt = 48, 24
	shortPrompt              = 12 // without a column for the client
)

// listTable shows sessions in a line each, no wider than the terminal, if out is one.
func (c *command) listTable(all []keptSession, short int) {
	rows := [][]string{{"ID", "STATE", "AGE", "TURNS", "COST", "FOLDER", "CLIENT", "PROMPT"}}
	now := time.Now()
	for _, s := range all {
		rows = append(rows, []string{
			escapeControl(s.ID[:min(short, len(s.ID))]), escapeControl(s.word()), oneUnit(now.Sub(s.Updated)),
			fmt.Sprint(s.Turns), fmt.Sprintf("$%.2f", s.CostUSD),
			cutLeft(escapeControl(c.env.shortened(s.Cwd)), folderWidth), cmp.Or(cut(escapeControl(s.Client), clientWidth), "-"),
			cut(escapeControl(strings.Join(strings.Fields(s.Title), " ")), promptWidth),
		})
	}
	printTable(c.stdout, squeezed(rows, terminalWidth(c.stdout)))
}

func printTable(out io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	t.Flush() // an error is stdout's, which keeps it
}

// squeezed makes a table fit a width, as far as it can: the prompt is cut first,
// then the folder; else the column of the client goes. 0: no bound.
func squeezed(rows [][]string, width int) [][]string {
	fits := func(rows [][]string) bool { return width <= 0 || tableWidth(rows) <= width }
	shrink := func(rows [][]string, column, least int, cut func(string, int) string) {
		if over := tableWidth(rows) - width; width > 0 && over > 0 {
			to := max(columnWidth(rows, column)-over, least)
			for _, row := range rows {
				row[column] = cut(row[column], to)
			}
		}
	}
	whole, without := make([][]string, len(rows)), make([][]string, len(rows))
	for i, row := range rows {
		whole[i] = slices.Clone(row)
		without[i] = slices.Delete(slices.Clone(row), clientColumn, clientColumn+1)
	}
	shrink(whole, promptColumn, leastPrompt, cut)
	shrink(whole, folderColumn, leastFolder, cutLeft)
	if fits(whole) {
		return whole
	}
	shrink(without, promptColumn-1, leastPrompt, cut)
	shrink(without, folderColumn, leastFolder, cutLeft)
	shrink(without, promptColumn-1, shortPrompt, cut)
	return without
}

// tableWidth is that of the longest possible line, with two blanks between columns.
func tableWidth(rows [][]string) (width int) {
	for i := range rows[0] {
		width += columnWidth(rows, i) + 2
	}
	return width - 2
}

func columnWidth(rows [][]string, column int) (width int) {
	for _, row := range rows {
		width = max(width, utf8.RuneCountInString(row[column]))
	}
	return width
}

// cutLeft shortens s to width and keeps its end, which tells folders apart.
func cutLeft(s string, width int) string {
	if runes := []rune(s); len(runes) > width {
		return "…" + string(runes[len(runes)-width+1:])
	}
	return s
}
