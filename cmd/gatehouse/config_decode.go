package main

import (
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

// places says for each key that was set where it stands, as "file:line".
type places map[string]string

// decode reads the text of file over c and notes in at where its keys stand.
// Unknown keys, spelling of case included, and wrong types are errors.
func (c *fileConfig) decode(file, text string, at places) error {
	var tree map[string]any
	meta, err := toml.Decode(text, &tree)
	if err != nil {
		return syntaxError(file, text, err)
	}
	for _, key := range meta.Keys() {
		name := key.String()
		where := place(file, text, key)
		want, ok := knownKeys[name]
		if !ok {
			return fmt.Errorf("%s: unknown key %q; the nearest known key is %q", where, name, nearestKey(name))
		}
		if got := typeOf(lookup(tree, key)); got != want {
			return fmt.Errorf("%s: key %q wants %s, found %s", where, name, want, got)
		}
		at[name] = where
	}
	if _, err := toml.Decode(text, c); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
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

// place finds the line of a key: the one after the longest beginning of the
// text that is valid without the key.
func place(file, text string, key toml.Key) string {
	lines := strings.SplitAfter(text, "\n")
	after := 0 // lines[:after] is valid and lacks the key
	for n := 1; n <= min(len(lines), maxLineSearch); n++ {
		var tree map[string]any
		meta, err := toml.Decode(strings.Join(lines[:n], ""), &tree)
		if err != nil {
			continue
		}
		if meta.IsDefined(key...) {
			return fmt.Sprintf("%s:%d", file, after+1)
		}
		after = n
	}
	return file
}

func lookup(tree map[string]any, key toml.Key) any {
	var value any = tree
	for _, word := range key {
		table, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = table[word]
	}
	return value
}

func typeOf(value any) string {
	switch v := value.(type) {
	case string:
		return tomlString
	case int64:
		return tomlInteger
	case map[string]any:
		return tomlTable
	case []any:
		for _, element := range v {
			if got := typeOf(element); got != tomlString {
				return "an array that holds " + got
			}
		}
		return tomlStrings
	case bool:
		return "a boolean"
	case float64:
		return "a float"
	case []map[string]any:
		return "an array of tables"
	}
	return "a date or time"
}
