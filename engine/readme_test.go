package engine

import (
	"os"
	"strings"
	"testing"
)

// TestReadmeTellsTheStateTable compares the README's table with transitions.
func TestReadmeTellsTheStateTable(t *testing.T) {
	raw, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[State]string{Starting: "Starting", Running: "Running", Waiting: "Waiting", Idle: "Idle", Failed: "Failed", Cancelled: "Cancelled"}
	header := []string{"state", "on the wire"}
	for tr := range triggers {
		header = append(header, tr.String())
	}
	rows := []string{"| " + strings.Join(header, " | ") + " |"}
	for _, s := range states {
		cells := []string{names[s], "`" + s.String() + "`"}
		for tr := range triggers {
			next, err := s.after(tr)
			cell := names[next]
			if err != nil {
				cell = "–"
			}
			cells = append(cells, cell)
		}
		rows = append(rows, "| "+strings.Join(cells, " | ")+" |")
	}
	for _, row := range rows {
		if !strings.Contains(string(raw), row) {
			t.Errorf("README lacks the row\n%s", row)
		}
	}
}
