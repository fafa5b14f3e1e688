//go:build !wasip1

package pdk

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// strictJSON refuses what the host refuses of what a plugin says: no JSON or no UTF-8,
// too many levels, and a key that stands twice in an object.
func strictJSON(text string) error {
	if !utf8.ValidString(text) || !json.Valid([]byte(text)) {
		return errors.New("is no JSON in UTF-8")
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var open []map[string]bool // of each level: the keys of an object so far, nil in a list
	name := false
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		switch token := token.(type) {
		case json.Delim:
			switch token {
			case '{':
				open, name = append(open, map[string]bool{}), true
			case '[':
				open, name = append(open, nil), false
			default:
				open = open[:len(open)-1]
				name = len(open) > 0 && open[len(open)-1] != nil
			}
			if len(open) > maxDepth {
				return fmt.Errorf("is nested deeper than %d levels", maxDepth)
			}
			continue
		case string:
			if name {
				keys := open[len(open)-1]
				if keys[token] {
					return fmt.Errorf("has the key %q twice in one object", token)
				}
				keys[token], name = true, false
				continue
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}
