// Package control speaks the CLI's control protocol over a stream of JSON
// messages: it matches answers to calls, serves the peer's requests
// concurrently, and cancels what the peer withdraws.
//
// [Conn.Serve] is the one reader; it starts one goroutine per request of the
// peer, which ends when the handler returns, and waits for all of them. Requests
// whose order counts are handed over in the reader's own goroutine and answered
// later; it does not wait for those.
package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
	"github.com/gatehouse-mcp/gatehouse/internal/workers"
)

// ErrClosed is returned by Call once the stream has ended.
var ErrClosed = errors.New("control stream closed")

// Stream carries whole messages. Read is called by one goroutine only; Write is
// called with a lock held and must give up by itself when the peer does not read.
type Stream interface {
	Read() (json.RawMessage, error)
	Write(json.RawMessage) error
}

// Handler is what a Conn drives.
type Handler interface {
	// HandleRequest answers a control request in its own goroutine. ctx ends when
	// the peer withdraws the request (then the answer is dropped) or the stream ends.
	HandleRequest(ctx context.Context, r Request) (any, error)
	// HandleInOrder is offered each request of subtype mcp_message before
	// HandleRequest, in the order they came, in the goroutine that reads: it must not
	// block. true: it answers by reply, once (more is dropped), from any goroutine;
	// reply does not block. ctx ends when it is answered, when the peer withdraws it
	// or the stream ends; after that a reply is dropped. Serve does not wait for it.
	HandleInOrder(ctx context.Context, r Request, reply func(answer any, err error)) bool
	// HandleMessage takes every other message, in order, one at a time.
	HandleMessage(ctx context.Context, kind string, fields map[string]json.RawMessage)
	// HandleNoise is told of a line that is no message, or a control message that
	// cannot be trusted. It was not acted upon.
	HandleNoise(ctx context.Context, reason string)
	// HandleUnanswered is told of a hook's question that cannot be answered. The
	// peer takes an error, and in the end no answer, for leave to go on, so all
	// that keeps it from that is to end it. Nothing was sent.
	HandleUnanswered(ctx context.Context, reason string)
}

// Conn is one connection. It is safe for concurrent use.
type Conn struct {
	stream  Stream
	handler Handler

	write sync.Mutex

	mu      sync.Mutex
	lastID  int
	calls   map[string]chan answer // our requests under way
	serving map[string]*serving    // the peer's requests that wait for an answer
	busy    [sorts]int             // those and their handlers and writers, at most MaxInFlight each
	closed  bool

	writers workers.Pool // of answers to requests taken in order
}

type answer struct {
	body json.RawMessage
	err  error
}

// NewConn makes a Conn; nothing happens before Serve.
func NewConn(s Stream, h Handler) *Conn {
	return &Conn{stream: s, handler: h, calls: make(map[string]chan answer), serving: make(map[string]*serving)}
}

// Serve reads until the stream ends and returns its error. Before it returns,
// open calls fail with ErrClosed, and every handler has returned. Replies to
// requests taken in order are dropped from then on.
func (c *Conn) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var handlers sync.WaitGroup
	defer c.writers.Close()
	defer handlers.Wait()
	defer c.close()
	defer cancel()
	for {
		line, err := c.stream.Read()
		if err != nil {
			return err
		}
		c.dispatch(ctx, &handlers, Sanitize(line))
	}
}

func (c *Conn) dispatch(ctx context.Context, handlers *sync.WaitGroup, line json.RawMessage) {
	fields, err := object(line)
	if err != nil && bytes.Contains(line[:min(len(line), hookWithin)], []byte(`"`+subtypeHook+`"`)) {
		c.handler.HandleUnanswered(ctx, "a hook's question cannot be read: "+err.Error())
		return
	}
	if err != nil {
		c.handler.HandleNoise(ctx, "line is no JSON object")
		return
	}
	kind := text(fields["type"])
	switch kind {
	case typeAlive:
	case typeRequest, typeResponse, typeCancel:
		if err := unambiguous(line); err != nil { // object has found it valid
			c.unclear(ctx, handlers, line, err)
			return
		}
		c.control(ctx, handlers, kind, fields)
	default:
		c.handler.HandleMessage(ctx, kind, fields)
	}
}

// unclear deals with a control message that parsers could read in several ways.
// Of a hook's question whose envelope is clear the handler still gets the
// envelope: it may know an answer that is right whatever the rest says.
func (c *Conn) unclear(ctx context.Context, handlers *sync.WaitGroup, line json.RawMessage, cause error) {
	fields, _ := object(line) // it was read before
	r, err := parseRequest(fields)
	if err != nil || r.Subtype != subtypeHook || !distinct(line) || !distinct(fields["request"]) {
		c.refuse(ctx, fields, cause)
		return
	}
	callback := r.Fields["callback_id"]
	r.Fields, r.Unclear = map[string]json.RawMessage{"callback_id": callback}, cause
	c.serve(ctx, handlers, r)
}

// distinct reports whether an object has each of its own members once.
func distinct(object json.RawMessage) bool {
	seen, once := map[string]bool{}, true
	rawjson.Each(object, func(literal, _ []byte) {
		name, err := rawjson.Name(literal)
		once = once && err == nil && !seen[name]
		seen[name] = true
	})
	return once
}

// subtypeHook is the subtype of a hook's question. Where a line is no JSON, it is
// looked for in the first hookWithin bytes.
const (
	subtypeHook = "hook_callback"
	hookWithin  = 512
)

// refuse answers a request that cannot be read in one way only with an error,
// which the CLI takes as a deny for a permission question. Of a hook's question
// it would take it for leave.
func (c *Conn) refuse(ctx context.Context, fields map[string]json.RawMessage, cause error) {
	if isHook(fields["request"]) {
		c.handler.HandleUnanswered(ctx, "a hook's question was refused: "+cause.Error())
		return
	}
	c.handler.HandleNoise(ctx, "control message refused: "+cause.Error())
	if id := text(fields["request_id"]); id != "" {
		c.send(errorLine(id, "message refused: "+cause.Error()))
	}
}

// isHook reports whether a request is a hook's question in any reading of it.
func isHook(request json.RawMessage) (hook bool) {
	rawjson.Each(request, func(literal, value []byte) {
		if name, err := rawjson.Name(literal); err != nil || name == "subtype" && text(value) == subtypeHook {
			hook = true
		}
	})
	return hook
}

func (c *Conn) control(ctx context.Context, handlers *sync.WaitGroup, kind string, fields map[string]json.RawMessage) {
	switch kind {
	case typeRequest:
		r, err := parseRequest(fields)
		if err != nil {
			c.refuse(ctx, fields, err)
			return
		}
		c.serve(ctx, handlers, r)
	case typeResponse:
		c.deliver(fields)
	case typeCancel:
		c.withdraw(text(fields["request_id"]))
	}
}

// serve runs the handler in a goroutine that ends when the handler returns.
func (c *Conn) serve(ctx context.Context, handlers *sync.WaitGroup, r Request) {
	if r.Subtype == subtypeMessage && c.inOrder(ctx, handlers, r) {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	entry := &serving{cancel: cancel, sort: sortOf(r)}
	if !c.enter(r.ID, entry) {
		cancel()
		c.turnAway(ctx, r)
		return
	}
	handlers.Go(func() {
		defer cancel()
		defer c.over(entry)
		body, err := c.handle(ctx, r)
		if !c.leave(r.ID, entry) {
			return // withdrawn: the peer wants no answer
		}
		c.answer(ctx, r, body, err)
	})
}

// answer sends the answer to a request. One that cannot be encoded is an error, as
// the peer would wait for ever; of a hook's question the handler is told instead.
func (c *Conn) answer(ctx context.Context, r Request, body any, err error) {
	var line json.RawMessage
	if err == nil {
		line, err = successLine(r.ID, body)
	}
	switch {
	case err == nil:
		c.send(line, nil)
	case r.Subtype == subtypeHook:
		c.handler.HandleUnanswered(ctx, "a hook's question was not answered: "+err.Error())
	default:
		c.send(errorLine(r.ID, err.Error()))
	}
}

func (c *Conn) handle(ctx context.Context, r Request) (body any, err error) {
	defer func() {
		if p := recover(); p != nil {
			body, err = nil, fmt.Errorf("request %s: internal error: %v", r.Subtype, p)
		}
	}()
	return c.handler.HandleRequest(ctx, r)
}

func (c *Conn) deliver(fields map[string]json.RawMessage) {
	response, err := object(fields["response"])
	if err != nil {
		return
	}
	c.mu.Lock()
	ch := c.calls[text(response["request_id"])]
	delete(c.calls, text(response["request_id"]))
	c.mu.Unlock()
	if ch == nil {
		return // an answer nobody waits for any more
	}
	if text(response["subtype"]) != "success" {
		ch <- answer{err: errors.New(text(response["error"]))}
		return
	}
	ch <- answer{body: response["response"]}
}

// Call sends a control request and waits for its answer. The error is ErrClosed
// once the stream has ended, the peer's text for an error answer, or ctx's.
func (c *Conn) Call(ctx context.Context, subtype string, fields map[string]any) (json.RawMessage, error) {
	id, ch, err := c.register()
	if err != nil {
		return nil, fmt.Errorf("control request %s: %w", subtype, err)
	}
	if err := c.send(requestLine(id, subtype, fields)); err != nil {
		c.forget(id)
		return nil, fmt.Errorf("control request %s: %w", subtype, err)
	}
	select {
	case a := <-ch:
		if a.err != nil {
			return nil, fmt.Errorf("control request %s: %w", subtype, a.err)
		}
		return a.body, nil
	case <-ctx.Done():
		c.forget(id)
		return nil, fmt.Errorf("control request %s: %w", subtype, context.Cause(ctx))
	}
}

// Send writes a message that wants no answer.
func (c *Conn) Send(message any) error { return c.send(marshal(message)) }

func marshal(v any) (json.RawMessage, error) { return json.Marshal(v) }

func (c *Conn) send(line json.RawMessage, err error) error {
	if err != nil {
		return fmt.Errorf("encode control message: %w", err)
	}
	c.write.Lock()
	defer c.write.Unlock()
	return c.stream.Write(line)
}

func (c *Conn) register() (string, chan answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return "", nil, ErrClosed
	}
	c.lastID++
	id := "gh_" + strconv.Itoa(c.lastID)
	ch := make(chan answer, 1) // exactly one answer is delivered
	c.calls[id] = ch
	return id, ch, nil
}

func (c *Conn) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, id)
}

func (c *Conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for id, ch := range c.calls {
		ch <- answer{err: ErrClosed}
		delete(c.calls, id)
	}
}
