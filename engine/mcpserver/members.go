package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// member is one name and value of a JSON object.
type member struct {
	name  string
	value json.RawMessage // exactly as written, without the space around it
}

// members reads a JSON object in order. Unlike a map or struct it refuses a
// name that appears twice, where two readers could each believe another one.
func members(raw json.RawMessage) ([]member, error) {
	if !json.Valid(raw) {
		return nil, fmt.Errorf("not valid JSON")
	}
	if kind := kindOf(raw); kind != "an object" {
		return nil, fmt.Errorf("want an object, got %s", kind)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var out []member
	seen := map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := t.(string)
		if seen[name] {
			return nil, fmt.Errorf("%s is given twice", quoteName(name))
		}
		seen[name] = true
		var v json.RawMessage
		if err := dec.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, member{name, v})
	}
	return out, nil
}

// kindOf names the kind of a JSON value with its article, for messages.
func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

func isNull(raw json.RawMessage) bool { return kindOf(raw) == "null" }

// didYouMean names the known word nearest to word, if one is near: the same
// but for case, or at most a third of its letters away.
func didYouMean(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	best, bestDistance := "", len(word)/3+2
	for _, k := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("; did you mean %q?", best)
	case len(known) <= 8:
		return "; known are " + strings.Join(known, ", ")
	}
	return ""
}

// distance is the Levenshtein distance in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			last, row[j+1] = row[j+1], min(last+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
