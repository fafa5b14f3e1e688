package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
	"github.com/gatehouse-mcp/gatehouse/internal/spelling"
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
	var out []member
	var err error
	seen := map[string]bool{}
	rawjson.Each(raw, func(literal, value []byte) {
		name, wrong := rawjson.Name(literal)
		if wrong == nil && seen[name] {
			wrong = fmt.Errorf("%s is given twice", quoteName(name))
		}
		err = first(err, wrong)
		seen[name] = true
		out = append(out, member{name, value})
	})
	return out, err
}

// kindOf names the kind of a JSON value with its article, for messages.
func kindOf(raw json.RawMessage) string { return rawjson.Kind(raw) }

func isNull(raw json.RawMessage) bool { return kindOf(raw) == "null" }

// didYouMean names the known word nearest to word, if one is near, else all of them,
// if they are few.
func didYouMean(word string, known []string) string {
	near := suggestion(word, known)
	if near == "" && len(word) <= maxSuggestion && len(known) <= 8 {
		return "; known are " + strings.Join(known, ", ")
	}
	return near
}

// maxSuggestion bounds the words for which a near one is looked for.
const maxSuggestion = 64

// suggestion names the known word nearest to word, if one is near: the same but for
// case, or at most a third of its letters away.
func suggestion(word string, known []string) string {
	if len(word) > maxSuggestion {
		return ""
	}
	best, bestDistance := "", len(word)/3+2
	for _, k := range known {
		if d := spelling.Distance(strings.ToLower(word), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
