package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Methods that are treated in a way of their own.
const (
	methodCall       = "tools/call"
	methodList       = "tools/list"
	methodInitialize = "initialize"
	methodCancelled  = "notifications/cancelled"
)

// rpcMessage is a JSON-RPC message as far as it concerns the engine.
type rpcMessage struct {
	raw    json.RawMessage
	id     json.RawMessage // nil: it wants no answer
	method string          // empty: an answer
	params json.RawMessage // nil: none
}

// members are those of an object, each once and no other reading of it: decoders
// differ in whether "Method" is one.
func members(object json.RawMessage, known ...string) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage, len(known))
	var wrong error
	isObject := rawjson.Each(object, func(literal, value []byte) {
		name, err := rawjson.Name(literal)
		if _, twice := all[name]; err != nil || twice {
			wrong = fmt.Errorf("a member stands twice or has no name")
			return
		}
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				wrong = fmt.Errorf("member %q: want %q", clip(name), k)
			}
		}
		all[name] = value
	})
	if !isObject {
		return nil, errors.New("want an object")
	}
	return all, wrong
}

// member is the first value of that name in an object that is valid JSON; nil: there
// is none.
func member(object json.RawMessage, name string) (value json.RawMessage) {
	rawjson.Each(object, func(literal, v []byte) {
		if n, err := rawjson.Name(literal); value == nil && err == nil && n == name {
			value = v
		}
	})
	return value
}

// readMessage reads a message that is valid JSON. The id is there with an error, too,
// where it could be read.
func readMessage(raw json.RawMessage) (rpcMessage, error) {
	m := rpcMessage{raw: raw}
	all, err := members(raw, "jsonrpc", "id", "method", "params", "result", "error")
	if err != nil {
		return m, fmt.Errorf("JSON-RPC message: %w", err)
	}
	if id, there := all["id"]; there {
		if _, err := readID(id); err != nil {
			return m, fmt.Errorf("JSON-RPC message: %w", err)
		}
		m.id = id
	}
	if version := all["jsonrpc"]; string(version) != `"2.0"` {
		return m, errors.New(`JSON-RPC message: jsonrpc: want "2.0"`)
	}
	method, asks := all["method"]
	if !asks {
		return m.response(all)
	}
	if json.Unmarshal(method, &m.method) != nil || m.method == "" {
		return m, errors.New("JSON-RPC message: method: want a text")
	}
	if m.params = all["params"]; m.params != nil && !isObject(m.params) {
		return m, errors.New("JSON-RPC message: params: want an object")
	}
	if all["result"] != nil || all["error"] != nil {
		return m, errors.New("JSON-RPC message: a request has neither result nor error")
	}
	return m, nil
}

// response is an answer of the CLI to a request of the server.
func (m rpcMessage) response(all map[string]json.RawMessage) (rpcMessage, error) {
	_, result := all["result"]
	_, failed := all["error"]
	if m.id == nil || result == failed {
		return m, errors.New("JSON-RPC message: it has no method, and is no answer")
	}
	m.id = nil // of the server's: an answer wants none
	return m, nil
}

// readID is the id of a request as it is compared, however it is spelt: a text, or a
// whole number.
func readID(raw json.RawMessage) (string, error) {
	if len(raw) > 0 && raw[0] == '"' && len(raw) <= clipped {
		return `"` + textOf(raw), nil
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		return "", fmt.Errorf("id: want a text of at most %d bytes or a whole number", clipped)
	}
	return strconv.FormatInt(n, 10), nil
}

func orNull(id json.RawMessage) json.RawMessage {
	if id == nil {
		return json.RawMessage("null")
	}
	return id
}

// rpcResult is a response with a result.
func rpcResult(id, result json.RawMessage) json.RawMessage {
	out := make([]byte, 0, len(id)+len(result)+40)
	out = append(append(out, `{"jsonrpc":"2.0","id":`...), orNull(id)...)
	return append(append(append(out, `,"result":`...), result...), '}')
}

// toolError is a response whose result is a failed call.
func toolError(id json.RawMessage, message string) json.RawMessage {
	text, _ := json.Marshal(message)
	return rpcResult(id, fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}],"isError":true}`, text))
}

// rpcResponse is what a server answered.
type rpcResponse struct {
	result map[string]json.RawMessage // nil: an error
	whole  json.RawMessage            // the result, or the error, as it came
	failed map[string]json.RawMessage // the error; nil: a result
}

// Bounds of what a tool server says.
const (
	maxToolMessage = 8 << 20 // bytes of one message of it; of a result the session gets an error instead that says so
	maxToolDepth   = 480     // levels of it: the CLI puts it into messages that may have 512
)

// bounded is an error for a message that is too large or too deep.
func bounded(message json.RawMessage, most int) error {
	switch {
	case len(message) > most:
		return fmt.Errorf("it has %d bytes, and at most %d are let through", len(message), most)
	case rawjson.Deeper(message, maxToolDepth):
		return fmt.Errorf("it is nested deeper than %d levels", maxToolDepth)
	}
	return nil
}

// readResponse reads what a server answered, which nobody has looked at before.
func readResponse(raw json.RawMessage) (r rpcResponse, err error) {
	if !json.Valid(raw) {
		return r, errors.New("it is no JSON")
	}
	all, err := members(raw, "jsonrpc", "id", "result", "error")
	if err != nil {
		return r, err
	}
	result, there := all["result"]
	failed, fails := all["error"]
	switch {
	case there == fails:
		return r, errors.New("want a result or an error")
	case fails:
		r.whole = failed
		r.failed, err = members(failed, "code", "message", "data")
	default:
		r.whole = result
		r.result, err = members(result)
	}
	return r, err
}

// answersTo reports whether a response is a result for this id and nothing besides,
// on one line: the CLI waits on for ever where it gets no JSON-RPC, and what else
// stands there nobody has covered.
func answersTo(response, id json.RawMessage) bool {
	if bytes.IndexByte(response, '\n') >= 0 {
		return false
	}
	fits, besides := 0, false
	rawjson.Each(response, func(literal, value []byte) {
		switch name := string(literal); {
		case name == `"id"` && bytes.Equal(value, id), name == `"jsonrpc"` && string(value) == `"2.0"`, name == `"result"`:
			fits++ // each once: members has seen to that
		default:
			besides = true
		}
	})
	return fits == 3 && !besides
}
