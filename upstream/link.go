package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Bounds of a link that waits for the first connection to its server. The CLI waits
// with its first turn until it has the tools. Of a server that did not come in that
// time, or failed, links do not wait until it has worked.
const (
	longestHold = 8 * time.Second
	mostHeld    = 64 // messages
)

// link is one session's process on a peer. Until it is known what the server offers
// it holds what the CLI sends, in order.
type link struct {
	peer  *peer
	inner inproc.Link
	left  func(context.Context) error // tells that it is closed

	freed chan struct{} // closed when nothing is held any more
	close sync.Once
	ended context.Context
	end   context.CancelFunc

	mu      sync.Mutex
	holding bool
	held    []delivery
}

type delivery struct {
	message json.RawMessage
	reply   func(json.RawMessage)
}

// newLink joins a peer; known is nil where nothing has to be waited for.
func newLink(p *peer, inner inproc.Link, known <-chan struct{}, left func(context.Context) error) *link {
	l := &link{peer: p, inner: inner, left: left, freed: make(chan struct{}), holding: known != nil}
	l.ended, l.end = context.WithCancel(context.Background())
	if known == nil {
		close(l.freed)
		return l
	}
	go l.hold(known, min(longestHold, p.server.c.StartTimeout)) // ends by then, or with the link
	return l
}

func (l *link) hold(known <-chan struct{}, most time.Duration) {
	defer close(l.freed)
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-known:
	case <-late.C:
		l.peer.server.absent.Store(true) // nobody waits for it again
	case <-l.ended.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.held {
		l.pass(d)
	}
	l.holding, l.held = false, nil
}

// Deliver implements inproc.Link.
func (l *link) Deliver(message json.RawMessage, reply func(json.RawMessage)) {
	l.mu.Lock()
	defer l.mu.Unlock() // so that what was held stays in front
	d := delivery{message, reply}
	switch {
	case !l.holding:
		l.pass(d)
	case len(l.held) < mostHeld:
		l.held = append(l.held, d)
	default:
		reply(l.refusal(message))
	}
}

// pass hands a message on; it does not wait.
func (l *link) pass(d delivery) {
	if bytes.Contains(d.message, []byte(`"initialize"`)) && member(d.message, "method") == `"initialize"` {
		reply := d.reply
		d.reply = func(response json.RawMessage) { reply(instructed(response, l.peer.instructions())) }
	}
	l.inner.Deliver(d.message, d.reply)
}

// member is the last one of that name of a JSON object, as it stands.
func member(doc json.RawMessage, name string) (value string) {
	if !json.Valid(doc) {
		return ""
	}
	rawjson.Each(doc, func(literal, v []byte) {
		if n, err := rawjson.Name(literal); err == nil && n == name {
			value = string(v)
		}
	})
	return value
}

// instructed adds what the server tells the model to the answer to initialize.
func instructed(response json.RawMessage, text string) json.RawMessage {
	var answer, result map[string]json.RawMessage
	if text == "" || json.Unmarshal(response, &answer) != nil || json.Unmarshal(answer["result"], &result) != nil || result == nil {
		return response
	}
	var err error
	if result["instructions"], err = json.Marshal(text); err != nil {
		return response
	}
	if answer["result"], err = json.Marshal(result); err != nil {
		return response
	}
	changed, err := json.Marshal(answer)
	if err != nil {
		return response
	}
	return changed
}

// refusal answers one message too many.
func (l *link) refusal(message json.RawMessage) json.RawMessage {
	id := member(message, "id")
	if id == "" {
		return json.RawMessage(`{"jsonrpc":"2.0","result":{},"id":0}`)
	}
	text, _ := json.Marshal(fmt.Sprintf("MCP server %q is starting, and %d messages wait for it already", l.peer.server.c.Name, mostHeld))
	return json.RawMessage(`{"jsonrpc":"2.0","id":` + id + `,"error":{"code":-32603,"message":` + string(text) + `}}`)
}

// Close implements inproc.Link.
func (l *link) Close(ctx context.Context) (err error) {
	l.close.Do(func() {
		l.end()
		<-l.freed // at once
		err = l.inner.Close(ctx)
		l.peer.leave()
		if later := l.left(ctx); err == nil {
			err = later
		}
	})
	return err
}
