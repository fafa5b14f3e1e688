package inproc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// acknowledgement answers what has no answer of its own: the CLI waits for one to
// every message.
var acknowledgement = json.RawMessage(`{"jsonrpc":"2.0","result":{},"id":0}`)

// message is a JSON-RPC message of the CLI.
type message struct {
	size   int
	id     jsonrpc.ID      // not valid for a notification
	rawID  json.RawMessage // as it came in; nil: none
	method string
	named  bool // there is a method: no response
	params json.RawMessage
	result json.RawMessage
	err    *jsonrpc.Error
}

// parse reads a message. With an error the message still holds the id, if there is
// one to answer to. Names are matched exactly: the go-sdk gets a message made of
// what was read here, so that both read the same one.
func parse(text []byte) (message, error) {
	m := message{size: len(text)}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil || fields == nil {
		return m, errors.New("message is not a JSON object")
	}
	if raw, ok := fields["id"]; ok {
		id, err := parseID(raw)
		if err != nil {
			return m, err
		}
		m.id, m.rawID = id, raw
	}
	if string(fields["jsonrpc"]) != `"2.0"` {
		return m, errors.New(`message is not of jsonrpc "2.0"`)
	}
	m.params, m.result = fields["params"], fields["result"]
	if raw, ok := fields["method"]; ok {
		m.named = true
		if err := json.Unmarshal(raw, &m.method); err != nil || m.method == "" {
			return m, errors.New("method is not a name")
		}
		return m, nil
	}
	return m, m.parseResponse(fields["error"])
}

func (m *message) parseResponse(raw json.RawMessage) error {
	if m.rawID == nil || (m.result == nil) == (raw == nil) {
		return errors.New("message is no request, no notification and no response")
	}
	if raw == nil {
		return nil
	}
	if err := json.Unmarshal(raw, &m.err); err != nil || m.err == nil {
		return errors.New("error of a response is not an error object")
	}
	return nil
}

// parseID takes a string or a whole number of 64 bits: of others the go-sdk makes
// ids that are not the CLI's any more.
func parseID(raw json.RawMessage) (jsonrpc.ID, error) {
	if len(raw) > 0 && raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		id, _ := jsonrpc.MakeID(s)
		return id, err
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return jsonrpc.ID{}, fmt.Errorf("id %.40s is neither a string nor a whole number", raw)
	}
	return numberID(n)
}

// exact is the largest number up to which every whole one is a float64, of which
// alone the go-sdk makes ids.
const exact = 1 << 53

func numberID(n int64) (jsonrpc.ID, error) {
	if n > exact || n < -exact {
		return jsonrpc.ID{}, fmt.Errorf("id %d is beyond %d", n, exact)
	}
	return jsonrpc.MakeID(float64(n))
}

// response makes the answer to a request. Its result is one line already.
func response(id, result json.RawMessage, failure *jsonrpc.Error) json.RawMessage {
	name, value := `,"result":`, result
	if failure != nil {
		name, value = `,"error":`, plain(failure)
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	if value == nil {
		value = json.RawMessage("{}")
	}
	out := make([]byte, 0, len(value)+len(id)+40)
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(append(out, id...), name...)
	return append(append(out, value...), '}')
}

// refusal is a response that says that a message was not taken.
func refusal(id json.RawMessage, code int64, text string) json.RawMessage {
	return response(id, nil, &jsonrpc.Error{Code: code, Message: text})
}

// toolError is a tool result that tells the model what went wrong.
func toolError(text string) json.RawMessage {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return plain(struct {
		Content []block `json:"content"`
		IsError bool    `json:"isError"`
	}{[]block{{"text", text}}, true})
}

// plain encodes without escapes for HTML. What cannot be encoded, which is data of
// an error that is no JSON, is left out.
func plain(v any) json.RawMessage {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		failure, ok := v.(*jsonrpc.Error)
		if !ok {
			return nil
		}
		return plain(&jsonrpc.Error{Code: failure.Code, Message: failure.Message})
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// Bound of a text that quotes what came in.
const maxErrorText = 2048

// wireError makes the error of a response. The go-sdk leaves some without a code:
// before the handshake those are its refusals, later a handler's.
func wireError(err error, ready bool) *jsonrpc.Error {
	failure, direct := err.(*jsonrpc.Error)
	if !direct {
		failure = &jsonrpc.Error{Message: shorten(err.Error(), maxErrorText)}
		if inner := (*jsonrpc.Error)(nil); errors.As(err, &inner) {
			failure.Code, failure.Data = inner.Code, inner.Data
		}
	}
	if failure.Code != 0 {
		return failure
	}
	code := int64(jsonrpc.CodeInternalError)
	if !ready {
		code = jsonrpc.CodeInvalidRequest
	}
	return &jsonrpc.Error{Code: code, Message: failure.Message, Data: failure.Data}
}

// shorten cuts a text to about most bytes, at the end of a character.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && text[most]&0xC0 == 0x80 {
		most--
	}
	return text[:most] + fmt.Sprintf(" … (%d bytes in all)", len(text))
}
