package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// Bounds of what a server says.
const (
	maxMessage     = 8 << 20 // bytes of one message
	maxDepth       = 200     // levels of one message
	maxUnasked     = 100     // messages a second that answer no request
	maxUnaskedSize = 16 << 20
	tellAgain      = time.Minute // between two lines of the log about the same thing
)

var (
	errFlood   = fmt.Errorf("it sent more than %d messages in a second that answer no request, or more than %d MiB of them", maxUnasked, maxUnaskedSize>>20)
	errTooDeep = fmt.Errorf("it sent a message nested deeper than %d levels", maxDepth)
	errTooLong = fmt.Errorf("it sent a message of more than %d MiB", maxMessage>>20)
)

// answer is what a server made of one of our requests, as it stands in its message.
type answer struct {
	id     jsonrpc.ID
	result json.RawMessage // nil: none came
}

type answerKey struct{}

// asking returns a context for a request whose result is wanted as it stands: the
// client of the go-sdk would take it apart and put it together in its own way.
func asking(ctx context.Context) (context.Context, *answer) {
	a := new(answer)
	return context.WithValue(ctx, answerKey{}, a), a
}

// stub is what the client of the go-sdk gets in place of a wanted result.
var stub = json.RawMessage(`{"content":[],"tools":[]}`)

// intake is the one way in for messages of a connection. It is safe for concurrent
// use.
type intake struct {
	cover  *cover
	logger *slog.Logger

	unasked, size meter
	strange       meter // how often what is no message is told

	mu   sync.Mutex
	open map[jsonrpc.ID]*answer // our requests that were not answered
}

func newIntake(c *cover, logger *slog.Logger) *intake {
	return &intake{
		cover: c, logger: logger, open: make(map[jsonrpc.ID]*answer),
		unasked: meter{window: time.Second, most: maxUnasked},
		size:    meter{window: time.Second, most: maxUnaskedSize},
		strange: meter{window: tellAgain, most: 1},
	}
}

// sent notes a message before it goes out.
func (in *intake) sent(ctx context.Context, message jsonrpc.Message) {
	request, ok := message.(*jsonrpc.Request)
	if !ok || !request.IsCall() {
		return
	}
	a, _ := ctx.Value(answerKey{}).(*answer)
	in.mu.Lock()
	defer in.mu.Unlock()
	if a != nil {
		a.id = request.ID
	}
	in.open[request.ID] = a
}

// forget drops a request that nobody waits for any more.
func (in *intake) forget(a *answer) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.open, a.id)
}

// take makes a message of what a server sent, covered. nil is for what is to be
// passed over; an error says that the server is to be left.
func (in *intake) take(raw []byte) (jsonrpc.Message, error) {
	if rawjson.Deeper(raw, maxDepth) {
		return nil, errTooDeep
	}
	message, err := jsonrpc.DecodeMessage(in.cover.message(raw))
	if err != nil {
		if missed, ok := in.strange.take(1); ok {
			in.logger.Warn("mcp server: it sent what is no message of MCP; it was passed over", "text", clip(in.cover.text(string(raw)), stderrLine), "before", missed)
		}
		return nil, in.unbidden(len(raw))
	}
	switch message := message.(type) {
	case *jsonrpc.Request:
		if heeded(message) {
			return message, in.unbidden(len(raw))
		}
	case *jsonrpc.Response:
		if in.settle(message) {
			return message, nil
		}
	}
	return nil, in.unbidden(len(raw))
}

// heeded reports whether a message of a server that is no answer is passed on, and
// takes from it what is not needed: some of the handlers of the go-sdk panic at
// parameters they do not expect, which would end this process.
func heeded(r *jsonrpc.Request) bool {
	r.Params = json.RawMessage("{}")
	return r.IsCall() || r.Method == "notifications/tools/list_changed"
}

// settle reports whether a response answers a request of ours for the first time.
func (in *intake) settle(response *jsonrpc.Response) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	a, ok := in.open[response.ID]
	delete(in.open, response.ID)
	if a != nil && response.Error == nil {
		a.result, response.Result = response.Result, stub
	}
	return ok
}

// unbidden counts what answers no request.
func (in *intake) unbidden(size int) error {
	_, few := in.unasked.take(1)
	_, small := in.size.take(size)
	if !few || !small {
		return errFlood
	}
	return nil
}

// tooLong says it in the words of this package.
func tooLong(err error) error {
	if errors.Is(err, cli.ErrLineTooLong) {
		return errTooLong
	}
	return err
}
