package control

import (
	"encoding/json"
	"errors"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

var errNoObject = errors.New("not an object")

// object splits a JSON object by exact key: encoding/json folds the case of
// struct fields, so an envelope is never decoded into a struct. The values are
// parts of raw, not copies. Of a key that stands twice the last one counts, as
// for encoding/json; Check refuses it where that matters.
//
// It is what every line of the CLI goes through, and three times as fast as
// decoding into a map.
func object(raw json.RawMessage) (map[string]json.RawMessage, error) {
	if !json.Valid(raw) {
		return nil, json.Unmarshal(raw, new(any)) // says what is wrong
	}
	m := make(map[string]json.RawMessage, 8)
	var err error
	isObject := rawjson.Each(raw, func(literal, value []byte) {
		key, wrong := rawjson.Name(literal)
		if wrong != nil {
			err = wrong
		}
		m[key] = value
	})
	if !isObject {
		return nil, errNoObject
	}
	return m, err
}
