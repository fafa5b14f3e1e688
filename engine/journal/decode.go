package journal

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// maxID bounds ids, so that adding to one cannot overflow.
const maxID = 1<<59 - 1

// eventID returns the id that a line bears, if it looks like an event's. Whether
// the rest of it can be read is for decodeEvent to say.
func eventID(line []byte) (int64, bool) {
	rest, ok := bytes.CutPrefix(line, []byte(beginEvent))
	if !ok {
		return 0, false
	}
	id, rest, ok := number(rest)
	return id, ok && bytes.HasPrefix(rest, []byte(`,"`)) && line[len(line)-1] == '}'
}

// number reads digits.
func number(b []byte) (n int64, rest []byte, ok bool) {
	i := 0
	for ; i < len(b) && '0' <= b[i] && b[i] <= '9'; i++ {
		if n = n*10 + int64(b[i]-'0'); n > maxID {
			return 0, b, false
		}
	}
	return n, b[i:], i > 0
}

// decodeEvent decodes a line; what it returns holds no part of it.
func decodeEvent(line []byte) (e event.Event, ok bool) {
	if e, ok = quickEvent(line); ok {
		e.Data = bytes.Clone(e.Data)
		return e, true
	}
	if json.Unmarshal(line, &e) != nil || e.ID < 0 || e.ID > maxID || len(e.Data) == 0 || e.Data[0] != '{' {
		return event.Event{}, false
	}
	return e, true
}

// quickEvent takes apart the usual line at a fraction of what decoding costs. Its
// data is a part of line.
func quickEvent(line []byte) (e event.Event, ok bool) {
	rest, ok := bytes.CutPrefix(line, []byte(beginEvent))
	if !ok {
		return e, false
	}
	if e.ID, rest, ok = number(rest); !ok {
		return e, false
	}
	stamp, rest, ok := quotedMember(rest, `,"timestamp":"`)
	if !ok {
		return e, false
	}
	kind, rest, ok := quotedMember(rest, `,"type":"`)
	if !ok || !plain(kind) {
		return e, false
	}
	data, ok := bytes.CutPrefix(rest, []byte(beforeData))
	if !ok || len(data) < 3 || data[0] != '{' {
		return e, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return e, false
	}
	e.Timestamp, e.Type = at, event.Kind(kind)
	e.Data = json.RawMessage(data[:len(data)-1])
	// Another member may follow where somebody else wrote the line: that is no JSON
	// then, and is left to the decoder.
	return e, data[len(data)-1] == '}' && json.Valid(e.Data)
}

// quotedMember cuts a member that holds a string without escapes.
func quotedMember(b []byte, before string) (value, rest []byte, ok bool) {
	b, ok = bytes.CutPrefix(b, []byte(before))
	if !ok {
		return nil, b, false
	}
	return bytes.Cut(b, []byte{'"'})
}

// decodeRecord decodes the record in a line that is a record's or a header's. One
// of a later version than ours is no record to us.
func decodeRecord(line []byte) (r event.SessionRecord, next int64, ok bool) {
	var l struct {
		Journal int                  `json:"journal"`
		Next    int64                `json:"next"`
		First   int64                `json:"first"`
		Record  *event.SessionRecord `json:"record"`
	}
	if len(line) > 2*maxRecord || json.Unmarshal(line, &l) != nil || l.Record == nil || l.Journal > version {
		return r, 0, false
	}
	next = max(l.Next, l.First)
	return *l.Record, next, 0 <= next && next <= maxID
}

// decodeLost decodes a note of lost ids.
func decodeLost(line []byte) (next int64, ok bool) {
	var l struct {
		Lost struct {
			Next int64 `json:"next"`
		} `json:"lost"`
	}
	err := json.Unmarshal(line, &l)
	return l.Lost.Next, err == nil && 0 <= l.Lost.Next && l.Lost.Next <= maxID
}
