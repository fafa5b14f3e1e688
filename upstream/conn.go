package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The version of MCP that is asked for: the newest that begins with a handshake.
const protocol = "2025-11-25"

// Bounds of a list of tools.
const (
	maxPages = 64
	maxTools = 512
	maxList  = 8 << 20 // bytes of all its tools
)

// carrier is what a connection runs over.
type carrier interface {
	mcp.Transport
	alive() context.Context // ends when it gave up by itself
	why(err error) error    // how it came to the end, which err is of
	lost(err error) bool    // a request that failed with err says that the connection ended
	stop() error            // returns when nothing is left
}

// conn is a connection to a server that has shaken hands. All that it returns is
// covered.
type conn struct {
	carrier carrier
	intake  *intake
	cover   *cover
	session *mcp.ClientSession

	ctx      context.Context // ends with the connection; its cause says why
	cancel   context.CancelCauseFunc
	changes  chan struct{} // holds one when the list of tools may have changed
	refusals meter
	logger   *slog.Logger
}

var errEnded = errors.New("it was ended by this side")

// connect shakes hands over a carrier, and stops that with an error.
func connect(ctx context.Context, t carrier, in *intake, version string, logger *slog.Logger) (*conn, error) {
	c := &conn{
		carrier: t, intake: in, cover: in.cover, logger: logger, changes: make(chan struct{}, 1),
		refusals: meter{window: tellAgain, most: 1},
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	client := mcp.NewClient(&mcp.Implementation{Name: "gatehouse", Version: version}, &mcp.ClientOptions{
		Capabilities:           &mcp.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed() },
		MultiRoundTrip:         &mcp.MultiRoundTripOptions{Disabled: true}, // a call is made once
	})
	client.AddReceivingMiddleware(c.refuse)
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.alive(), cancel)()
	session, err := client.Connect(within, t, &mcp.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		if ctx.Err() == nil {
			err = t.why(err)
		}
		c.cancel(errEnded)
		return nil, errors.Join(c.covered(err), t.stop())
	}
	c.session = session
	context.AfterFunc(t.alive(), func() { c.cancel(c.covered(t.why(nil))) })
	go c.watch() // ends with the session
	return c, nil
}

func (c *conn) watch() {
	err := c.session.Wait()
	if c.ctx.Err() == nil {
		c.cancel(c.covered(c.carrier.why(err)))
	}
}

func (c *conn) changed() {
	select {
	case c.changes <- struct{}{}:
	default: // it is known
	}
}

// refuse answers what servers ask of clients: nothing here is asked on their behalf.
func (c *conn) refuse(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, request mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				result, err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: method + " failed"}
			}
		}()
		if method == "ping" || strings.HasPrefix(method, "notifications/") {
			return next(ctx, method, request)
		}
		if missed, ok := c.refusals.take(1); ok {
			c.logger.Warn("mcp server: it asked for something that it may not; it was refused", "method", clip(method, 128), "before", missed)
		}
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: method + " is not offered"}
	}
}

// over is closed when the connection has ended; cause says how.
func (c *conn) over() <-chan struct{} { return c.ctx.Done() }

func (c *conn) cause() error { return context.Cause(c.ctx) }

func (c *conn) listChanged() <-chan struct{} { return c.changes }

// close ends the connection and what it runs over.
func (c *conn) close() error {
	c.cancel(errEnded) // and with it what is under way
	stopped := make(chan error, 1)
	go func() { stopped <- c.carrier.stop() }() // ends with the last of the carrier
	c.session.Close()                           // of a server that is gone, or about to be: its error says nothing
	return <-stopped
}

// instructions are what the server tells the model.
func (c *conn) instructions() string { return c.session.InitializeResult().Instructions }

// bound returns a context that also ends with the connection.
func (c *conn) bound(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

// call runs a tool. The result is as the server sent it.
func (c *conn) call(ctx context.Context, name string, arguments json.RawMessage) (json.RawMessage, error) {
	return c.ask(ctx, func(ctx context.Context) error {
		_, err := c.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		return err
	})
}

// list returns the tools of all pages as they stand, and whether that is all.
func (c *conn) list(ctx context.Context) (tools []json.RawMessage, whole bool, err error) {
	if has := c.session.InitializeResult().Capabilities; has == nil || has.Tools == nil {
		return nil, true, nil
	}
	size := 0
	for cursor, page := "", 0; page < maxPages; page++ {
		raw, err := c.ask(ctx, func(ctx context.Context) error {
			_, err := c.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor})
			return err
		})
		var list struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		if err != nil {
			return nil, false, fmt.Errorf("list its tools: %w", err)
		}
		for _, tool := range list.Tools {
			if size += len(tool); len(tools) == maxTools || size > maxList {
				return tools, false, nil
			}
			tools = append(tools, tool)
		}
		if cursor = list.NextCursor; cursor == "" {
			return tools, true, nil
		}
	}
	return tools, false, nil
}

// ask sends one request, whose raw result is returned. It returns with ctx, also
// where the server does not read what it is sent.
func (c *conn) ask(ctx context.Context, send func(context.Context) error) (json.RawMessage, error) {
	within, done := c.bound(ctx)
	within, answer := asking(within)
	sent := make(chan error, 1)
	go func() { // ends with ctx, or when a write is given up, see patience
		defer done()
		defer c.intake.forget(answer)
		sent <- send(within)
	}()
	var err error
	select {
	case err = <-sent:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch {
	case err == nil && answer.result == nil:
		return nil, errors.New("it answered without a result")
	case err == nil:
		return answer.result, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, c.failed(ctx, err)
}

// failed says why a request failed: by the server's own words, or by the end of the
// connection, which may become known a moment later.
func (c *conn) failed(ctx context.Context, err error) error {
	var said *jsonrpc.Error
	if errors.As(err, &said) || !c.carrier.lost(err) {
		return c.covered(err)
	}
	late := time.NewTimer(3 * lastWords)
	defer late.Stop()
	select {
	case <-c.over():
		return c.cause()
	case <-ctx.Done():
	case <-late.C:
	}
	return c.covered(err)
}

// told is an error that holds nothing but its text, and whether a context ended.
type told struct {
	text string
	kind error // context.DeadlineExceeded, context.Canceled or nil
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.kind }

// covered is an error with the text of err, without secrets and what the go-sdk
// and the HTTP client put around it.
func (c *conn) covered(err error) error {
	if err == nil {
		return errors.New("it ended the connection")
	}
	text := err.Error()
	if request, ok := errors.AsType[*url.Error](err); ok { // it holds the whole URL
		text = strings.ReplaceAll(text, request.Error(), request.Err.Error())
	}
	text = strings.ReplaceAll(text, "rejected by transport: ", "")
	text = strings.ReplaceAll(text, unanswered, "its response ended without an answer")
	for _, method := range []string{"initialize", "tools/call", "tools/list"} {
		text = strings.TrimPrefix(text, fmt.Sprintf("calling %q: ", method))
	}
	if c.session != nil && c.session.ID() != "" { // it is a credential, too
		text = strings.ReplaceAll(text, c.session.ID(), coveredAs)
	}
	t := &told{text: clip(c.cover.text(text), stderrLine)}
	for _, kind := range []error{context.DeadlineExceeded, context.Canceled} {
		if errors.Is(err, kind) {
			t.kind = kind
		}
	}
	return t
}
