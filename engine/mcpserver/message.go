package mcpserver

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// JSON-RPC error codes of the filter.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
)

// maxDepth bounds the nesting of objects and arrays in a message. Real ones
// have some ten levels.
const maxDepth = 512

// refusal says why a line is no message.
type refusal struct {
	code    int
	message string
	id      json.RawMessage // of the request; nil when it cannot be told
}

func refuse(code int, format string, args ...any) *refusal {
	return &refusal{code: code, message: fmt.Sprintf(format, args...)}
}

// reply is the JSON-RPC error response, a whole line.
func (r *refusal) reply() []byte {
	id := r.id
	if id == nil {
		id = json.RawMessage("null")
	}
	text, _ := json.Marshal(r.message) // a string cannot fail
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, r.code, text)
}

// checkMessage returns nil for a JSON-RPC 2.0 request, notification or
// response that every reader understands alike.
func checkMessage(line []byte) *refusal {
	switch {
	case !utf8.Valid(line):
		return refuse(codeParse, "parse error: line is not UTF-8")
	case rawjson.Deeper(line, maxDepth):
		return refuse(codeInvalidRequest, "invalid request: nesting is deeper than %d", maxDepth)
	case !json.Valid(line):
		return refuse(codeParse, "parse error: line is not one JSON value")
	case line[0] == '[':
		return refuse(codeInvalidRequest, "invalid request: batches are not supported, send one message a line")
	}
	fields, err := members(line)
	if err != nil {
		return refuse(codeInvalidRequest, "invalid request: %v", err)
	}
	message := make(map[string]json.RawMessage, len(fields))
	for _, f := range fields {
		message[f.name] = f.value
	}
	bad := checkEnvelope(message, line)
	if bad != nil && message["method"] != nil && checkID(message["id"]) == nil {
		bad.id = message["id"]
	}
	return bad
}

func checkEnvelope(m map[string]json.RawMessage, line []byte) *refusal {
	if bad := checkSpelling(m, "jsonrpc", "id", "method", "params", "result", "error"); bad != nil {
		return bad
	}
	if s, ok := stringOf(m["jsonrpc"]); !ok || s != "2.0" {
		return refuse(codeInvalidRequest, `invalid request: jsonrpc must be "2.0"`)
	}
	if bad := checkID(m["id"]); bad != nil {
		return bad
	}
	check := checkResponse
	if m["method"] != nil {
		check = checkRequest
	}
	if bad := check(m); bad != nil {
		return bad
	}
	if name, twice := duplicate(line); twice {
		return refuse(codeInvalidRequest, "invalid request: %s is given twice in one object", quoteName(name))
	}
	return nil
}

// checkSpelling refuses names that differ from a known one in case only, as
// Unicode folds it: lenient readers would take them for the known one.
func checkSpelling(m map[string]json.RawMessage, known ...string) *refusal {
	for name := range m {
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				return refuse(codeInvalidRequest, "invalid request: %s must be spelt %q", quoteName(name), k)
			}
		}
	}
	return nil
}

// checkID accepts strings, integers that a float64 holds exactly, and no id.
func checkID(id json.RawMessage) *refusal {
	if id == nil || id[0] == '"' {
		return nil
	}
	if n, err := strconv.ParseInt(string(id), 10, 64); err == nil && -maxCursor <= n && n <= maxCursor {
		return nil
	}
	return refuse(codeInvalidRequest, "invalid request: id must be a string or an integer up to 2^53")
}

func checkRequest(m map[string]json.RawMessage) *refusal {
	if s, ok := stringOf(m["method"]); !ok || s == "" {
		return refuse(codeInvalidRequest, "invalid request: method must be a string")
	}
	if m["result"] != nil || m["error"] != nil {
		return refuse(codeInvalidRequest, "invalid request: a message has method, result or error, not two of them")
	}
	params := m["params"]
	if params == nil || isNull(params) {
		return nil
	}
	fields, err := members(params)
	if err != nil {
		return refuse(codeInvalidRequest, "invalid request: params: %v", err)
	}
	byName := make(map[string]json.RawMessage, len(fields))
	for _, f := range fields {
		byName[f.name] = f.value
	}
	return checkSpelling(byName, "name", "arguments", "_meta", "requestId", "progressToken", "uri")
}

func checkResponse(m map[string]json.RawMessage) *refusal {
	switch {
	case (m["result"] == nil) == (m["error"] == nil):
		return refuse(codeInvalidRequest, "invalid request: method is missing")
	case m["id"] == nil:
		return refuse(codeInvalidRequest, "invalid request: a response needs an id")
	case m["error"] == nil:
		return nil
	}
	var e struct {
		Code    *int64
		Message *string
	}
	if json.Unmarshal(m["error"], &e) != nil || e.Code == nil || e.Message == nil {
		return refuse(codeInvalidRequest, "invalid request: error must have an integer code and a message")
	}
	return nil
}

func stringOf(raw json.RawMessage) (s string, ok bool) {
	ok = len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &s) == nil
	return s, ok
}
