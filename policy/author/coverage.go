package author

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/open-policy-agent/opa/v1/cover"
)

// Coverage says which lines of the policies the tests reached. Tests and the
// library of tests are left out.
type Coverage struct {
	Percent float64       `json:"percent"` // of all lines that can be reached, 0 to 100; 100 when there are none
	Files   []FileCovered `json:"files"`   // by name
}

// FileCovered is the coverage of one file.
type FileCovered struct {
	File      string  `json:"file"`
	Percent   float64 `json:"percent"`
	Lines     int     `json:"lines"`     // that can be reached
	Uncovered []Lines `json:"uncovered"` // that no test reached
}

// Lines are lines that follow each other, both ends included, from 1.
type Lines struct {
	From int `json:"from"`
	To   int `json:"to"`
}

// coverage counts whole lines: a line is covered when everything on it is.
func (p *program) coverage(seen *cover.Cover) *Coverage {
	report := seen.Report(p.parsed)
	c := &Coverage{Percent: 100, Files: []FileCovered{}}
	total, missed := 0, 0
	for _, name := range sorted(p.parsed) {
		if isTest(p.parsed[name]) || name == testingFile {
			continue
		}
		f := fileCovered(name, report.Files[name])
		c.Files = append(c.Files, f)
		total += f.Lines
		missed += f.Lines - covered(f)
	}
	if total > 0 {
		c.Percent = percent(total-missed, total)
	}
	return c
}

func fileCovered(name string, r *cover.FileReport) FileCovered {
	f := FileCovered{File: name, Percent: 100, Uncovered: []Lines{}}
	if r == nil {
		return f
	}
	missed := map[int]bool{}
	all := map[int]bool{}
	for _, span := range r.Covered {
		all[span.Start.Row] = true
	}
	for _, span := range r.NotCovered {
		all[span.Start.Row], missed[span.Start.Row] = true, true
	}
	f.Lines = len(all)
	for _, row := range sorted(missed) {
		if n := len(f.Uncovered); n > 0 && f.Uncovered[n-1].To == row-1 {
			f.Uncovered[n-1].To = row
		} else {
			f.Uncovered = append(f.Uncovered, Lines{row, row})
		}
	}
	if f.Lines > 0 {
		f.Percent = percent(f.Lines-len(missed), f.Lines)
	}
	return f
}

func covered(f FileCovered) int {
	n := f.Lines
	for _, l := range f.Uncovered {
		n -= l.To - l.From + 1
	}
	return n
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(whole) }

// String is 7, or 3-5.
func (l Lines) String() string {
	if l.From == l.To {
		return strconv.Itoa(l.From)
	}
	return fmt.Sprintf("%d-%d", l.From, l.To)
}

// Missed lists the uncovered lines as people write them: 3-5, 9.
func (f FileCovered) Missed() string {
	parts := make([]string, len(f.Uncovered))
	for i, l := range f.Uncovered {
		parts[i] = l.String()
	}
	return strings.Join(parts, ", ")
}
