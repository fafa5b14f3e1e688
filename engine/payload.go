package engine

import (
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// appendPicked stores an event of members of a message, as they came: most
// events are such messages, and taking them apart and together again would be
// the larger part of their way. kind is the payload's type, "" for none.
func (s *Session) appendPicked(to event.Kind, kind string, fields map[string]json.RawMessage, keys ...string) event.Event {
	return s.noteRedactions(s.log.Append(s.untilDone(), to, picked(kind, fields, keys)))
}

func picked(kind string, fields map[string]json.RawMessage, keys []string) json.RawMessage {
	size := len(kind) + len(`{"type":""}`)
	for _, k := range keys {
		size += len(k) + len(fields[k]) + len(`"":,`)
	}
	b := append(make([]byte, 0, size), '{')
	member := func(name string, value []byte) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(append(b, '"'), name...)
		b = append(append(b, `":`...), value...)
	}
	for _, k := range keys {
		if v, ok := fields[k]; ok {
			member(k, v)
		}
	}
	if kind != "" {
		member("type", []byte(`"`+kind+`"`))
	}
	return append(b, '}')
}
