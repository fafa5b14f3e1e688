package engine

import "encoding/json"

// governed hands one message of the CLI to a tool server, under policy. It is called
// in the order the messages came in, and does not block; reply is called exactly
// once, from any goroutine.
func (p *process) governed(server string, link ToolLink, message json.RawMessage, reply func(json.RawMessage)) {
	link.Deliver(message, reply)
}
