package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

func message(id, text string) json.RawMessage {
	return json.RawMessage(`{"type":"control_request","request_id":"` + id + `","request":{"subtype":"mcp_message","message":"` + text + `"}}`)
}

// replies keeps what HandleInOrder was given, by request id.
type replies struct {
	mu   sync.Mutex
	ids  []string
	ctx  map[string]context.Context
	more map[string]func(any, error)
	came chan string
}

func newReplies() *replies {
	return &replies{ctx: map[string]context.Context{}, more: map[string]func(any, error){}, came: make(chan string, 2000)}
}

func (r *replies) take(ctx context.Context, q Request, reply func(any, error)) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ids = append(r.ids, q.ID)
	r.ctx[q.ID], r.more[q.ID] = ctx, reply
	r.came <- q.ID
	return true
}

func (r *replies) of(id string) (context.Context, func(any, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ctx[id], r.more[id]
}

// endsQuietly ends the stream and looks for answers that nobody took.
func endsQuietly(t *testing.T, p pipe, ended <-chan error) {
	t.Helper()
	close(p.in)
	<-ended
	if len(p.out) != 0 {
		t.Errorf("answered again: %s", <-p.out)
	}
}

// serveInOrder serves with a handler that takes messages in order; others are echoed.
func serveInOrder(t *testing.T, ordered func(context.Context, Request, func(any, error)) bool) (pipe, handler, *Conn, chan error) {
	t.Helper()
	p, h := newPipe(), newHandler(echo)
	h.ordered = ordered
	c := NewConn(p, h)
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(context.Background()) }() // ends when the test closes p.in
	return p, h, c, ended
}

func TestMessagesComeInOrder(t *testing.T) {
	r := newReplies()
	p, _, _, ended := serveInOrder(t, r.take)
	var want []string
	for i := range 100 {
		id := fmt.Sprint("m", i)
		want = append(want, id)
		p.in <- message(id, "x")
	}
	for range want {
		<-r.came
	}
	for i := len(want) - 1; i >= 0; i-- { // answered in another order, from other goroutines
		_, reply := r.of(want[i])
		go reply(want[i], nil) // ends when it is written
		if got := read(t, p); !strings.Contains(got, `"request_id":"`+want[i]+`","response":"`+want[i]+`"`) {
			t.Fatalf("answer = %s, want that of %s", got, want[i])
		}
	}
	if fmt.Sprint(r.ids) != fmt.Sprint(want) {
		t.Errorf("order = %v", r.ids)
	}
	close(p.in)
	<-ended
}

func TestOneReplyOnly(t *testing.T) {
	r := newReplies()
	p, _, _, ended := serveInOrder(t, r.take)
	p.in <- message("a", "x")
	<-r.came
	ctx, reply := r.of("a")
	reply("first", nil)
	reply("second", nil)
	reply(nil, errors.New("third"))
	if got := read(t, p); !strings.Contains(got, "first") {
		t.Errorf("answer = %s", got)
	}
	<-ctx.Done()
	endsQuietly(t, p, ended)
}

func TestWithdrawnMessageGetsNoAnswer(t *testing.T) {
	r := newReplies()
	p, _, _, ended := serveInOrder(t, r.take)
	p.in <- message("a", "x")
	<-r.came
	ctx, late := r.of("a")
	p.in <- json.RawMessage(`{"type":"control_cancel_request","request_id":"a"}`)
	<-ctx.Done()
	p.in <- message("a", "again") // the id is free, but the first one's reply must not answer it
	<-r.came
	late("late", nil)
	_, reply := r.of("a")
	reply("second", nil)
	if got := read(t, p); !strings.Contains(got, "second") {
		t.Errorf("answer = %s", got)
	}
	close(p.in)
	<-ended
}

func TestServeDoesNotWaitForReplies(t *testing.T) {
	r := newReplies()
	p, _, _, ended := serveInOrder(t, r.take)
	p.in <- message("a", "x")
	<-r.came
	close(p.in)
	<-ended
	ctx, reply := r.of("a")
	if ctx.Err() == nil {
		t.Error("its context goes on after the stream")
	}
	reply("late", nil)
	if len(p.out) != 0 {
		t.Errorf("answered %s", <-p.out)
	}
}

func TestMessagesThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		ordered func(context.Context, Request, func(any, error)) bool
		want    string
	}{
		"not taken":             {func(context.Context, Request, func(any, error)) bool { return false }, `"response":{"input":null}`},
		"panic":                 {func(context.Context, Request, func(any, error)) bool { panic("boom") }, `"error":"request mcp_message: internal error: boom"`},
		"panic after the reply": {func(_ context.Context, _ Request, reply func(any, error)) bool { reply("ok", nil); panic("boom") }, `"response":"ok"`},
		"error": {func(_ context.Context, _ Request, reply func(any, error)) bool {
			reply(nil, errors.New("no"))
			return true
		}, `"error":"no"`},
		"answered, not taken": {func(_ context.Context, _ Request, reply func(any, error)) bool { reply("ok", nil); return false }, `"response":"ok"`},
		"no JSON": {func(_ context.Context, _ Request, reply func(any, error)) bool {
			reply(json.RawMessage(`{broken`), nil)
			return true
		}, `invalid character`},
	} {
		t.Run(name, func(t *testing.T) {
			p, _, _, ended := serveInOrder(t, c.ordered)
			p.in <- message("a", "x")
			if got := read(t, p); !strings.Contains(got, c.want) {
				t.Errorf("answer = %s, want %s", got, c.want)
			}
			endsQuietly(t, p, ended)
		})
	}
}

// A message with a key that stands twice never reaches a server: what is judged and
// what is delivered could be two readings of it.
func TestUnclearMessageIsRefused(t *testing.T) {
	r := newReplies()
	p, h, _, ended := serveInOrder(t, r.take)
	p.in <- json.RawMessage(`{"type":"control_request","request_id":"a","request":{"subtype":"mcp_message","message":{"id":1,"params":{"x":1,"x":2}}}}`)
	if got := read(t, p); !strings.Contains(got, `"subtype":"error"`) || !strings.Contains(got, "stands twice") {
		t.Errorf("answer = %s", got)
	}
	<-h.noise
	close(p.in)
	<-ended
	if len(r.ids) != 0 {
		t.Errorf("taken: %v", r.ids)
	}
}

// slow is a Stream whose writes wait.
type slow struct {
	pipe
	gate chan struct{}
}

func (s slow) Write(line json.RawMessage) error {
	<-s.gate
	return s.pipe.Write(line)
}

// Messages under way, and answers nobody reads, are bounded, and the reader never
// waits for its own answers.
func TestMessagesAreBounded(t *testing.T) {
	p, h, r := newPipe(), newHandler(echo), newReplies()
	p.out = make(chan json.RawMessage, 2*MaxInFlight)
	s := slow{p, make(chan struct{})}
	h.ordered = func(ctx context.Context, q Request, reply func(any, error)) bool {
		if q.String("message") == "at once" {
			reply("at once", nil)
			return true
		}
		return r.take(ctx, q, reply)
	}
	c := NewConn(s, h)
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(context.Background()) }() // ends when the test closes p.in
	for i := range MaxInFlight {
		text := "later"
		if i%2 == 0 {
			text = "at once"
		}
		p.in <- message(fmt.Sprint(i), text)
	}
	p.in <- message("over", "later")
	if got := <-h.noise; !strings.Contains(got, `"over" refused`) {
		t.Errorf("told %q", got)
	}
	close(s.gate)
	for _, id := range r.ids {
		_, reply := r.of(id)
		reply("later", nil)
	}
	refused := 0
	for range MaxInFlight + 1 {
		if strings.Contains(read(t, p), `"request_id":"over"`) {
			refused++
		}
	}
	deadline := time.Now().Add(time.Minute)
	for free := false; !free && time.Now().Before(deadline); {
		c.mu.Lock()
		free = len(c.serving)+c.busy[sortMessage] == 0
		c.mu.Unlock()
	}
	p.in <- message("after", "at once")
	if got := read(t, p); refused != 1 || !strings.Contains(got, `"response":"at once"`) {
		t.Errorf("refused %d times, then %s", refused, got)
	}
	close(p.in)
	<-ended
}

// What waits of one sort takes no place from others: a hook that is refused ends the
// session, and neither a model nor a server may bring that about.
func TestEachSortHasItsRoom(t *testing.T) {
	r := newReplies()
	release := make(chan struct{})
	p, h := newPipe(), newHandler(func(ctx context.Context, q Request) (any, error) {
		if q.Subtype == "can_use_tool" {
			<-release
		}
		return q.ID, nil
	})
	p.out = make(chan json.RawMessage, 4*MaxInFlight)
	h.ordered = r.take
	c, ended := NewConn(p, h), make(chan error, 1)
	go func() { ended <- c.Serve(context.Background()) }() // ends when the test closes p.in
	ask := func(id, subtype string) json.RawMessage {
		return json.RawMessage(`{"type":"control_request","request_id":"` + id + `","request":{"subtype":"` + subtype + `"}}`)
	}
	for i := range MaxInFlight {
		p.in <- ask(fmt.Sprint("m", i), "mcp_message")
		p.in <- ask(fmt.Sprint("q", i), "can_use_tool")
	}
	p.in <- ask("hook", "hook_callback")
	if got := read(t, p); !strings.Contains(got, `"response":"hook"`) {
		t.Errorf("answer = %s", got)
	}
	for _, subtype := range []string{"mcp_message", "can_use_tool"} {
		p.in <- ask("over", subtype)
		if told := <-h.noise; !strings.Contains(told, "of its sort") {
			t.Errorf("told %q", told)
		}
	}
	p.in <- json.RawMessage(`{"type":"control_cancel_request","request_id":"m0"}`)
	p.in <- ask("again", "mcp_message") // in the place of what was withdrawn
	for range r.came {
		if _, reply := r.of("again"); reply != nil {
			break
		}
	}
	close(release)
	close(p.in)
	<-ended
	if c.busy[sortOther] != 0 || c.busy[sortHook] != 0 {
		t.Errorf("left: %v", c.busy)
	}
}

// Answers of a peer that does not read are bounded, too.
func TestUnreadAnswersAreBounded(t *testing.T) {
	p, h := newPipe(), newHandler(func(context.Context, Request) (any, error) { return "x", nil })
	p.out = make(chan json.RawMessage, 2*MaxInFlight)
	s := slow{p, make(chan struct{})}
	c, ended := NewConn(s, h), make(chan error, 1)
	go func() { ended <- c.Serve(context.Background()) }() // ends when the test closes p.in
	for i := range MaxInFlight + 1 {
		p.in <- json.RawMessage(`{"type":"control_request","request_id":"` + fmt.Sprint(i) + `","request":{"subtype":"x"}}`)
	}
	if told := <-h.noise; !strings.Contains(told, "refused") {
		t.Errorf("told %q", told)
	}
	close(s.gate)
	close(p.in)
	<-ended
}

// BenchmarkMessage is what a message with a large argument costs before a handler
// gets it; check alone is the search for keys that stand twice.
func BenchmarkMessage(b *testing.B) {
	for _, size := range []int{1 << 10, 1 << 20, 8 << 20} {
		for name, body := range map[string]string{
			"text": `"` + strings.Repeat("a long line of text, with a break\\n", size/35) + `"`,
			"tree": "[" + strings.Repeat(`{"name":"x","value":[1,2]},`, size/27) + "0]",
		} {
			line := json.RawMessage(`{"type":"control_request","request_id":"a","request":{"subtype":"mcp_message","server_name":"s","message":{"method":"tools/call","params":{"name":"t","arguments":{"x":` + body + `}},"jsonrpc":"2.0","id":2}}}`)
			b.Run(fmt.Sprintf("check/%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				for b.Loop() {
					if err := Check(line); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("whole/%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(line)))
				h := newHandler(echo)
				h.ordered = func(context.Context, Request, func(any, error)) bool { return true }
				c := NewConn(pipe{}, h)
				var none sync.WaitGroup
				for b.Loop() {
					clear(c.serving)
					c.busy = [sorts]int{}
					c.dispatch(b.Context(), &none, Sanitize(line))
				}
			})
		}
	}
}
