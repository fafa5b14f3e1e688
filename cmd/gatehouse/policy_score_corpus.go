package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/policy/corpus"
)

// corpusRows reads a corpus: the built-in one, or a file of JSON objects.
func corpusRows(file string) ([]corpus.Row, error) {
	if file == "" {
		return corpus.Rows()
	}
	text, err := regular.Read(file, maxCorpusBytes)
	if err != nil {
		return nil, fmt.Errorf("corpus: %w", err)
	}
	var rows []corpus.Row
	scan := bufio.NewScanner(bytes.NewReader(text))
	scan.Buffer(nil, maxCorpusBytes)
	for n := 1; scan.Scan(); n++ {
		if len(bytes.TrimSpace(scan.Bytes())) == 0 {
			continue
		}
		row, err := corpusRow(scan.Bytes())
		if err != nil {
			return nil, fmt.Errorf("corpus %s:%d: %w", file, n, err)
		}
		if rows = append(rows, row); len(rows) > maxCorpusRows {
			return nil, fmt.Errorf("corpus %s: more than %d rows", file, maxCorpusRows)
		}
	}
	return rows, scan.Err()
}

func corpusRow(line []byte) (corpus.Row, error) {
	var in struct {
		Want, Category, Intent, Command, Tool string
		Input                                 json.RawMessage
		Allowed, Disallowed                   []string
	}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return corpus.Row{}, err
	}
	r := corpus.Row{Want: in.Want, Category: in.Category, Intent: in.Intent, Tool: in.Tool, Input: in.Input, Command: in.Command, Allowed: in.Allowed, Disallowed: in.Disallowed}
	switch {
	case !slices.Contains([]string{"allow", "ask", "deny", "stop"}, in.Want):
		return r, fmt.Errorf("want %q: unknown, want one of allow, ask, deny, stop", in.Want)
	case in.Command != "" && in.Tool == "" && in.Input == nil:
		r.Tool = "Bash"
		raw, err := json.Marshal(map[string]string{"command": in.Command})
		r.Input = raw
		return r, err
	case in.Command != "" || in.Tool == "" || !strings.HasPrefix(strings.TrimSpace(string(in.Input)), "{"):
		return r, errors.New("want command, or tool and input (an object)")
	}
	return r, nil
}

// Bounds of a corpus of one's own.
const (
	maxCorpusBytes = 16 << 20
	maxCorpusRows  = 100_000
)
