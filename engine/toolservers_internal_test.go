package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
)

// taps is a tool server whose link keeps what it is given, and answers when told to.
type taps struct {
	push    func(json.RawMessage) error
	closing func(context.Context) error

	mu      sync.Mutex
	got     []string
	replies []func(json.RawMessage)
}

func (s *taps) Connect(_ string, push func(json.RawMessage) error) (ToolLink, error) {
	s.push = push
	return s, nil
}

func (s *taps) Deliver(message json.RawMessage, reply func(json.RawMessage)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got, s.replies = append(s.got, string(message)), append(s.replies, reply)
}

func (s *taps) Close(ctx context.Context) error {
	if s.closing != nil {
		return s.closing(ctx)
	}
	return nil
}

// wired is a process that has tool servers, without a CLI.
func wired(t *testing.T, change func(*Options), servers ...string) (*process, map[string]*taps) {
	t.Helper()
	p, all := aSession(t, nil, change), map[string]*taps{}
	for _, name := range servers {
		all[name] = &taps{}
		p.session.toolServers = append(p.session.toolServers, offeredServer{name, sourceGatehouse, all[name]})
	}
	return p, all
}

// sent hands a message over as the CLI does.
func (p *process) sent(server, message string, reply func(string)) {
	name, _ := json.Marshal(server)
	r := control.Request{Subtype: "mcp_message", Fields: map[string]json.RawMessage{"server_name": name, "message": json.RawMessage(message)}}
	p.HandleInOrder(context.Background(), r, func(answer any, err error) {
		raw, wrong := json.Marshal(answer)
		reply(string(raw) + fmt.Sprint(errors.Join(err, wrong)))
	})
}

func TestMessagesReachServersInOrder(t *testing.T) {
	p, servers := wired(t, nil, "a", "b")
	want := map[string][]string{}
	for i := range 2000 {
		server := []string{"a", "b"}[i%3%2]
		m := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"n":%d}}`, i)
		if i%5 == 0 {
			m = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)
		}
		want[server] = append(want[server], m)
		p.sent(server, m, func(string) {})
	}
	for name, s := range servers {
		if !slices.Equal(s.got, want[name]) {
			t.Errorf("server %s got %d messages in another order, or others than %d", name, len(s.got), len(want[name]))
		}
	}
}

// Ids are a server's own: two may use the same at once.
func TestEqualIDsOnTwoServers(t *testing.T) {
	p, servers := wired(t, nil, "a", "b")
	answers := map[string]chan string{"a": make(chan string, 1), "b": make(chan string, 1)}
	for _, name := range []string{"a", "b"} {
		p.sent(name, `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, func(s string) { answers[name] <- s })
	}
	for _, name := range []string{"b", "a"} {
		servers[name].replies[0](json.RawMessage(`{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"of-` + name + `","inputSchema":{"type":"object"}}]}}`))
		if got := <-answers[name]; !strings.Contains(got, "of-"+name) || !strings.Contains(got, `{"mcp_response":{"`) {
			t.Errorf("server %s was answered %s", name, got)
		}
	}
}

func TestEveryMessageIsAnsweredOnce(t *testing.T) {
	for name, c := range map[string]struct {
		message, response string
		want              string
	}{
		"nothing, to a request":      {`{"jsonrpc":"2.0","id":"x","method":"ping"}`, "", `"code":-32603`},
		"nothing, to a notification": {`{"jsonrpc":"2.0","method":"notifications/initialized"}`, " ", `{"mcp_response":{"jsonrpc":"2.0","result":{},"id":0}}`},
		"nothing, to an answer":      {`{"jsonrpc":"2.0","id":1,"result":{}}`, "", `{"mcp_response":{"jsonrpc":"2.0","result":{},"id":0}}`},
		"a result":                   {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{"x":1}}`, `"x":1`},
	} {
		t.Run(name, func(t *testing.T) {
			p, servers := wired(t, nil, "a")
			answers := make(chan string, 9)
			p.sent("a", c.message, func(s string) { answers <- s })
			for range 3 {
				servers["a"].replies[0](json.RawMessage(c.response))
			}
			if got := <-answers; !strings.Contains(got, c.want) {
				t.Errorf("answered %s, want %s", got, c.want)
			}
			if len(answers) != 0 {
				t.Errorf("answered again: %s", <-answers)
			}
		})
	}
}

// A server that could not be connected is tried again when the CLI begins anew.
func TestConnectsAgain(t *testing.T) {
	p, _ := wired(t, nil)
	fails := &failing{times: 1}
	p.session.toolServers = []offeredServer{{"a", sourceGatehouse, fails}}
	answers := make(chan string, 4)
	for _, method := range []string{"initialize", "tools/list", "initialize", "tools/list"} {
		p.sent("a", `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`, func(s string) { answers <- s })
	}
	if fails.tries != 2 || len(fails.got) != 2 {
		t.Errorf("%d tries, delivered %v", fails.tries, fails.got)
	}
	for range 2 {
		if got := <-answers; !strings.Contains(got, `"code":-32603`) {
			t.Errorf("answered %s", got)
		}
	}
}

type failing struct {
	taps
	tries, times int
}

func (f *failing) Connect(session string, push func(json.RawMessage) error) (ToolLink, error) {
	if f.tries++; f.tries <= f.times {
		return nil, nil // neither a link nor an error
	}
	return f.taps.Connect(session, push)
}

// cliStream is a CLI that reads what it is sent, and acknowledges when told to.
type cliStream struct {
	lines chan json.RawMessage
	wrote chan string
}

func (c cliStream) Read() (json.RawMessage, error) {
	line, ok := <-c.lines
	if !ok {
		return nil, io.EOF
	}
	return line, nil
}

func (c cliStream) Write(line json.RawMessage) error { c.wrote <- string(line); return nil }

func (c cliStream) acknowledge(t *testing.T, line string) {
	t.Helper()
	var m struct {
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal([]byte(line), &m) != nil || m.RequestID == "" {
		t.Fatalf("%s is no request", line)
	}
	c.lines <- json.RawMessage(`{"type":"control_response","response":{"subtype":"success","request_id":"` + m.RequestID + `"}}`)
}

// pushing is a process with a server that pushes to a CLI.
func pushing(t *testing.T) (*process, *taps, cliStream) {
	t.Helper()
	p, servers := wired(t, nil, "a")
	c := cliStream{make(chan json.RawMessage), make(chan string, 2*maxPushes)}
	p.conn = control.NewConn(c, p)
	var served sync.WaitGroup
	served.Go(func() { _ = p.conn.Serve(p.ctx) }) // ends when the test closes the lines
	t.Cleanup(func() {
		p.end(ended{"test"})
		p.closeLinks()()
		close(c.lines)
		served.Wait()
	})
	p.sent("a", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(string) {})
	return p, servers["a"], c
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func note(i int) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"n%d"}}`, i))
}

func TestListChangedFlood(t *testing.T) {
	_, a, c := pushing(t)
	for range 10_000 {
		if err := a.push(json.RawMessage(listChanged)); err != nil {
			t.Fatal(err)
		}
	}
	first := <-c.wrote
	if err := a.push(json.RawMessage(listChanged)); err != nil { // after the first was sent: one more is due
		t.Fatal(err)
	}
	if err := a.push(note(1)); err != nil {
		t.Fatal(err)
	}
	c.acknowledge(t, first)
	var rest []string
	for len(rest) == 0 || !strings.Contains(rest[len(rest)-1], "n1") {
		rest = append(rest, <-c.wrote)
		c.acknowledge(t, rest[len(rest)-1])
	}
	if len(rest) != 2 || !strings.Contains(rest[0], "list_changed") || !strings.Contains(first, `"server_name":"a"`) {
		t.Errorf("the CLI was told %s, then %q", first, rest)
	}
}

func TestPushesAreBounded(t *testing.T) {
	_, a, c := pushing(t)
	if err := a.push(note(0)); err != nil {
		t.Fatal(err)
	}
	first := <-c.wrote // waits to be acknowledged
	for i := 1; i <= maxPushes; i++ {
		if err := a.push(note(i)); err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
	}
	if err := a.push(note(-1)); !errors.Is(err, errPushesFull) {
		t.Errorf("one too many: %v", err)
	}
	c.acknowledge(t, first)
	for i := 1; i <= maxPushes; i++ {
		line := <-c.wrote
		if !strings.Contains(line, fmt.Sprintf(`"n%d"`, i)) {
			t.Fatalf("message %d is %s", i, line)
		}
		c.acknowledge(t, line)
	}
	large := json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"` + strings.Repeat("x", maxPushBytes) + `"}}`)
	if err := a.push(large); !errors.Is(err, errPushesFull) {
		t.Errorf("one too large: %v", err)
	}
}

// A CLI that never says that a message came holds up the next one for a while only.
func TestPushThatIsNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, a, c := pushing(t)
		for i := range 2 {
			if err := a.push(note(i)); err != nil {
				t.Fatal(err)
			}
		}
		<-c.wrote
		before := time.Now()
		<-c.wrote
		if waited := time.Since(before); waited != pushedAckWait {
			t.Errorf("waited %s", waited)
		}
	})
}

func TestPushesEndWithTheProcess(t *testing.T) {
	p, a, c := pushing(t)
	for i := range 3 {
		if err := a.push(note(i)); err != nil {
			t.Fatal(err)
		}
	}
	<-c.wrote
	p.end(ended{"test"})
	p.closeLinks()()
	if err := a.push(note(9)); !errors.Is(err, errNotListening) {
		t.Errorf("push after the end: %v", err)
	}
	late := make(chan string, 1)
	p.sent("a", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, func(s string) { late <- s })
	if got := <-late; !strings.Contains(got, `"code":-32603`) || len(a.got) != 1 {
		t.Errorf("answered %s, delivered %v", got, a.got)
	}
}

// Servers that do not let go of a process that has ended are left behind, together
// after one wait, and told in the log.
func TestLinksThatDoNotClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		p, servers := wired(t, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) }, "hangs", "refuses", "panics", "closes")
		let := make(chan struct{})
		defer close(let)
		servers["hangs"].closing = func(context.Context) error { <-let; return nil }
		servers["refuses"].closing = func(context.Context) error { return errors.New("not yet") }
		servers["panics"].closing = func(context.Context) error { panic("boom") }
		for name := range servers {
			p.sent(name, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, func(string) {})
		}
		before := time.Now()
		p.closeLinks()()
		if waited := time.Since(before); waited != linkCloseWait {
			t.Errorf("waited %s", waited)
		}
		for name, part := range map[string]string{"hangs": "goes on after 5s", "refuses": "not yet", "panics": "panic: boom"} {
			if !strings.Contains(log.String(), "server="+name) || !strings.Contains(log.String(), part) {
				t.Errorf("%s is not told: %s", name, log.String())
			}
		}
		if strings.Contains(log.String(), "server=closes") {
			t.Errorf("told: %s", log.String())
		}
	})
}

func TestParseFloor(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"0": 0, "1500": 1500 * time.Millisecond, "600000": 10 * time.Minute, "0060": 60 * time.Millisecond,
		"": -1, "600001": -1, "99999999999999999999": -1, "-1": -1, "+1": -1, "1.5": -1, "1e3": -1, " 1": -1, "1s": -1, "１": -1,
	} {
		if got, ok := parseFloor(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %s, %v", text, got, ok)
		}
	}
}
