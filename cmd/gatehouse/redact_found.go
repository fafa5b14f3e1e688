package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/redact"
)

// foundSecret is an object of --json: where something was covered, never what.
type foundSecret struct {
	File     string  `json:"file"`              // "-": standard input
	Line     int     `json:"line"`              // from 1; of a JSON document that where it begins
	Column   int     `json:"column,omitempty"`  // from 1, in characters; 0: JSON
	Pointer  *string `json:"pointer,omitempty"` // RFC 6901, into the document; nil: text
	Detector string  `json:"detector"`
	Count    int     `json:"count"`
}

// tell reports what was found, if somebody wants to know.
func (r *redaction) tell(all []foundSecret) {
	for _, f := range all {
		r.secrets += f.Count
		switch {
		case r.o.json:
			_ = r.printJSON(f) // a broken output is told at the end
		case r.o.check:
			fmt.Fprintln(r.stdout, f)
		case r.o.report:
			fmt.Fprintln(r.stderr, f)
		}
	}
}

// String is one line, as compilers write them.
func (f foundSecret) String() string {
	where := fmt.Sprintf("%s:%d", shown(f.File), f.Line)
	if f.Pointer != nil {
		where += " " + *f.Pointer
	} else {
		where += fmt.Sprintf(":%d", f.Column)
	}
	line := where + ": " + f.Detector
	if f.Count > 1 {
		line += fmt.Sprintf(" (%d times)", f.Count)
	}
	return escapeControl(line)
}

// pointersOf are the findings in a document that begins on a line.
func pointersOf(name string, line int, findings []redact.Finding) (all []foundSecret) {
	for _, f := range findings {
		all = append(all, foundSecret{File: name, Line: line, Pointer: &f.Pointer, Detector: f.Detector, Count: f.Count})
	}
	return all
}

// placesOf finds where in a text the secrets are.
func (r *redaction) placesOf(name, text string) (all []foundSecret) {
	at, done := position{line: 1, column: 1}, 0
	for _, span := range r.scanner.Finds(text) {
		at.advance(text[done:span.From])
		all = at.add(all, name, span.Detector)
		done = span.From
	}
	return all
}

// position is a place in a text.
type position struct{ line, column int }

func (p *position) advance(text string) {
	if n := strings.Count(text, "\n"); n > 0 {
		p.line += n
		p.column, text = 1, text[strings.LastIndexByte(text, '\n')+1:]
	}
	p.column += utf8.RuneCountInString(text)
}

// add appends a secret at p; equal ones of a line are counted together.
func (p *position) add(all []foundSecret, name, detector string) []foundSecret {
	for i := len(all) - 1; i >= 0 && all[i].Line == p.line; i-- {
		if all[i].Detector == detector {
			all[i].Count++
			return all
		}
	}
	return append(all, foundSecret{File: name, Line: p.line, Column: p.column, Detector: detector, Count: 1})
}
