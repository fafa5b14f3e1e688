package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
)

// plenty is for what has to happen on a slow and busy machine, too.
const plenty = 2 * time.Minute

// token is a secret with what has to be escaped in it.
var token = Secret(strings.Join([]string{"tok", `"q"`, "7f3a9/+&é<91"}, "-"))

func is(value Secret) Source { return func() (Secret, error) { return value, nil } }

// journal is a log that tests read.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// program is a configuration of this test binary as a server, see beServer.
func programConfig(t testing.TB, mode string) Config {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Name: "fake", Command: []string{exe, "be-a-server", mode}, Env: map[string]Source{"TOKEN": is(token)},
		Timeout: plenty, StartTimeout: plenty,
	}
}

// open opens a server that is closed, with all it started, when the test ends.
func open(t testing.TB, c Config) (*Server, *journal) {
	t.Helper()
	log := &journal{}
	s, err := Open(c, Options{Logger: slog.New(slog.NewTextHandler(log, nil)), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), plenty)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
		if said := log.String(); strings.Contains(said, string(token)) || strings.Contains(said, `7f3a9`) {
			t.Errorf("the secret is in the log: %s", said)
		}
	})
	return s, log
}

// session is the CLI's end of a link.
type session struct {
	t      testing.TB
	link   inproc.Link
	mu     sync.Mutex
	pushed []string
	id     int
}

// connect makes a link that has shaken hands.
func connectTo(t testing.TB, s *Server, id string) *session {
	t.Helper()
	c := &session{t: t}
	link, err := s.Connect(id, func(message json.RawMessage) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pushed = append(c.pushed, string(message))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c.link = link
	t.Cleanup(c.close)
	return c
}

func (c *session) close() {
	ctx, cancel := context.WithTimeout(context.Background(), plenty)
	defer cancel()
	if err := c.link.Close(ctx); err != nil {
		c.t.Errorf("close the link: %v", err)
	}
}

// send delivers a request; the answer comes over the channel.
func (c *session) send(method, params string) (id int, answer chan string) {
	c.mu.Lock()
	c.id++
	id = c.id
	c.mu.Unlock()
	answer = make(chan string, 1)
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params)
	c.link.Deliver(json.RawMessage(message), func(r json.RawMessage) { answer <- string(r) })
	return id, answer
}

func (c *session) notify(method, params string) {
	c.link.Deliver(json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)), func(json.RawMessage) {})
}

func (c *session) ask(method, params string) string {
	c.t.Helper()
	_, answer := c.send(method, params)
	return c.await(answer)
}

func (c *session) await(answer chan string) string {
	c.t.Helper()
	select {
	case a := <-answer:
		return a
	case <-time.After(plenty):
		c.t.Fatal("no answer")
		return ""
	}
}

func (c *session) start() (initialized string) {
	c.t.Helper()
	initialized = c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	c.notify("notifications/initialized", `{}`)
	return initialized
}

func (c *session) tools() (names []string) {
	c.t.Helper()
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(c.ask("tools/list", `{}`)), &list); err != nil {
		c.t.Fatal(err)
	}
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (c *session) callTool(name, arguments string) string {
	c.t.Helper()
	return c.ask("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments))
}

func (c *session) pushes(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, p := range c.pushed {
		if strings.Contains(p, method) {
			n++
		}
	}
	return n
}

func waitFor(t testing.TB, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(plenty); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to it: %s", what)
		}
	}
}

func want(t testing.TB, what, got string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("%s: %s, want %q in it", what, clip(got, 2000), part)
		}
	}
}

func has(list []string, name string) bool { return slices.Contains(list, name) }

func textOf(t testing.TB, answer string) string {
	t.Helper()
	var a struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal([]byte(answer), &a); err != nil || len(a.Result.Content) != 1 {
		t.Fatalf("%v: no text in %s", err, clip(answer, 500))
	}
	return a.Result.Content[0].Text
}
