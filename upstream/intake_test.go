package upstream

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// wire is a carrier of which the test is the other end.
type wire struct {
	intake   *intake
	messages chan jsonrpc.Message
	sent     chan *jsonrpc.Request
	done     chan struct{}
}

func (w *wire) Connect(context.Context) (mcp.Connection, error) { return w, nil }
func (w *wire) SessionID() string                               { return "" }
func (w *wire) alive() context.Context                          { return context.Background() }
func (w *wire) why(err error) error                             { return err }
func (w *wire) lost(error) bool                                 { return false }
func (w *wire) stop() error                                     { return nil }

func (w *wire) Close() error {
	close(w.done)
	return nil
}

func (w *wire) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-w.messages:
		return m, nil
	case <-w.done:
		return nil, io.EOF
	}
}

func (w *wire) Write(ctx context.Context, m jsonrpc.Message) error {
	w.intake.sent(ctx, m)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		w.sent <- r
	}
	return nil
}

// say is what the server sends.
func (w *wire) say(t *testing.T, format string, args ...any) {
	t.Helper()
	message, err := w.intake.take(fmt.Appendf(nil, format, args...))
	if err != nil {
		t.Fatal(err)
	}
	if message != nil {
		w.messages <- message
	}
}

// Whatever a server sends out of turn, this process and the connection live on.
func TestMessagesOutOfTurn(t *testing.T) {
	in := newIntake(newCover(nil), discard)
	in.unasked.most = 1 << 30
	w := &wire{intake: in, messages: make(chan jsonrpc.Message), sent: make(chan *jsonrpc.Request, 1), done: make(chan struct{})}
	go func() { // ends with the handshake
		r := <-w.sent
		w.say(t, `{"jsonrpc":"2.0","id":%v,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}}`, r.ID.Raw())
	}()
	c, err := connect(t.Context(), w, in, "test", discard)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	methods := "initialize ping sampling/createMessage elicitation/create roots/list tools/call nothing"
	for _, what := range strings.Fields("cancelled progress message initialized elicitation/complete resources/updated resources/list_changed prompts/list_changed tools/list_changed roots/list_changed") {
		methods += " notifications/" + what
	}
	for _, method := range strings.Fields(methods) {
		for _, id := range []string{"", `,"id":1`, `,"id":"a"`, `,"id":null`, `,"id":{}`} {
			for _, params := range []string{"", `,"params":null`, `,"params":{}`, `,"params":[]`, `,"params":7`, `,"params":{"requestId":{},"progressToken":{},"_meta":5,"level":7,"uri":1}`} {
				w.say(t, `{"jsonrpc":"2.0","method":%q%s%s}`, method, id, params)
			}
		}
	}
	for _, odd := range []string{`[]`, `null`, `7`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"m"}}`, `{"jsonrpc":"2.0","id":2,"error":null}`, `{"jsonrpc":"2.0","id":99,"result":{}}`} {
		w.say(t, "%s", odd)
	}
	answered := make(chan error, 1)
	go func() { // ends with the answer
		_, err := c.call(t.Context(), "echo", nil)
		answered <- err
	}()
	r := <-w.sent
	w.say(t, `{"jsonrpc":"2.0","id":"%v","result":{"of":"another id"}}`, r.ID.Raw())
	w.say(t, `{"jsonrpc":"2.0","id":%v,"result":{"content":[]}}`, r.ID.Raw())
	w.say(t, `{"jsonrpc":"2.0","id":%v,"result":{"twice":1}}`, r.ID.Raw())
	if err := <-answered; err != nil || c.ctx.Err() != nil {
		t.Errorf("call: %v; connection: %v", err, c.cause())
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.open) != 0 {
		t.Errorf("%d requests are kept", len(in.open))
	}
}
