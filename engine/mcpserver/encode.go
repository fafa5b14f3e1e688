package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// body encodes what a tool answers. The events of a page are put together by
// hand: their payloads are JSON already, and encoding/json would read every one
// of them once more.
func body(v any) ([]byte, error) {
	a, ok := v.(answer)
	if !ok || a.Events == nil {
		return encode(v)
	}
	events := *a.Events
	a.Events = &[]event.Event{}
	b, err := encode(a)
	if err != nil {
		return nil, err
	}
	// The first one is the member: before it stand texts only, in which a
	// quotation mark is escaped.
	before, after, _ := bytes.Cut(b, []byte(`"events":[]`))
	size := len(b) + len(events)*len(`{"id":1234567,"type":"permission_result","data":,"timestamp":"2006-01-02T15:04:05.000000000Z"},`)
	for _, e := range events {
		size += len(e.Data)
	}
	out := append(append(make([]byte, 0, size), before...), `"events":[`...)
	for i, e := range events {
		if i > 0 {
			out = append(out, ',')
		}
		if out, err = appendEvent(out, e); err != nil {
			return nil, err
		}
	}
	return append(append(out, ']'), after...), nil
}

// appendEvent encodes e as encoding/json does. Its payload is a JSON document,
// see package event; only a line break in it would end the protocol's line.
func appendEvent(out []byte, e event.Event) ([]byte, error) {
	data := []byte(e.Data)
	if bytes.ContainsAny(data, "\r\n") {
		var compact bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			return nil, err
		}
		data = compact.Bytes()
	}
	out = strconv.AppendInt(append(out, `{"id":`...), e.ID, 10)
	out = append(append(append(out, `,"type":"`...), e.Type...), `","data":`...)
	out = append(append(out, data...), `,"timestamp":"`...)
	out = append(e.Timestamp.AppendFormat(out, time.RFC3339Nano), '"')
	if len(e.Redactions) > 0 {
		redactions, err := encode(e.Redactions)
		if err != nil {
			return nil, err
		}
		out = append(append(out, `,"redactions":`...), redactions...)
	}
	return append(out, '}'), nil
}
