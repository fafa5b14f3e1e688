package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// This file carries messages of the CLI to tool servers. The CLI waits for an answer
// to each of them, also to a notification, and hangs without one.

// JSON-RPC error codes.
const (
	rpcInvalidRequest = -32600
	rpcNotFound       = -32601
	rpcInternal       = -32603
)

// acknowledged is the answer to a notification.
var acknowledged = json.RawMessage(`{"jsonrpc":"2.0","result":{},"id":0}`)

// HandleInOrder takes a message for a tool server of this process.
func (p *process) HandleInOrder(ctx context.Context, r control.Request, reply func(any, error)) bool {
	if r.Subtype != "mcp_message" {
		return false
	}
	message := r.Fields["message"]
	p.toolMessage(ctx, r.String("server_name"), message, onceFor(message, func(response json.RawMessage) {
		reply(map[string]json.RawMessage{"mcp_response": response}, nil)
	}))
	return true
}

func (p *process) toolMessage(ctx context.Context, server string, message json.RawMessage, reply func(json.RawMessage)) {
	if !isObject(message) {
		reply(rpcError(nil, rpcInvalidRequest, "the message is no JSON object"))
		return
	}
	o := p.session.toolServer(server)
	if o == nil {
		reply(rpcRefusal(message, rpcNotFound, fmt.Sprintf("Server %q not found", clip(server))))
		return
	}
	link := p.linkTo(*o, message)
	if link == nil {
		reply(rpcRefusal(message, rpcInternal, fmt.Sprintf("Server %q could not be connected", server)))
		return
	}
	p.governed(ctx, server, link, message, reply)
}

// onceFor makes a reply that counts once and always says something.
func onceFor(message json.RawMessage, reply func(json.RawMessage)) func(json.RawMessage) {
	var replied atomic.Bool
	return func(response json.RawMessage) {
		if replied.Swap(true) {
			return
		}
		if len(bytes.TrimSpace(response)) == 0 {
			response = rpcRefusal(message, rpcInternal, "the server gave no answer")
		}
		reply(response)
	}
}

// rpcRefusal answers a message that is not delivered; of a notification, or an
// answer to a server, the sender wants no more than that it came.
func rpcRefusal(message json.RawMessage, code int, text string) json.RawMessage {
	id, method := rpcHead(message)
	if id == nil || method == "" {
		return acknowledged
	}
	return rpcError(id, code, text)
}

// rpcError is a JSON-RPC error; id nil: it cannot be told.
func rpcError(id json.RawMessage, code int, text string) json.RawMessage {
	if id == nil {
		id = json.RawMessage("null")
	}
	message, _ := json.Marshal(text) // a text always encodes
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, message)
}

// rpcHead is what tells the kinds of messages apart; id is nil where there is none
// that JSON-RPC knows, a text or a number.
func rpcHead(message json.RawMessage) (id json.RawMessage, method string) {
	rawjson.Each(message, func(literal, value []byte) {
		switch name, _ := rawjson.Name(literal); name {
		case "id":
			if kind := rawjson.Kind(value); kind == "a string" || kind == "a number" {
				id = value
			}
		case "method":
			_ = json.Unmarshal(value, &method) // no text: no method
		}
	})
	return id, method
}
