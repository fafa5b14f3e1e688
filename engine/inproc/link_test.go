package inproc

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addGated adds a tool that says who it is when released or cancelled; with stubborn
// it hears only the release.
func addGated(server *mcp.Server, name string, release <-chan struct{}, stubborn bool) <-chan string {
	began := make(chan string, 1000)
	mcp.AddTool(server, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.CallToolRequest, in textArgs) (*mcp.CallToolResult, any, error) {
		began <- in.Text
		done := ctx.Done()
		if stubborn {
			done = nil
		}
		select {
		case <-release:
			return say("done " + in.Text), nil, nil
		case <-done:
			return nil, nil, fmt.Errorf("cancelled %s", in.Text)
		}
	})
	return began
}

func text(n int) string { return fmt.Sprintf(`{"text":"%d"}`, n) }

func TestManyCallsHalfCancelled(t *testing.T) {
	const calls = 100
	server, release := testServer(), make(chan struct{})
	began := addGated(server, "gated", release, false)
	c := dial(t, Serve(server, &Options{MaxInFlight: calls}), "s").handshake()
	answers := make([]<-chan string, calls)
	for i := range calls {
		answers[i] = c.send(toolCall(i+1, "gated", text(i+1)))
	}
	for range calls {
		<-began
	}
	var cancels sync.WaitGroup
	for i := 0; i < calls; i += 2 {
		cancels.Go(func() { c.ask(cancellation(i + 1)) })
	}
	cancels.Wait()
	for i := 0; i < calls; i += 2 { // while the others run
		if got, want := c.answer(answers[i]), fmt.Sprintf(`"id":%d,"result":{"content":[{"type":"text","text":"cancelled %d"}],"isError":true`, i+1, i+1); !strings.Contains(got, want) {
			t.Errorf("call %d: %s", i+1, got)
		}
	}
	close(release)
	for i := 1; i < calls; i += 2 {
		if got, want := c.answer(answers[i]), fmt.Sprintf(`"id":%d,"result":{"content":[{"type":"text","text":"done %d"}]`, i+1, i+1); !strings.Contains(got, want) {
			t.Errorf("call %d: %s", i+1, got)
		}
	}
}

// TestCancelBehindItsCall delivers call and cancellation at once: the cancellation
// never gets there first, or the call would wait for ever.
func TestCancelBehindItsCall(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s").handshake()
	for i := range 500 {
		call := c.send(toolCall(i+1, "wait", `{}`))
		c.ask(cancellation(i + 1))
		if got := c.answer(call); !strings.Contains(got, "context canceled") {
			t.Fatalf("call %d: %s", i, got)
		}
	}
}

func TestRepeatedInitialize(t *testing.T) {
	server, release := testServer(), make(chan struct{})
	began := addGated(server, "gated", release, false)
	c := dial(t, Serve(server, nil), "s")
	for range 3 * maxSessions {
		c.handshake()
		call := c.send(toolCall(1, "gated", text(1)))
		<-began
		if got := c.ask(hello); !strings.Contains(got, "serverInfo") {
			t.Fatalf("initialize while a call runs: %s", got)
		}
		if got := c.answer(call); !strings.Contains(got, `"id":1,"error":{"code":-32603,"message":"the CLI began a new session`) {
			t.Errorf("call of the session before: %s", got)
		}
		if got := c.ask(toolCall(1, "echo", `{"text":"x"}`)); !strings.Contains(got, `"s:x"`) {
			t.Errorf("the same id in the new session: %s", got)
		}
	}
}

func TestStubbornSessionsAreBounded(t *testing.T) {
	server, release := testServer(), make(chan struct{})
	began := addGated(server, "gated", release, true)
	c := dial(t, Serve(server, nil), "s")
	for range maxSessions {
		c.handshake()
		c.send(toolCall(1, "gated", text(1)))
		<-began
	}
	if got := c.ask(hello); !strings.Contains(got, "handlers of 8 sessions with this server have not ended, which is the limit") {
		t.Error(got)
	}
	close(release)
}

func TestDuplicateID(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s").handshake()
	first := c.send(toolCall(7, "wait", `{}`))
	if got := c.ask(toolCall(7, "echo", `{"text":"x"}`)); got != `{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"id 7 is in use by a request that has not ended"}}` {
		t.Error(got)
	}
	if got := c.ask(toolCall(`"7"`, "echo", `{"text":"x"}`)); !strings.Contains(got, `"s:x"`) {
		t.Errorf("the same as text is another id: %s", got)
	}
	c.ask(cancellation(7))
	if got := c.answer(first); !strings.Contains(got, "context canceled") {
		t.Error(got)
	}
	if got := c.ask(toolCall(7, "echo", `{"text":"again"}`)); !strings.Contains(got, `"s:again"`) {
		t.Errorf("the id after its call: %s", got)
	}
}

func TestInFlightBound(t *testing.T) {
	server, release := testServer(), make(chan struct{})
	began := addGated(server, "gated", release, false)
	c := dial(t, Serve(server, &Options{MaxInFlight: 2}), "s").handshake()
	one, two := c.send(toolCall(1, "gated", text(1))), c.send(toolCall(2, "gated", text(2)))
	<-began
	<-began
	if got := c.ask(toolCall(3, "echo", `{"text":"x"}`)); got != `{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"2 requests are under way on this connection, which is the limit"}}` {
		t.Error(got)
	}
	close(release)
	c.answer(one)
	c.answer(two)
	if got := c.ask(toolCall(3, "echo", `{"text":"x"}`)); !strings.Contains(got, `"s:x"`) {
		t.Errorf("when there is room: %s", got)
	}
}

// TestRepliesAreBounded has a CLI that takes no answers: its calls end, and must not
// pile up behind them.
func TestRepliesAreBounded(t *testing.T) {
	c := dial(t, Serve(testServer(), &Options{MaxInFlight: 2}), "s").handshake()
	release, stuck := make(chan struct{}), make(chan struct{}, 1)
	for id := range 2 + DefaultMaxInFlight {
		c.link.Deliver(json.RawMessage(toolCall(id+1, "echo", `{"text":"x"}`)), func(json.RawMessage) {
			stuck <- struct{}{}
			<-release
		})
		<-stuck
	}
	for _, m := range []string{toolCall(3, "echo", `{"text":"x"}`), hello} {
		if got := c.ask(m); !strings.Contains(got, `"code":-32000,"message":"66 answers on this connection have not been taken, which is the limit"`) {
			t.Error(got)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := c.link.Close(ctx); err == nil {
		t.Error("Close does not tell that replies have not ended")
	}
	close(release)
}

func TestByteBound(t *testing.T) {
	c := dial(t, Serve(testServer(), nil), "s").handshake()
	l := c.link.(*link)
	held := func(bytes int) { // as if calls of so many were under way
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bytes += bytes
	}
	held(maxBytes - 1000)
	big := `{"text":"` + strings.Repeat("x", 1000) + `"}`
	if got := c.ask(toolCall(2, "echo", big)); !strings.Contains(got, `"code":-32000`) || !strings.Contains(got, "the limit of 67108864") {
		t.Error(got)
	}
	if got := c.ask(`{"jsonrpc":"2.0","method":"notifications/x","params":` + big + `}`); !strings.Contains(got, "over the limit of 67108864 bytes") {
		t.Errorf("notification: %s", got)
	}
	for range 100 { // what is done counts no more
		if got := c.ask(toolCall(2, "echo", `{"text":"x"}`)); !strings.Contains(got, `"s:x"`) {
			t.Fatal(got)
		}
	}
	held(1000 - maxBytes)
	c.close()
	if l.bytes != 0 || l.running != 0 || l.answering != 0 {
		t.Errorf("left after Close: %d bytes, %d calls, %d replies", l.bytes, l.running, l.answering)
	}
}

// TestNotificationBound holds one notification up, so that the others wait.
func TestNotificationBound(t *testing.T) {
	release, began := make(chan struct{}), make(chan struct{}, 1)
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, &mcp.ServerOptions{
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationServerRequest) {
			select {
			case began <- struct{}{}:
				<-release
			default:
			}
		},
	})
	c := dial(t, Serve(server, nil), "s").handshake()
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`
	refused := 0
	for range 2 * maxNotifications {
		if got := c.ask(progress); got != ack {
			refused++
			if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"256 notifications wait for the server, which is the limit"}}`; got != want {
				t.Fatal(got)
			}
		}
	}
	if refused < maxNotifications || refused > maxNotifications+1 { // initialized may wait too
		t.Errorf("%d of %d were refused", refused, 2*maxNotifications)
	}
	close(release)
	if got := c.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`); got != `{"jsonrpc":"2.0","id":1,"result":{}}` {
		t.Error(got)
	}
	for deadline := time.Now().Add(time.Minute); c.ask(progress) != ack; {
		if time.Now().After(deadline) {
			t.Fatal("notifications are refused still")
		}
	}
}

func TestTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server, release := testServer(), make(chan struct{})
		began := addGated(server, "gated", release, true)
		c := dial(t, Serve(server, &Options{MaxInFlight: 1}), "s").handshake()
		start := time.Now()
		got := c.answerLate(c.send(toolCall(1, "gated", text(1))))
		if got != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"tool \"gated\" of server \"tickets\" did not answer within 10m0s (timeout)"}],"isError":true}}` {
			t.Error(got)
		}
		if took := time.Since(start); took != DefaultTimeout {
			t.Errorf("answered after %v", took)
		}
		<-began
		if got := c.ask(toolCall(1, "echo", `{"text":"x"}`)); !strings.Contains(got, "id 1 is in use") {
			t.Errorf("the id while the handler runs: %s", got)
		}
		if got := c.ask(toolCall(2, "echo", `{"text":"x"}`)); !strings.Contains(got, "1 requests are under way") {
			t.Errorf("a handler that goes on does not count: %s", got)
		}
		close(release)
		synctest.Wait()
		if got := c.ask(toolCall(1, "echo", `{"text":"x"}`)); !strings.Contains(got, `"s:x"`) {
			t.Errorf("after the handler: %s", got)
		}
		c.close()
	})
}

// answerLate waits in a synctest bubble, where time costs nothing.
func (c *cli) answerLate(from <-chan string) string { return <-from }

func TestTimeoutCancelsTheHandler(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ended := make(chan error, 1)
		server := testServer()
		mcp.AddTool(server, &mcp.Tool{Name: "slow"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return say("late"), nil, nil
		})
		c := dial(t, Serve(server, &Options{Timeout: time.Second}), "s").handshake()
		if got := c.ask(toolCall(1, "slow", `{}`)); !strings.Contains(got, "within 1s (timeout)") {
			t.Error(got)
		}
		if err := <-ended; err != context.Canceled {
			t.Errorf("handler's context: %v", err)
		}
		c.close()
	})
}

func TestNoTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := testServer()
		mcp.AddTool(server, &mcp.Tool{Name: "day"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
			time.Sleep(24 * time.Hour)
			return say("done"), nil, ctx.Err()
		})
		c := dial(t, Serve(server, &Options{Timeout: -1}), "s").handshake()
		if got := c.answerLate(c.send(toolCall(1, "day", `{}`))); !strings.Contains(got, `"done"`) {
			t.Error(got)
		}
		c.close()
	})
}

// TestStubbornCancelled answers for a handler that does not hear a cancellation.
func TestStubbornCancelled(t *testing.T) {
	for _, timeout := range []time.Duration{0, -1} {
		inBubble(t, func(t *testing.T) {
			server, release := testServer(), make(chan struct{})
			began := addGated(server, "gated", release, true)
			c := dial(t, Serve(server, &Options{Timeout: timeout}), "s").handshake()
			call := c.send(toolCall(1, "gated", text(1)))
			<-began
			start := time.Now()
			c.ask(cancellation(1))
			c.ask(cancellation(1)) // the second changes nothing
			if got := c.answer(call); !strings.Contains(got, `tool \"gated\" of server \"tickets\" was cancelled and has not ended`) {
				t.Error(got)
			}
			if took := time.Since(start); took != cancelGrace {
				t.Errorf("answered after %v", took)
			}
			close(release)
			c.close()
		})
	}
}

func TestOtherMethodsTimeOut(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		server := testServer()
		server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
			return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
				if method == "tools/list" {
					<-ctx.Done()
				}
				return next(ctx, method, req)
			}
		})
		c := dial(t, Serve(server, &Options{Timeout: time.Second}), "s").handshake()
		if got := c.ask(listThem); got != `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"\"tools/list\" of server \"tickets\" did not answer within 1s (timeout)"}}` {
			t.Error(got)
		}
		c.close()
	})
}

func TestDeliverKeepsNothingOfTheMessage(t *testing.T) {
	server, release := testServer(), make(chan struct{})
	began := addGated(server, "gated", release, false)
	c := dial(t, Serve(server, nil), "s").handshake()
	message, answer := []byte(toolCall(1, "gated", `{"text":"kept"}`)), make(chan string, 1)
	c.link.Deliver(message, func(r json.RawMessage) { answer <- string(r) })
	for i := range message {
		message[i] = 'x'
	}
	if got := <-began; got != "kept" {
		t.Errorf("the handler got %q", got)
	}
	close(release)
	if got := c.answer(answer); !strings.Contains(got, `"id":1,"result"`) {
		t.Error(got)
	}
}
