package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// What a call of a tool in this process gave back, on its way to the CLI.

// noDuty wants nothing.
var noDuty = duty{limit: -1}

// with is the stricter of two duties.
func (u duty) with(o duty) duty {
	tighter := o.limit >= 0 && (u.limit < 0 || o.limit < u.limit)
	if tighter {
		u.limit = o.limit
	}
	if tighter || o.withhold && !u.withhold || len(o.plugins) > 0 && len(u.plugins) == 0 {
		u.rule = o.rule
	}
	u.withhold, u.plugins = u.withhold || o.withhold, sortedUnion(u.plugins, o.plugins)
	return u
}

// covered is the response as the CLI gets it: secrets are covered, and it is changed
// as duties want. PostToolUse meets them once more, for what the model reads of a
// success; of what failed the CLI hands it all, and of a success it keeps the
// structured content and _meta in its transcript as they came (CLI 2.1.197).
func (c *governedCall) covered(r rpcResponse, response json.RawMessage) json.RawMessage {
	s, u := c.process.session, c.duty
	if owed, any := s.duties.owed(c.passed.agent, c.call.ToolUseID, c.passed.decision.Effect != permission.Abstain); any {
		u = u.with(owed)
	}
	if r.isError() {
		c.process.governing.settled.add(c.call)
	}
	v := coverer{session: s, call: c, isError: r.isError(), plugins: u.plugins}
	there := s.seeOutput(u.plugins)
	out, changed := v.response(r)
	s.duties.hide(c.call.ToolUseID, v.found)
	if !there || !s.seeOutput(u.plugins) {
		s.unseen(u, c.call.Tool, c.call.ToolUseID)
		u.withhold = true
	}
	switch {
	case u.withhold || u.limit >= 0:
		return out.shaped(c.call.Tool, u).encode(c.id)
	case !changed && answersTo(response, c.id):
		return response
	}
	return out.encode(c.id)
}

// coverer covers the parts of one response.
type coverer struct {
	session *Session
	call    *governedCall
	isError bool
	plugins []string // that have to see it
	found   []event.Redaction
	changed bool
}

// value covers one part in its own shape; what cannot be is withheld.
func (v *coverer) value(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] == 't' || raw[0] == 'f' || raw[0] == 'n' {
		return raw // nothing that could be a secret
	}
	s := v.session
	ctx := event.WithDemand(s.untilDone(), v.plugins...)
	sort := event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: v.call.call.Tool, IsError: v.isError, Data: raw}
	out, found := s.coverSort(ctx, sort, sort.Tool)
	v.found = append(v.found, found...)
	v.changed = v.changed || !bytes.Equal(out, raw)
	return out
}

// response covers all parts: the content as PostToolUse sees it, then what stands
// beside it.
func (v *coverer) response(r rpcResponse) (rpcResponse, bool) {
	if r.failed != nil {
		r.failed = map[string]json.RawMessage{"code": r.failed["code"], "message": v.value(r.failed["message"]), "data": v.value(r.failed["data"])}
		return r, true
	}
	parts := make(map[string]json.RawMessage, len(r.result))
	for name, part := range r.result {
		switch {
		case name == "isError":
		case memberWord.MatchString(name):
			part = v.value(part)
		default: // its name may be a secret, and means nothing to the CLI
			v.changed = true
			continue
		}
		parts[name] = part
	}
	return rpcResponse{result: parts}, v.changed
}

// shaped applies a duty: of a result only its content is left, of an error its
// message.
func (r rpcResponse) shaped(tool string, u duty) rpcResponse {
	if r.failed != nil {
		return rpcResponse{failed: map[string]json.RawMessage{"code": r.failed["code"], "message": u.shape(tool, orText(r.failed["message"]))}}
	}
	left := make(map[string]json.RawMessage)
	for _, name := range []string{"content", "structuredContent"} {
		if part, there := r.result[name]; there {
			left[name] = u.shape(tool, part)
		}
	}
	if flag, there := r.result["isError"]; there {
		left["isError"] = flag
	}
	return rpcResponse{result: left}
}

func orText(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || raw[0] != '"' {
		return json.RawMessage(`"the tool server failed the call"`)
	}
	return raw
}

// encode writes the response to a request.
func (r rpcResponse) encode(id json.RawMessage) json.RawMessage {
	if r.failed == nil {
		raw, err := plainJSON(r.result)
		if err != nil {
			return toolError(id, withheldText)
		}
		return rpcResult(id, raw)
	}
	code, out := r.failed["code"], bytes.Buffer{}
	if _, err := readID(code); err != nil || code[0] == '"' {
		code = fmt.Append(nil, rpcInternal)
	}
	fmt.Fprintf(&out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%s,"message":%s`, orNull(id), code, orText(r.failed["message"]))
	if data := r.failed["data"]; len(data) > 0 {
		out.WriteString(`,"data":`)
		if json.Compact(&out, data) != nil {
			return rpcError(id, rpcInternal, withheldText)
		}
	}
	out.WriteString("}}")
	return out.Bytes()
}

// coverSort runs the redactors over a part of what a tool or its server says, and
// keeps the shape that outputs of a tool have. What they cannot read, or build
// otherwise, is withheld.
func (s *Session) coverSort(ctx context.Context, sort event.Payload, tool string) (json.RawMessage, []event.Redaction) {
	given := sort.Data
	covered, found, ok := s.log.Redact(ctx, sort)
	if ok && bytes.Equal(covered, given) {
		return given, found
	}
	if ok {
		covered, ok = keepShape(tool, given, covered)
	}
	if !ok {
		return withheldOutput(tool, given), found
	}
	return covered, found
}
