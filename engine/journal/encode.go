package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Beginnings of lines: they tell what a line is without decoding it.
const (
	beginHeader = `{"journal":`
	beginEvent  = `{"id":`
	beginRecord = `{"next":`
	beginLost   = `{"lost":`
	beginTorn   = `{"torn":`
)

// version is that of the format; a reader skips segments of a later one.
const version = 1

// Bounds of what is written. Redaction can make a line of the CLI longer.
const (
	maxLine   = 64 << 20 // bytes of a line; the CLI's are 16 MiB at most unless configured
	maxRecord = 1 << 20  // bytes of a session's record
)

// header begins a segment.
type header struct {
	Journal int             `json:"journal"`
	Session string          `json:"session"`
	Segment int             `json:"segment"`
	First   int64           `json:"first"`
	Record  json.RawMessage `json:"record"`
}

func encodeHeader(id string, s segment, record json.RawMessage) []byte {
	line, _ := json.Marshal(header{version, id, s.number, s.first, record}) // of valid parts
	return append(line, '\n')
}

// appendEvent appends the line of e. Data stands last, so that a reader finds it
// without decoding.
func appendEvent(b []byte, e event.Event) ([]byte, error) {
	data, err := object(e.Data)
	if err != nil {
		return b, err
	}
	b = append(b, beginEvent...)
	b = strconv.AppendInt(b, e.ID, 10)
	b = append(b, `,"timestamp":"`...)
	b = e.Timestamp.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","type":`...)
	b = appendString(b, string(e.Type))
	if len(e.Redactions) > 0 {
		found, _ := json.Marshal(e.Redactions) // strings and numbers
		b = append(append(b, `,"redactions":`...), found...)
	}
	b = append(append(b, beforeData...), data...)
	b = append(b, "}\n"...)
	if len(b) > maxLine {
		return b, fmt.Errorf("%w: its line of %d bytes is over %d", event.ErrUnfit, len(b), maxLine)
	}
	return b, nil
}

const beforeData = `,"data":`

// object returns a payload as it stands in a line: without line breaks.
func object(data json.RawMessage) (json.RawMessage, error) {
	if len(data) < 2 || data[0] != '{' || data[len(data)-1] != '}' {
		return nil, fmt.Errorf("%w: its data is no JSON object", event.ErrUnfit)
	}
	if bytes.IndexByte(data, '\n') < 0 {
		return data, nil
	}
	var one bytes.Buffer
	if err := json.Compact(&one, data); err != nil {
		return nil, fmt.Errorf("%w: its data: %w", event.ErrUnfit, err)
	}
	return one.Bytes(), nil
}

// appendString is for short names, which hardly ever need escapes.
func appendString(b []byte, s string) []byte {
	if !plain(s) {
		quoted, _ := json.Marshal(s)
		return append(b, quoted...)
	}
	return append(append(append(b, '"'), s...), '"')
}

// plain reports whether s is one of our own names, which need no escapes.
func plain[T string | []byte](s T) bool {
	for i := range len(s) {
		if s[i] != '_' && (s[i] < 'a' || s[i] > 'z') {
			return false
		}
	}
	return true
}

func encodeRecord(r event.SessionRecord) (json.RawMessage, error) {
	record, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if len(record) > maxRecord {
		return nil, fmt.Errorf("%w: record of %d bytes is over %d", event.ErrUnfit, len(record), maxRecord)
	}
	return record, nil
}

func appendRecord(b []byte, next int64, record json.RawMessage) []byte {
	b = slices.Grow(b, len(record)+64)
	b = strconv.AppendInt(append(b, beginRecord...), next, 10)
	b = append(append(b, `,"record":`...), record...)
	return append(b, "}\n"...)
}

func appendLost(b []byte, first, next int64) []byte {
	return fmt.Appendf(b, beginLost+`{"first":%d,"next":%d}}`+"\n", first, next)
}

func appendTorn(b []byte, n int64) []byte {
	return fmt.Appendf(b, beginTorn+`{"bytes":%d}}`+"\n", n)
}
