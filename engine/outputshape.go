package engine

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The CLI takes a changed output of one of its own tools only if it fits that
// tool's schema; else it hands the original to the model, and says so nowhere but
// in its transcript (CLI 2.1.197). So whatever was done to an output, what goes
// back has the members of the original, each of its kind, and its words of shape.

const withheldWord = "[withheld]"

// What a word of a schema looks like: too short for a secret.
var (
	typeWord  = regexp.MustCompile(`^[a-z_]{1,20}$`)
	shapeWord = regexp.MustCompile(`^[A-Za-z_-]{1,24}$`)

	// Names of members that a schema may ask for; withheld outputs keep no others.
	memberWord = regexp.MustCompile(`^[A-Za-z_-]{1,30}[0-9]{0,3}$|^ephemeral_[0-9][mh]_input_tokens$`)
)

// shapeKeys are the members beside type that hold words of a schema in outputs of
// the CLI's own tools (CLI 2.1.197).
var shapeKeys = map[string]bool{
	"mode": true, "status": true, "kind": true, "action": true, "method": true, "operation": true, "level": true,
	"display": true, "cell_type": true, "taskType": true, "disabledReason": true, "service_tier": true, "verdict": true, "outcome": true,
}

// keepsWord reports whether the value of a member has to stay for the shape.
// Outputs of MCP servers have no schema, and of words only the types of blocks.
func keepsWord(tool, key, value string) bool {
	if key == "type" {
		return typeWord.MatchString(value) || imageTypes[value]
	}
	return shapeKeys[key] && !isMCP(tool) && shapeWord.MatchString(value)
}

var imageTypes = map[string]bool{"image/jpeg": true, "image/png": true, "image/gif": true, "image/webp": true}

func isMCP(tool string) bool { return strings.HasPrefix(tool, "mcp__") }

// decodeOutput reads an output; numbers stay as they are written.
func decodeOutput(raw json.RawMessage) (v any, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return v, dec.Decode(&v) == nil
}

func encodeOutput(v any) (json.RawMessage, bool) {
	raw, err := json.Marshal(v)
	return raw, err == nil
}

// withheldOutput stands for the output of a tool: nothing of its texts is left.
func withheldOutput(tool string, output json.RawMessage) json.RawMessage {
	v, ok := decodeOutput(output)
	if _, list := v.([]any); list && isMCP(tool) {
		return json.RawMessage(`[{"type":"text","text":"` + withheldWord + `"}]`)
	}
	if ok {
		if raw, ok := encodeOutput(withhold(tool, "", withoutImages(tool, v))); ok {
			return raw
		}
	}
	return json.RawMessage(`"` + withheldWord + `"`)
}

// withhold replaces every text of v, which is the value of the member key.
func withhold(tool, key string, v any) any {
	switch v := v.(type) {
	case string:
		if v == "" || keepsWord(tool, key, v) {
			return v
		}
		return withheldWord
	case []any:
		for i := range v {
			v[i] = withhold(tool, key, v[i])
		}
	case map[string]any:
		kept := make(map[string]any, len(v))
		for k := range v {
			name := k
			if !memberWord.MatchString(k) {
				name = withheldWord // of a table, such as answers by their questions
			}
			kept[name] = withhold(tool, k, v[k])
		}
		return kept
	}
	return v
}

// withoutImages is v as an output of text: the bytes of a picture or a document
// cannot be replaced by words, which the model's API would refuse.
func withoutImages(tool string, v any) any {
	m, _ := v.(map[string]any)
	switch file, _ := m["file"].(map[string]any); {
	case tool == "Bash" && m["isImage"] == true:
		m["isImage"] = false
	case tool == "Read" && (file["base64"] != nil || file["cells"] != nil):
		path, _ := file["filePath"].(string)
		return map[string]any{"type": "text", "file": map[string]any{
			"filePath": path, "content": withheldWord, "numLines": 1, "startLine": 1, "totalLines": 1,
		}}
	}
	return v
}

// keepShape gives an output that was redacted the shape of the original again.
// It is not ok when the two are built differently.
func keepShape(tool string, original, covered json.RawMessage) (json.RawMessage, bool) {
	before, ok := decodeOutput(original)
	after, readable := decodeOutput(covered)
	if !ok || !readable {
		return nil, false
	}
	f := fitter{tool: tool}
	fitted, ok := f.fit("", before, after)
	if !ok {
		return nil, false
	}
	if f.picture {
		if fitted = withoutImages(tool, fitted); isMCP(tool) {
			return nil, false // the block has to go; withheld, the output is one text
		}
	}
	return encodeOutput(fitted)
}

// fitter makes redacted values fit where the original ones stood.
type fitter struct {
	tool    string
	picture bool // the bytes of a picture or a document were changed
}

func (f *fitter) fit(key string, before, after any) (any, bool) {
	switch b := before.(type) {
	case string:
		return f.text(key, b, after)
	case []any:
		a, ok := after.([]any)
		if !ok {
			f.picture = f.picture || holdsPicture(b)
			return withhold(f.tool, key, before), true // covered as a whole
		}
		return f.list(key, b, a)
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			f.picture = f.picture || holdsPicture(b)
			return withhold(f.tool, key, before), true
		}
		return f.object(b, a)
	case json.Number:
		if _, ok := after.(json.Number); !ok {
			return json.Number("0"), true // a text stands there now
		}
	case bool:
		if _, ok := after.(bool); !ok {
			return false, true
		}
	case nil:
		return nil, true
	}
	return after, true
}

func (f *fitter) text(key, before string, after any) (any, bool) {
	a, ok := after.(string)
	switch {
	case keepsWord(f.tool, key, before): // whatever stands there: a plugin may have taken it away
		return before, true
	case !ok && before == "":
		return "", true
	case !ok:
		f.picture = f.picture || pictureKeys[key]
		return withheldWord, true
	case a == before:
	case a == "" && f.mayNotBeEmpty(key):
		return withheldWord, true
	case pictureKeys[key]:
		f.picture = true
	}
	return a, true
}

// pictureKeys are the members that hold the bytes of a picture or a document.
var pictureKeys = map[string]bool{"base64": true, "data": true}

func holdsPicture(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, holdsPicture)
	case map[string]any:
		for k := range v {
			if pictureKeys[k] || holdsPicture(v[k]) {
				return true
			}
		}
	}
	return false
}

// mayNotBeEmpty are the texts for which schemas ask for a character (CLI 2.1.197). Of
// an MCP server's tool an empty output counts as none, and the model's API refuses an
// empty block.
func (f *fitter) mayNotBeEmpty(key string) bool {
	if isMCP(f.tool) {
		return key == "" || key == "text"
	}
	return f.tool == "TodoWrite" && (key == "content" || key == "activeForm")
}

func (f *fitter) list(key string, before, after []any) (any, bool) {
	if len(before) != len(after) {
		return nil, false
	}
	for i := range before {
		var ok bool
		if after[i], ok = f.fit(key, before[i], after[i]); !ok {
			return nil, false
		}
	}
	return after, true
}

func (f *fitter) object(before, after map[string]any) (any, bool) {
	if len(before) != len(after) {
		return nil, false
	}
	gone := 0
	for k, b := range before {
		a, ok := after[k]
		switch {
		case !ok && memberWord.MatchString(k):
			return nil, false
		case !ok: // its name was covered
			gone++
			continue
		}
		if after[k], ok = f.fit(k, b, a); !ok {
			return nil, false
		}
	}
	for k := range after {
		if _, known := before[k]; !known { // which one it was is not told
			after[k] = withhold(f.tool, "", after[k])
			gone--
		}
	}
	if gone != 0 {
		return nil, false
	}
	if before["isImage"] == true && before["stdout"] != after["stdout"] {
		after["isImage"] = false
	}
	return after, true
}
