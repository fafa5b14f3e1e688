package engine

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What tool servers say beside results: how they introduce themselves, their tools,
// and whatever else they answer. The model reads it, so it is covered like results.

// governOther takes the answer to a request that is no call.
func (p *process) governOther(server string, m rpcMessage, response json.RawMessage, reply func(json.RawMessage)) {
	if !p.session.covers() {
		reply(p.coveredOther(server, m, response))
		return
	}
	if !p.governing.start(func() { reply(p.coveredOther(server, m, response)) }) { // ends with the redactors
		reply(rpcError(m.id, rpcInternal, endedText))
	}
}

func (p *process) coveredOther(server string, m rpcMessage, response json.RawMessage) json.RawMessage {
	s := p.session
	var r rpcResponse
	err := bounded(response, s.maxToolMessage())
	if err == nil {
		r, err = readResponse(response)
	}
	if err != nil {
		p.tellUnusable(fmt.Sprintf("an answer of tool server %s to %s was not passed on: %v", clip(server), clip(m.method), err), nil)
		return rpcError(m.id, rpcInternal, "the tool server's answer was not passed on: "+err.Error())
	}
	c := noticeCover{session: s, server: server, told: &p.governing.told}
	if r.failed != nil {
		r.failed = map[string]json.RawMessage{"code": r.failed["code"], "message": c.value(r.failed["message"]), "data": c.value(r.failed["data"])}
		return r.encode(m.id)
	}
	covered := c.result(m.method, r)
	if covered == nil && answersTo(response, m.id) {
		return response
	}
	if covered == nil {
		covered = r.result
	}
	return rpcResponse{result: covered}.encode(m.id)
}

// noticeCover covers what a tool server says of itself.
type noticeCover struct {
	session *Session
	server  string
	told    *window // nil for what is no list
}

// shapeOf is the tool whose rules of shape hold: those of MCP servers.
const shapeOf = "mcp__"

// value covers one value in its own shape; what cannot be is withheld.
func (c noticeCover) value(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	out, _ := c.session.coverSort(c.session.untilDone(), event.Payload{Sink: event.SinkModel, Kind: event.Notice, Data: raw}, shapeOf)
	return out
}

// versionWord is a version of the protocol, and no secret.
var versionWord = regexp.MustCompile(`^"[0-9-]{1,16}"$`)

// result covers the result of a method; nil: there was nothing to cover.
func (c noticeCover) result(method string, r rpcResponse) map[string]json.RawMessage {
	covered := c.value(r.whole)
	if string(covered) == string(r.whole) && (method != methodList || !c.ambiguous(r.result["tools"])) {
		return nil
	}
	out, err := members(covered)
	if err != nil {
		out = map[string]json.RawMessage{}
	}
	switch method {
	case methodInitialize:
		if version := r.result["protocolVersion"]; versionWord.Match(version) {
			out["protocolVersion"] = version
		}
	case methodList:
		out["tools"] = c.tools(r.result["tools"])
		delete(out, "nextCursor")
		if cursor, more := r.result["nextCursor"]; more { // for the CLI alone, and of no use when it is changed
			out["nextCursor"] = cursor
		}
	}
	return out
}

// ambiguous reports whether two tools of a list have one full name.
func (c noticeCover) ambiguous(list json.RawMessage) bool {
	var tools []json.RawMessage
	if json.Unmarshal(list, &tools) != nil {
		return true
	}
	names := make(map[string]bool, len(tools))
	for _, tool := range tools {
		names[inprocTool(c.server, textOf(member(tool, "name")))] = true
	}
	return len(names) < len(tools)
}

// tools covers a list one by one. A tool whose name would be changed, or that cannot
// be covered in its shape, is left out, as nobody could call it, and so is one whose
// full name another one has.
func (c noticeCover) tools(list json.RawMessage) json.RawMessage {
	var tools []json.RawMessage
	if json.Unmarshal(list, &tools) != nil {
		return json.RawMessage("[]")
	}
	left, names := make([]json.RawMessage, 0, len(tools)), make(map[string]bool, len(tools))
	for _, tool := range tools {
		covered, name := c.value(tool), textOf(member(tool, "name"))
		if full := inprocTool(c.server, name); name != "" && textOf(member(covered, "name")) == name && !names[full] {
			left, names[full] = append(left, covered), true
		}
	}
	if gone := len(tools) - len(left); gone > 0 && (c.told == nil || c.told.take(time.Now(), maxUnusable)) { // the CLI asks as often as a server says that its list changed
		c.session.notice("tools_left_out", fmt.Sprintf("%d tools of server %s are not offered: their names hold what redaction covers or are those of others, or they could not be covered", gone, clip(c.server)), map[string]any{"server": c.server, "count": gone})
	}
	raw, err := plainJSON(left)
	if err != nil {
		return json.RawMessage("[]")
	}
	return raw
}
