package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// pipe is a Stream whose peer is the test.
type pipe struct {
	in  chan json.RawMessage // to the Conn
	out chan json.RawMessage // from the Conn
}

func newPipe() pipe {
	return pipe{make(chan json.RawMessage), make(chan json.RawMessage, 16)}
}

func (p pipe) Read() (json.RawMessage, error) {
	line, ok := <-p.in
	if !ok {
		return nil, io.EOF
	}
	return line, nil
}

func (p pipe) Write(line json.RawMessage) error { p.out <- line; return nil }

type handler struct {
	request  func(context.Context, Request) (any, error)
	ordered  func(context.Context, Request, func(any, error)) bool // nil: takes none
	messages chan string
	noise    chan string
	lost     chan string
}

func newHandler(f func(context.Context, Request) (any, error)) handler {
	return handler{f, nil, make(chan string, 16), make(chan string, 16), make(chan string, 16)}
}

func (h handler) HandleInOrder(ctx context.Context, r Request, reply func(any, error)) bool {
	return h.ordered != nil && h.ordered(ctx, r, reply)
}

func (h handler) HandleRequest(ctx context.Context, r Request) (any, error) { return h.request(ctx, r) }
func (h handler) HandleMessage(_ context.Context, kind string, _ map[string]json.RawMessage) {
	h.messages <- kind
}
func (h handler) HandleNoise(_ context.Context, reason string)      { h.noise <- reason }
func (h handler) HandleUnanswered(_ context.Context, reason string) { h.lost <- reason }

func serve(t *testing.T, f func(context.Context, Request) (any, error)) (pipe, handler, *Conn, chan error) {
	t.Helper()
	p, h := newPipe(), newHandler(f)
	c := NewConn(p, h)
	ended := make(chan error, 1)
	go func() { ended <- c.Serve(context.Background()) }() // ends when the test closes p.in
	return p, h, c, ended
}

func read(t *testing.T, p pipe) string {
	t.Helper()
	select {
	case line := <-p.out:
		return string(line)
	case <-time.After(5 * time.Second):
		t.Fatal("nothing was written")
		return ""
	}
}

func echo(_ context.Context, r Request) (any, error) {
	return map[string]json.RawMessage{"input": r.Fields["input"]}, nil
}

func TestRequestsAreAnswered(t *testing.T) {
	cases := []struct{ name, line, want string }{
		{"answer", `{"type":"control_request","request_id":"a","request":{"subtype":"x","input":{"b":1}}}`, `{"response":{"request_id":"a","response":{"input":{"b":1}},"subtype":"success"},"type":"control_response"}`},
		{"numbers as written", `{"type":"control_request","request_id":"a","request":{"subtype":"x","input":{"n":1e9999999,"m":9007199254740993,"z":1.0}}}`, `"input":{"n":1e9999999,"m":9007199254740993,"z":1.0}`},
		{"lone surrogate replaced", `{"type":"control_request","request_id":"a","request":{"subtype":"x","input":{"t":"\ud800x"}}}`, `"t":"\ufffdx"`},
		{"bad utf-8 replaced", "{\"type\":\"control_request\",\"request_id\":\"a\",\"request\":{\"subtype\":\"x\",\"input\":{\"t\":\"\xff\"}}}", "\"t\":\"\uFFFD\""},
		{"folded key is no subtype", `{"type":"control_request","request_id":"a","request":{"Subtype":"x"}}`, `"subtype":"error"`},
		{"long s is no subtype", `{"type":"control_request","request_id":"a","request":{"ſubtype":"x"}}`, `"subtype":"error"`},
		{"key with a NUL", `{"type":"control_request","request_id":"a","request":{"subtype\u0000":"x"}}`, `"subtype":"error"`},
		{"key twice", `{"type":"control_request","request_id":"a","request":{"subtype":"x","input":{"c":1,"c":2}}}`, `"subtype":"error"`},
		{"too deep", `{"type":"control_request","request_id":"a","request":{"subtype":"x","input":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}}`, `"subtype":"error"`},
		{"request missing", `{"type":"control_request","request_id":"a"}`, `"subtype":"error"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, _, _, ended := serve(t, echo)
			p.in <- json.RawMessage(c.line)
			if got := read(t, p); !strings.Contains(got, c.want) {
				t.Errorf("answer = %s, want %s", got, c.want)
			}
			close(p.in)
			<-ended
		})
	}
}

func TestPanicIsAnError(t *testing.T) {
	p, _, _, ended := serve(t, func(context.Context, Request) (any, error) { panic("boom") })
	p.in <- json.RawMessage(`{"type":"control_request","request_id":"a","request":{"subtype":"x"}}`)
	if got := read(t, p); !strings.Contains(got, `"subtype":"error"`) {
		t.Errorf("answer = %s", got)
	}
	close(p.in)
	<-ended
}

func TestWithdrawnRequestGetsNoAnswer(t *testing.T) {
	seen := make(chan struct{})
	p, _, c, ended := serve(t, func(ctx context.Context, r Request) (any, error) {
		close(seen)
		<-ctx.Done()
		return "late", nil
	})
	p.in <- json.RawMessage(`{"type":"control_request","request_id":"a","request":{"subtype":"x"}}`)
	<-seen
	p.in <- json.RawMessage(`{"type":"control_cancel_request","request_id":"a"}`)
	close(p.in)
	<-ended
	select {
	case line := <-p.out:
		t.Errorf("answered %s", line)
	default:
	}
	if _, err := c.Call(context.Background(), "x", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("call after the end: %v", err)
	}
}

func TestCall(t *testing.T) {
	p, _, c, ended := serve(t, echo)
	cases := []struct{ answer, want, err string }{
		{`{"type":"control_response","response":{"subtype":"success","request_id":"gh_1","response":{"a":1}}}`, `{"a":1}`, ""},
		{`{"type":"control_response","response":{"subtype":"error","request_id":"gh_2","error":"no such thing"}}`, ``, "no such thing"},
		{`{"type":"control_response","response":{"Subtype":"success","request_id":"gh_3"}}`, ``, "control request ping"},
	}
	for _, k := range cases {
		go func() { // ends when the call is written and answered
			<-p.out
			p.in <- json.RawMessage(k.answer)
		}()
		got, err := c.Call(context.Background(), "ping", map[string]any{"v": 1})
		if string(got) != k.want || (err == nil) != (k.err == "") || err != nil && !strings.Contains(err.Error(), k.err) {
			t.Errorf("call = %s, %v; want %s, %q", got, err, k.want, k.err)
		}
	}
	close(p.in)
	<-ended
}

func TestNoiseAndMessages(t *testing.T) {
	p, h, _, ended := serve(t, echo)
	p.in <- json.RawMessage(`not json`)
	p.in <- json.RawMessage(`[1]`)
	p.in <- json.RawMessage(`{"type":"brand_new"}`)
	p.in <- json.RawMessage(`{"type":"keep_alive"}`)
	p.in <- json.RawMessage(`{"Type":"control_request","request_id":"a","request":{"subtype":"x"}}`)
	close(p.in)
	<-ended
	if len(h.noise) != 2 || len(h.messages) != 2 || <-h.messages != "brand_new" || <-h.messages != "" {
		t.Errorf("noise %d, messages %d", len(h.noise), len(h.messages))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"type":"control_request","request_id":"a","request":{"subtype":"x","input":{"t":"\ud800\udc00"}}}`))
	f.Add([]byte(`{"a":"\ud800","b":"\\ud800"}`))
	f.Add([]byte("\xff{\"a\":[1,{}]}"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		clean := Sanitize(raw)
		if json.Valid(raw) && !json.Valid(clean) {
			t.Fatalf("sanitized %q into %q, which is no JSON", raw, clean)
		}
		if again := Sanitize(clean); string(again) != string(clean) {
			t.Fatalf("not idempotent: %q then %q", clean, again)
		}
		if Check(clean) == nil && !json.Valid(clean) && len(strings.TrimSpace(string(clean))) > 0 {
			t.Fatalf("checked %q, which is no JSON", clean)
		}
	})
}
