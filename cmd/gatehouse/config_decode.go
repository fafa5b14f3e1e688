package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"
)

// maxConfigBytes bounds a configuration file.
const maxConfigBytes = 1 << 20

// maxLineSearch bounds how many lines are tried to find where a key stands.
const maxLineSearch = 2000

// places says for each key that was set where it stands, as "file:line", and for
// each table of an array (see element).
type places map[string]string

// decode reads the text of file over c and notes in at where its keys stand, of
// one that stands in several tables the first place. Unknown keys, spelling of
// case included, and wrong types are errors.
func (c *fileConfig) decode(file, text string, at places) error {
	var tree map[string]any
	meta, err := toml.Decode(text, &tree)
	if err != nil {
		return syntaxError(file, text, err)
	}
	where, seen := standing(file, text), map[string]int{}
	for _, key := range meta.Keys() {
		name := key.String()
		n := seen[name]
		seen[name]++
		if freeTable(name) {
			continue
		}
		want, ok := knownKeys[name]
		if !ok {
			return fmt.Errorf("%s: unknown key %q; the nearest known key is %q", where.of(name, n), name, nearestKey(name))
		}
		if got := typeOf(lookup(tree, key, n)); got != want {
			return fmt.Errorf("%s: key %q wants %s, found %s", where.of(name, n), name, want, got)
		}
		if n == 0 {
			at[name] = where.of(name, 0)
		}
		if want == tomlTables {
			at[element(name, n)] = where.of(name, n)
		}
	}
	if _, err := toml.Decode(text, c); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

// element names the n-th table of an array, from 0, in [places].
func element(key string, n int) string { return fmt.Sprintf("%s[%d]", key, n) }

// elements are the places of the first n tables of an array; one that is not known
// is taken for that of the table before.
func (at places) elements(key string, n int) []string {
	out, last := make([]string, n), at[key]
	for i := range out {
		last = cmp.Or(at[element(key, i)], last)
		out[i] = last
	}
	return out
}

// syntaxError names the place in a TOML or JSON text, with the line itself below.
func syntaxError(file, text string, err error) error {
	if parse, ok := errors.AsType[toml.ParseError](err); ok {
		return textError(file, text, parse.Position.Start, parse.Message)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return textError(file, text, int(syntax.Offset)-1, syntax.Error())
	}
	return fmt.Errorf("%s: %w", file, err)
}

// maxQuoted bounds the line of a file that is shown, in characters.
const maxQuoted = 200

// textError is an error at one byte of a text. A line's end belongs to the line.
func textError(file, text string, at int, message string) error {
	at = min(max(at, 0), len(text))
	start := strings.LastIndexByte(text[:at], '\n') + 1
	line, _, _ := strings.Cut(text[start:], "\n")
	return fmt.Errorf("%s:%d:%d: %s\n\t%s", file, strings.Count(text[:start], "\n")+1, utf8.RuneCountInString(text[start:at])+1, message,
		shorten(strings.TrimSpace(line), maxQuoted))
}

// lineTable holds the lines of a file at which keys stand, in their order.
type lineTable struct {
	file  string
	lines map[string][]int
}

// of is "file:line" of the n-th place of a key, from 0; the last one known when
// there are fewer, and the file alone when none is.
func (t lineTable) of(key string, n int) string {
	lines := t.lines[key]
	if len(lines) == 0 {
		return t.file
	}
	return fmt.Sprintf("%s:%d", t.file, lines[min(n, len(lines)-1)])
}

// standing finds the lines of all keys: each is the one after the longest
// beginning of the text that is valid without the key.
func standing(file, text string) lineTable {
	t := lineTable{file: file, lines: map[string][]int{}}
	lines := strings.SplitAfter(text, "\n")
	after := 0 // lines[:after] is valid, and its keys are in the table
	for n := 1; n <= min(len(lines), maxLineSearch); n++ {
		var tree map[string]any
		meta, err := toml.Decode(strings.Join(lines[:n], ""), &tree)
		if err != nil {
			continue
		}
		seen := map[string]int{}
		for _, key := range meta.Keys() {
			name := key.String()
			if seen[name]++; seen[name] > len(t.lines[name]) {
				t.lines[name] = append(t.lines[name], after+1)
			}
		}
		after = n
	}
	return t
}

// lookup returns the value of a key; of one that stands in the tables of an
// array, the n-th.
func lookup(tree map[string]any, key toml.Key, n int) any {
	values := []any{tree}
	for i, word := range key {
		var next []any
		for _, value := range values {
			if table, ok := value.(map[string]any); ok && table[word] != nil {
				next = append(next, table[word])
			}
		}
		if values = next; i < len(key)-1 {
			values = elements(values)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return values[min(n, len(values)-1)]
}

// elements puts the tables of arrays in the place of the arrays.
func elements(values []any) (out []any) {
	for _, value := range values {
		switch v := value.(type) {
		case []map[string]any:
			for _, table := range v {
				out = append(out, table)
			}
		case []any:
			out = append(out, v...)
		default:
			out = append(out, v)
		}
	}
	return out
}

func typeOf(value any) string {
	switch v := value.(type) {
	case string:
		return tomlString
	case int64:
		return tomlInteger
	case bool:
		return tomlBoolean
	case float64:
		return "a float"
	case map[string]any:
		return tomlTable
	case []map[string]any:
		return tomlTables
	case []any:
		return arrayType(v)
	}
	return "a date or time"
}

// arrayType names the type of an array by what it holds.
func arrayType(elements []any) string {
	if len(elements) == 0 {
		return tomlStrings
	}
	first := typeOf(elements[0])
	for _, element := range elements {
		if got := typeOf(element); got != first || got != tomlString && got != tomlTable {
			if got == tomlString {
				got = first
			}
			return "an array that holds " + got
		}
	}
	if first == tomlTable {
		return tomlTables
	}
	return tomlStrings
}
