package inproc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// fits checks arguments; of a tool that is unchecked they are an object, at least.
func (o *offer) fits(arguments json.RawMessage) error {
	if o.arguments != nil {
		return o.arguments.check(arguments)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
		return errors.New("they are not a JSON object")
	}
	return nil
}

// wellFormed refuses what the CLI could not read as a tool result, and adds content
// where there is none. Blocks of kinds that are not known here pass: the CLI may
// know them.
func wellFormed(text json.RawMessage) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return nil, errors.New("it is not a JSON object")
	}
	var failed bool
	if raw, ok := fields["isError"]; ok && json.Unmarshal(raw, &failed) != nil {
		return nil, errors.New("isError is not a boolean")
	}
	if content := fields["content"]; content == nil || string(content) == "null" {
		fields["content"] = json.RawMessage("[]")
		return plain(fields), nil
	}
	var blocks []map[string]json.RawMessage
	if err := json.Unmarshal(fields["content"], &blocks); err != nil {
		return nil, errors.New("content is not a list of blocks")
	}
	for i, block := range blocks {
		var kind string
		if err := json.Unmarshal(block["type"], &kind); err != nil || kind == "" {
			return nil, fmt.Errorf("block %d of content has no type", i)
		}
	}
	return text, nil
}
