package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// site is a real server behind a handler that may meddle; meddle reports whether it
// has answered.
func site(t *testing.T, meddle func(w http.ResponseWriter, r *http.Request, body string) bool) (*httptest.Server, *mcp.Server) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "site", Version: "1"}, nil)
	for _, name := range []string{"echo", "leak", "huge", "broken", "away", "change"} {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if name == "change" {
				server.RemoveTools("leak")
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: name + string(r.Params.Arguments)}}}, nil
		})
	}
	real := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := ""
		if r.Method == http.MethodPost {
			raw := make([]byte, r.ContentLength)
			if _, err := r.Body.Read(raw); err != nil && err.Error() != "EOF" {
				t.Error(err)
			}
			body = string(raw)
			r.Body = http.NoBody
			r.Body = readCloser{strings.NewReader(body)}
		}
		if meddle == nil || !meddle(w, r, body) {
			real.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(func() {
		ts.CloseClientConnections()
		ts.Close()
	})
	return ts, server
}

type readCloser struct{ *strings.Reader }

func (readCloser) Close() error { return nil }

func siteConfig(url string) Config {
	return Config{Name: "site", URL: url, Headers: map[string]Source{"Authorization": is("Bearer " + Secret("tok-"+"7f3a9b2c"))}, Timeout: plenty, StartTimeout: plenty}
}

func TestSite(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	var calls, bare atomic.Int32
	ts, _ := site(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if r.Header.Get("Authorization") != "Bearer tok-7f3a9b2c" {
			bare.Add(1)
		}
		var m rpc
		json.Unmarshal([]byte(body), &m)
		if m.Method != "tools/call" {
			return false
		}
		calls.Add(1)
		switch {
		case strings.Contains(body, `"leak"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, m.ID, r.Header.Get("Authorization"))
		case strings.Contains(body, `"huge"`):
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, m.ID, strings.Repeat("x", 9<<20))
		case strings.Contains(body, `"broken"`):
			http.Error(w, "broken with tok-7f3a9b2c", http.StatusInternalServerError)
		case strings.Contains(body, `"away"`):
			http.Redirect(w, r, other.URL+"/there?tok-7f3a9b2c", http.StatusTemporaryRedirect)
		default:
			return false
		}
		return true
	})
	s, _ := open(t, siteConfig(ts.URL))
	l := connectTo(t, s, "a")
	l.start()
	if tools := l.tools(); !has(tools, "echo") || !has(tools, "leak") {
		t.Fatalf("tools: %v", tools)
	}
	for _, tt := range []struct{ tool, want string }{
		{"echo", `echo{\"n\":1}`}, {"leak", `[secret]`}, {"huge", "more than 8 MiB"}, {"broken", "Internal Server Error"},
		{"away", "it redirects to " + other.URL}, {"echo", `echo{\"n\":1}`},
	} {
		got := l.callTool(tt.tool, `{"n":1}`)
		want(t, tt.tool, got, tt.want)
		if strings.Contains(got, "7f3a9") {
			t.Errorf("%s: the secret is in %s", tt.tool, got)
		}
	}
	if n := calls.Load(); n != 6 {
		t.Errorf("six calls made %d requests", n)
	}
	if elsewhere.Load() != 0 || bare.Load() != 0 {
		t.Errorf("%d requests to elsewhere, %d without the header", elsewhere.Load(), bare.Load())
	}
	l.callTool("change", `{}`)
	waitFor(t, "the list follows", func() bool { return !has(l.tools(), "leak") })
}

// A session that the server has forgotten is begun anew; the call is not repeated.
func TestSessionLost(t *testing.T) {
	var lost, calls atomic.Int32
	ts, _ := site(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "tools/call") {
			return false
		}
		if calls.Add(1) != 2 {
			return false
		}
		lost.Add(1)
		http.Error(w, "session not found", http.StatusNotFound)
		return true
	})
	s, _ := open(t, siteConfig(ts.URL))
	l := connectTo(t, s, "a")
	l.start()
	want(t, "first", l.callTool("echo", `{"n":1}`), `{\"n\":1}`)
	want(t, "lost", l.callTool("echo", `{"n":2}`), `"isError":true`, "session not found")
	want(t, "third", l.callTool("echo", `{"n":3}`), `{\"n\":3}`)
	if calls.Load() != 3 || lost.Load() != 1 {
		t.Errorf("%d calls, %d lost", calls.Load(), lost.Load())
	}
}

// hanging answers no request of a method, until the test ends.
func hanging(t *testing.T, method string) *httptest.Server {
	ended := make(chan struct{})
	ts, _ := site(t, func(_ http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method != method {
			return false
		}
		<-ended
		return true
	})
	t.Cleanup(func() { close(ended) }) // before those of site
	return ts
}

// A server that never answers the request for its notifications, or the farewell,
// holds nothing up.
func TestHangingRequests(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		s, _ := open(t, siteConfig(hanging(t, method).URL))
		l := connectTo(t, s, "a")
		l.start()
		if tools := l.tools(); !has(tools, "echo") {
			t.Errorf("%s: tools: %v", method, tools)
		}
		if s.absent.Load() {
			t.Errorf("%s: the session was held until the server was given up", method)
		}
		want(t, method, l.callTool("echo", `{"n":1}`), `{\"n\":1}`)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// Some servers send the headers of the stream with the first notification.
func TestLateStream(t *testing.T) {
	asked, now := make(chan struct{}, 9), make(chan struct{})
	ts, server := site(t, func(w http.ResponseWriter, r *http.Request, _ string) bool {
		if r.Method == http.MethodGet {
			asked <- struct{}{}
			<-now
		}
		return false
	})
	s, _ := open(t, siteConfig(ts.URL))
	l := connectTo(t, s, "a")
	l.start()
	l.tools()
	<-asked
	close(now)
	n := 0
	waitFor(t, "the list follows", func() bool {
		n++
		server.AddTool(&mcp.Tool{Name: fmt.Sprint("fresh", n), InputSchema: json.RawMessage(`{"type":"object"}`)}, nil)
		return has(l.tools(), "fresh1")
	})
}

// streaming answers calls with a stream that write makes.
func streaming(t *testing.T, write func(w http.ResponseWriter, id string)) *httptest.Server {
	ts, _ := site(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		var m rpc
		json.Unmarshal([]byte(body), &m)
		if m.Method != "tools/call" || strings.Contains(body, `"leak"`) {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		write(w, string(m.ID))
		return true
	})
	return ts
}

func TestStreams(t *testing.T) {
	answer := func(id string) string {
		return `data: {"jsonrpc":"2.0","id":` + id + `,"result":{"content":[]}}` + "\n\n"
	}
	for name, tt := range map[string]struct {
		write func(w http.ResponseWriter, id string)
		want  string
	}{
		"empty": {func(http.ResponseWriter, string) {}, "ended without an answer"},
		"comments": {func(w http.ResponseWriter, id string) {
			fmt.Fprint(w, ": hello\n\nevent: other\ndata: 1\n\n", answer(id))
		}, `"content":[]`},
		"lines of data": {func(w http.ResponseWriter, id string) { fmt.Fprint(w, "data: {\r\n", answer(id)[:5], answer(id)[7:]) }, `"content":[]`},
		"flood":         {func(w http.ResponseWriter, id string) { fmt.Fprint(w, strings.Repeat(": hello\n\n", 5000), answer(id)) }, "more than 100 messages"},
		"oversized": {func(w http.ResponseWriter, _ string) {
			fmt.Fprint(w, strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9))
		}, "more than 8 MiB"},
		"a line too long": {func(w http.ResponseWriter, _ string) { fmt.Fprint(w, "data: ", strings.Repeat("x", 9<<20)) }, "more than 8 MiB"},
		"deep":            {func(w http.ResponseWriter, _ string) { fmt.Fprint(w, "data: ", strings.Repeat("[", 300), "\n\n") }, "deeper than 200"},
		"never ends": {func(w http.ResponseWriter, id string) {
			for fmt.Fprint(w, answer(id)); ; {
				if _, err := fmt.Fprint(w, ": still here\n\n"); err != nil {
					return
				}
				http.NewResponseController(w).Flush()
				time.Sleep(50 * time.Millisecond)
			}
		}, `"content":[]`},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, siteConfig(streaming(t, tt.write).URL))
			l := connectTo(t, s, "a")
			l.start()
			want(t, "call", l.callTool("echo", `{}`), tt.want)
			want(t, "the next one", l.callTool("leak", `{}`), "leak{}")
		})
	}
}

// A call that is refused by its status ends no other.
func TestRefusedByStatus(t *testing.T) {
	var calls atomic.Int32
	status, slow := make(chan int, 1), make(chan struct{})
	ts, _ := site(t, func(w http.ResponseWriter, r *http.Request, body string) bool {
		if !strings.Contains(body, "tools/call") {
			return false
		}
		if strings.Contains(body, `"huge"`) {
			calls.Add(1)
			<-slow
			return false
		}
		http.Error(w, "not with tok-"+"7f3a9b2c", <-status)
		return true
	})
	s, log := open(t, siteConfig(ts.URL))
	l := connectTo(t, s, "a")
	l.start()
	_, other := l.send("tools/call", `{"name":"huge","arguments":{}}`)
	waitFor(t, "the other call is there", func() bool { return calls.Load() == 1 })
	for code, text := range map[int]string{400: "status 400 (Bad Request)", 403: "status 403 (Forbidden)", 405: "status 405", 422: "status 422", 429: "Too Many Requests", 500: "Internal Server Error"} {
		status <- code
		want(t, "refused", l.callTool("echo", `{}`), `"isError":true`, text)
	}
	close(slow)
	want(t, "the other call", l.await(other), "huge{}")
	status <- 401
	want(t, "a secret that has changed", l.callTool("echo", `{}`), "Unauthorized")
	waitFor(t, "the secrets are read again", func() bool { return strings.Count(log.String(), "mcp server: connected") == 2 })
}

func TestStayHere(t *testing.T) {
	for address, here := range map[string]bool{"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true, "10.0.0.1:80": false, "[::ffff:10.0.0.1]:80": false, "": false} {
		if err := stayHere("tcp", address, nil); (err == nil) != here {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Errors of the HTTP client hold the whole URL, and what is secret in it.
func TestErrorsWithoutURL(t *testing.T) {
	c := &conn{cover: newCover(nil)}
	for _, inner := range []error{context.Canceled, context.DeadlineExceeded, errors.New("broken")} {
		err := c.covered(fmt.Errorf("calling \"initialize\": sending: %w", &url.Error{Op: "Post", URL: "https://mcp.example/a/key-7f3a9?b=key-7f3a9", Err: inner}))
		if got := err.Error(); got != "sending: "+inner.Error() {
			t.Errorf("%q", got)
		}
		if inner != context.Canceled && errors.Is(err, context.Canceled) || inner == context.DeadlineExceeded && !errors.Is(err, inner) {
			t.Errorf("%v is %v", err, inner)
		}
	}
}
