package main

import (
	"strings"
	"testing"
)

// A syntax error names the line it is in, and shows it.
func TestSyntaxErrorsNameTheLine(t *testing.T) {
	for _, test := range []struct{ file, text, want string }{
		{"a.toml", "a = 1\n[polcy\nb = 2\n", "a.toml:2:7: expected '.' or ']' to end table name, but got '\\n' instead\n\t[polcy"},
		{"a.toml", "x = 1\nx = 2\n", "a.toml:2:1: Key 'x' has already been defined.\n\tx = 2"},
		{"a.toml", "é = \n", "a.toml:1:1: "},
		{"a.json", "{\"x\": 1,\n  \"y\": }", "a.json:2:8: invalid character '}' looking for beginning of value\n\t\"y\": }"},
		{"a.json", "{", "a.json: want a TOML table or a JSON object: unexpected EOF"},
		{"a.json", "[1]", "a.json: want a TOML table or a JSON object: another value stands there"},
	} {
		_, err := parseDocument(test.file, test.text)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%q: %v, want %s", test.text, err, test.want)
		}
	}
}
