package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// governedPush is a message that a tool server sends by itself, as the CLI may get
// it; false: it is not passed on. It is for any goroutine.
func (p *process) governedPush(server string, message json.RawMessage) (json.RawMessage, bool) {
	covered, err := p.coveredPush(server, message)
	if err != nil {
		p.tellUnusable(fmt.Sprintf("a message of tool server %s was not passed on: %v", clip(server), err), nil)
		return nil, false
	}
	return covered, true
}

// methodWord is what the name of a method looks like, and no secret.
var methodWord = regexp.MustCompile(`^[A-Za-z_/-]{1,64}$`)

func (p *process) coveredPush(server string, message json.RawMessage) (json.RawMessage, error) {
	if err := bounded(message, p.session.maxToolMessage()); err != nil {
		return nil, err
	}
	if !json.Valid(message) {
		return nil, errors.New("it is no JSON")
	}
	m, err := readMessage(message)
	if err != nil {
		return nil, err
	}
	if !methodWord.MatchString(m.method) {
		return nil, errors.New("it has no method that is known")
	}
	out := map[string]json.RawMessage{"jsonrpc": json.RawMessage(`"2.0"`), "method": json.RawMessage(`"` + m.method + `"`)}
	c := noticeCover{session: p.session, server: server}
	if m.id != nil {
		if m.id[0] == '"' && !bytes.Equal(c.value(m.id), m.id) {
			return nil, errors.New("its id cannot be passed on uncovered")
		}
		out["id"] = m.id
	}
	if m.params != nil {
		out["params"] = c.params(m.params)
	}
	return plainJSON(out)
}

// params covers those of a push, but for what names a request of the CLI: a number.
func (c noticeCover) params(params json.RawMessage) json.RawMessage {
	covered := c.value(params)
	if string(covered) == string(params) {
		return params
	}
	out, err := members(covered)
	if err != nil {
		return json.RawMessage("{}")
	}
	rawjson.Each(params, func(literal, value []byte) {
		name := string(literal)
		if _, err := readID(value); err == nil && value[0] != '"' && (name == `"progressToken"` || name == `"requestId"`) {
			out[name[1:len(name)-1]] = value
		}
	})
	raw, err := plainJSON(out)
	if err != nil {
		return json.RawMessage("{}")
	}
	return raw
}

// maxUnusable bounds the notices of a minute about what servers say and nobody can
// use; further ones are dropped.
const maxUnusable = 10

// tellUnusable tells of a message of a tool server that was not passed on.
func (p *process) tellUnusable(message string, more map[string]any) {
	if p.governing.told.take(time.Now(), maxUnusable) {
		p.session.notice("limit", message, more)
	}
}
