package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

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
