package mcpserver

import (
	"bytes"
	"encoding/json"
)

// duplicate finds a name that one object of valid JSON gives twice.
func duplicate(line []byte) (name string, found bool) {
	type level struct {
		names  map[string]bool // nil in an array
		isName bool            // the next string is a name
	}
	var levels []level
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.UseNumber()
	for {
		t, err := dec.Token()
		if err != nil { // the end; the line is known to be valid
			return "", false
		}
		var top *level
		if len(levels) > 0 {
			top = &levels[len(levels)-1]
		}
		if s, ok := t.(string); ok && top != nil && top.isName {
			if top.names[s] {
				return s, true
			}
			top.names[s], top.isName = true, false
			continue
		}
		if t == json.Delim('}') || t == json.Delim(']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if top != nil && top.names != nil {
			top.isName = true // after this value comes a name
		}
		switch t {
		case json.Delim('{'):
			levels = append(levels, level{names: map[string]bool{}, isName: true})
		case json.Delim('['):
			levels = append(levels, level{})
		}
	}
}
