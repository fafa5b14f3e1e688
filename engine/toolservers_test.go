package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// sayings allow the tools of the servers of these tests.
var sayings = rules{"mcp__a__say": permission.Allow, "mcp__b__say": permission.Allow, "mcp__b__hang": permission.Allow, "Read": permission.Allow}

// withServers is a harness with tool servers a and b.
func withServers(t *testing.T, scenario string, change func(*engine.Options)) (h harness, a, b *handServer) {
	t.Helper()
	a, b = &handServer{name: "a"}, &handServer{name: "b"}
	h = newHarness(t, scenario, func(o *engine.Options) {
		o.ToolServers = map[string]engine.ToolServer{"b": b, "a": a}
		o.Deciders = []permission.Decider{sayings}
		if change != nil {
			change(o)
		}
	})
	return h, a, b
}

// ended fails the test unless the first turn ended well, with this text in its result.
func (h harness) ended(s *engine.Session, text string) {
	h.t.Helper()
	if r := h.settled(s).Result; r == nil || r.IsError || !strings.Contains(r.Result, text) {
		h.t.Fatalf("result = %+v, want %q\n%s", r, text, dump(s))
	}
}

func say(server string) string {
	return `{"tool":{"name":"mcp__` + server + `__say","input":{"x":1},"expect":{"is_error":false,"contains":["said by ` + server + `"]}}}`
}

const handshakeSeen = "initialize notifications/initialized tools/list"

func TestToolServers(t *testing.T) {
	for name, mcp := range map[string]string{
		"at the first prompt":                "{}",
		"before our initialize was answered": `{"early":true}`,
	} {
		t.Run(name, func(t *testing.T) {
			h, a, b := withServers(t, `{"mcp":`+mcp+`,"turns":[[`+say("a")+`,`+say("b")+`,{"text":"all said"}],[{"reveal":"initialize"}]]}`, nil)
			s := h.mustStart()
			h.ended(s, "all said")
			if !find(s, event.Notice, `"handedOver":[{"name":"a","source":"gatehouse"},{"name":"b","source":"gatehouse"}]`) {
				t.Errorf("not told:\n%s", dump(s))
			}
			if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "more"}); err != nil {
				t.Fatal(err)
			}
			h.ended(s, `"sdkMcpServers":["a","b"]`)
			for _, server := range []*handServer{a, b} {
				if server.connections() != 1 || server.link(0).session != s.ID() || server.link(0).seen() != handshakeSeen+" tools/call" {
					t.Errorf("%s: %d connections, %s", server.name, server.connections(), server.link(0).seen())
				}
			}
			s.Cancel(context.Background(), "enough", "test")
			<-s.Done()
			if !a.link(0).isClosed() || !b.link(0).isClosed() {
				t.Error("a connection outlives its process")
			}
		})
	}
}

func TestToolServerNames(t *testing.T) {
	one := &handServer{}
	many := map[string]engine.ToolServer{}
	for i := range 65 {
		many[fmt.Sprint("s", i)] = one
	}
	for name, c := range map[string]struct {
		servers map[string]engine.ToolServer
		part    string
	}{
		"empty":       {map[string]engine.ToolServer{"": one}, `ToolServers: ""`},
		"odd letter":  {map[string]engine.ToolServer{"a.b": one}, `"a.b" is no name`},
		"two in row":  {map[string]engine.ToolServer{"a__b": one}, `"a__b" is no name`},
		"begins with": {map[string]engine.ToolServer{"_a": one}, `"_a" is no name`},
		"too long":    {map[string]engine.ToolServer{strings.Repeat("a", 65): one}, "is no name"},
		"nil":         {map[string]engine.ToolServer{"a": nil}, `server "a" is nil`},
		"too many":    {many, "has 65 servers"},
	} {
		_, err := engine.New(engine.Options{Roots: []string{t.TempDir()}, ToolServers: c.servers})
		if err == nil || !strings.Contains(err.Error(), "engine options: ToolServers") || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: %v, want %s", name, err, c.part)
		}
	}
}

// offerJudge admits all but what is listed, and keeps what it was asked of servers.
type offerJudge struct {
	deny string
	mu   sync.Mutex
	seen []admission.Server
}

func (j *offerJudge) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	if r.Action != admission.McpServer {
		return permission.Decision{Effect: permission.Allow}, nil
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen = append(j.seen, r.Server)
	if r.Server.Name == j.deny {
		return permission.Decision{Effect: permission.Deny, Rule: "test.server", Reason: "not this one"}, nil
	}
	return permission.Decision{Effect: permission.Allow}, nil
}

func TestToolServersAreAdmitted(t *testing.T) {
	judge := &offerJudge{deny: "a"}
	plugin := &handServer{name: "plug"}
	h, a, _ := withServers(t, `{"turns":[[{"mcp_message":{"server_name":"a","message":{"jsonrpc":"2.0","id":7,"method":"ping"},"expect":{"code":-32601,"contains":["Server \\\"a\\\" not found"]}}},{"reveal":"initialize"}]]}`, func(o *engine.Options) {
		o.Admission = []admission.Decider{judge}
		o.PluginServers = func() map[string]engine.ToolServer {
			return map[string]engine.ToolServer{"plug": plugin, "b": plugin, "no name": plugin, "none": nil}
		}
	})
	s := h.mustStart()
	h.ended(s, `"sdkMcpServers":["b","plug"]`)
	want := []string{"{a gatehouse sdk", "{b gatehouse sdk", "{plug plugin sdk"}
	for i, w := range want {
		if len(judge.seen) != len(want) || !strings.HasPrefix(fmt.Sprint(judge.seen[i]), w) {
			t.Errorf("asked %v, want %v", judge.seen, want)
		}
	}
	for _, part := range []string{
		`{"name":"a","source":"gatehouse","rule":"test.server","reason":"not this one"}`, `{"name":"b","source":"plugin","rule":"engine.server_taken"`,
		`"source":"plugin","rule":"engine.server_name"`, `{"name":"none","source":"plugin","rule":"engine.server_form"`,
	} {
		if !find(s, event.Notice, part) {
			t.Errorf("not told: %s\n%s", part, dump(s))
		}
	}
	if a.connections() != 0 {
		t.Error("what was refused was connected")
	}
}

func TestPluginServersAreAskedOnceASession(t *testing.T) {
	var asked atomic.Int32
	h, _, _ := withServers(t, `{"turns":[[{"text":"one"}]],"resume_turns":[[{"text":"two"}]]}`, func(o *engine.Options) {
		o.WarmTTL = 1
		o.PluginServers = func() map[string]engine.ToolServer {
			if asked.Add(1) > 1 {
				panic("asked for another session")
			}
			return map[string]engine.ToolServer{"plug": &handServer{name: "plug"}}
		}
	})
	s, err := h.start(func(p *engine.StartParams) { p.McpServers = json.RawMessage(`{"mine":{"command":"x"}}`) })
	if err != nil {
		t.Fatal(err)
	}
	h.ended(s, "one")
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
	f, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "fork", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	h.ended(f, "two")
	if asked.Load() != 2 || !find(f, event.Notice, `{"source":"plugin","rule":"engine.plugin_servers"`) || !find(f, event.Notice, `"name":"a","source":"gatehouse"`) {
		t.Errorf("asked %d times\n%s", asked.Load(), dump(f))
	}
}

func TestStrictLeavesToolServersOut(t *testing.T) {
	h, a, _ := withServers(t, `{"turns":[[{"reveal":"initialize"}]]}`, nil)
	s, err := h.start(func(p *engine.StartParams) { p.StrictMcpConfig = true })
	if err != nil {
		t.Fatal(err)
	}
	if r := h.settled(s).Result.Result; strings.Contains(r, "sdkMcpServers") || a.connections() != 0 {
		t.Errorf("strictMcpConfig: %s", r)
	}
}

func TestCallersServerOfATakenName(t *testing.T) {
	h, _, _ := withServers(t, `{}`, func(o *engine.Options) {
		o.Admission = []admission.Decider{neverAsked{t}}
		o.PluginServers = func() map[string]engine.ToolServer {
			return map[string]engine.ToolServer{"plug": &handServer{}}
		}
	})
	for name, whose := range map[string]string{"a": "of Gatehouse itself", "plug": "of a plugin"} {
		for _, strict := range []bool{false, true} {
			_, err := h.start(func(p *engine.StartParams) {
				p.McpServers, p.StrictMcpConfig = json.RawMessage(`{"`+name+`":{"command":"x"}}`), strict
			})
			if engine.CodeOf(err) != engine.InvalidArgument || !strings.Contains(err.Error(), `"`+name+`" is the name of a tool server `+whose) {
				t.Errorf("%s, strict %v: %v", name, strict, err)
			}
		}
	}
}

type neverAsked struct{ t *testing.T }

func (n neverAsked) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	n.t.Errorf("admission was asked about %s", r.Action)
	return permission.Decision{}, errors.New("not now")
}

func TestOwnersServerOfATakenName(t *testing.T) {
	l := newOwnerLab(t)
	l.global(`{"mcpServers":{"a":{"command":"user-a"},"c":{"command":"user-c"}}}`)
	for refused, judge := range map[string]*offerJudge{"": {}, "a": {deny: "a"}} {
		h := newHarness(t, revealConfig, func(o *engine.Options) {
			o.Roots, o.Admission = []string{l.repo}, []admission.Decider{judge}
			o.Environ = []string{"HOME=" + l.home, "USERPROFILE=" + l.home}
			o.ToolServers = map[string]engine.ToolServer{"a": &handServer{name: "a"}}
		})
		s := h.mustStart()
		if got := names(l.result(h, s)); got != "c=user-c" {
			t.Errorf("refused %q: the CLI was given %q", refused, got)
		}
		if !find(s, event.Notice, `{"name":"a","source":"user","rule":"engine.server_taken"`) {
			t.Errorf("refused %q: not told\n%s", refused, dump(s))
		}
	}
}

// Every process of a session connects anew, and so do its copies.
func TestToolServersOfFurtherProcesses(t *testing.T) {
	turn := `[` + say("b") + `,{"text":"said"}]`
	h, _, b := withServers(t, `{"turns":[`+turn+`],"resume_turns":[`+turn+`,`+turn+`]}`, func(o *engine.Options) { o.WarmTTL = 1 })
	s := h.mustStart()
	h.ended(s, "said")
	f, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "fork", Fork: true})
	if err != nil {
		t.Fatal(err)
	}
	h.ended(f, "said")
	if b.connections() != 2 || b.link(0).session != s.ID() || b.link(1).session != f.ID() {
		t.Fatalf("%d connections", b.connections())
	}
	h.until(s, "cold", func() bool { return b.link(0).isClosed() })
	if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	h.ended(s, "said")
	if b.connections() != 3 || b.link(2).session != s.ID() || b.link(2).seen() != handshakeSeen+" tools/call" {
		t.Fatalf("%d connections", b.connections())
	}
}

// An isolated launch has them too, on a connection of its own: the process that was
// looked at before is gone, and so is its.
func TestToolServersOfAnIsolatedLaunch(t *testing.T) {
	h, a, _ := withServers(t, `{"mcp":{"early":true},"settings_dropped":{"keys":["allowManagedHooksOnly"]},"turns":[[`+say("a")+`,{"text":"said"}]]}`, nil)
	s := h.mustStart()
	h.ended(s, "said")
	if !find(s, event.Notice, `"isolated":true`) || a.connections() != 2 || !a.link(0).isClosed() || a.link(1).isClosed() {
		t.Errorf("%d connections\n%s", a.connections(), dump(s))
	}
}

func TestMessagesForToolServers(t *testing.T) {
	message := func(server, message, expect string) string {
		return `{"mcp_message":{"server_name":"` + server + `","message":` + message + `,"expect":` + expect + `}}`
	}
	h, a, b := withServers(t, `{"turns":[[`+strings.Join([]string{
		message("nobody", `{"jsonrpc":"2.0","id":"seven","method":"tools/list"}`, `{"code":-32601,"contains":["Server \\\"nobody\\\" not found","\"id\":\"seven\""]}`),
		message("nobody", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"contains":["\"result\":{}"]}`),
		message("a", `[]`, `{"code":-32600}`), message("a", `"text"`, `{"code":-32600}`), message("a", `null`, `{"code":-32600}`),
		message("a", `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`, `{"contains":["\"id\":3","say"]}`),
		message("b", `{"jsonrpc":"2.0","id":3,"method":"initialize","params":{}}`, `{"contains":["\"id\":3","serverInfo","\"name\":\"b\""]}`),
		message("b", `{"jsonrpc":"2.0","method":"notifications/other"}`, `{"contains":["\"result\":{}"]}`),
		`{"raw":"{\"type\":\"control_request\",\"request_id\":\"twice\",\"request\":{\"subtype\":\"mcp_message\",\"server_name\":\"b\",\"message\":{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\",\"method\":\"tools/call\"}}}"}`,
		`{"text":"all answered"}`,
	}, ",")+`]],"mcp":{"no_handshake":true}}`, nil)
	s := h.mustStart()
	h.ended(s, "all answered")
	h.until(s, "refusal", func() bool { return find(s, event.Notice, "stands twice") })
	if a.link(0).seen() != "tools/list" || b.link(0).seen() != "initialize notifications/other" {
		t.Errorf("delivered %q and %q", a.link(0).seen(), b.link(0).seen())
	}
	if find(s, event.Notice, `is not known`) {
		t.Errorf("mcp_message was told to be unknown:\n%s", dump(s))
	}
}

// What goes wrong in a server fails its own messages; the session goes on.
func TestToolServersThatFail(t *testing.T) {
	const turns = `{"turns":[[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"read"}},{"text":"went on"}]]}`
	for name, c := range map[string]struct {
		break_ func(*handServer)
		told   string
	}{
		"connect fails":  {func(a *handServer) { a.refuse = func() error { return errors.New("no room") } }, "could not be connected: no room"},
		"connect panics": {func(a *handServer) { a.refuse = func() error { panic("boom") } }, "could not be connected: panic: boom"},
		"deliver panics": {func(a *handServer) { a.trouble = func(string) { panic("boom") } }, "failed at a message"},
		"late panic": {func(a *handServer) {
			a.trouble = func(m string) {
				if m == "tools/list" {
					panic("boom")
				}
			}
		}, "failed at a message"},
	} {
		t.Run(name, func(t *testing.T) {
			h, a, b := withServers(t, turns, nil)
			c.break_(a)
			s := h.mustStart()
			h.ended(s, "went on")
			if !find(s, event.Notice, `"server":"a","type":"tool_server"`) && !find(s, event.Notice, c.told) {
				t.Errorf("not told:\n%s", dump(s))
			}
			if n := strings.Count(dump(s), c.told); n != 1 {
				t.Errorf("told %d times:\n%s", n, dump(s))
			}
			if b.link(0).seen() != handshakeSeen {
				t.Errorf("the other server saw %s", b.link(0).seen())
			}
		})
	}
}

func TestServersTheCliIsNotConnectedTo(t *testing.T) {
	frame := `{"frame":{"type":"system","subtype":"init","model":"m","tools":[],"mcp_servers":[{"name":"a","status":"failed"},{"name":"b","status":"pending"},{"name":"other","status":"failed"}]}}`
	h, _, _ := withServers(t, `{"turns":[[`+frame+`,`+frame+`,{"text":"end"}]]}`, nil)
	s := h.mustStart()
	h.ended(s, "end")
	if n := strings.Count(dump(s), `the CLI is not connected to tool server`); n != 1 || !find(s, event.Notice, `"status":"failed"`) {
		t.Errorf("told %d times:\n%s", n, dump(s))
	}
}

// The process ends while a server works for it: the call is cancelled with it.
func TestProcessEndsInACall(t *testing.T) {
	for name, step := range map[string]string{
		"it exits":  `{"tool":{"name":"mcp__b__hang","die_in_call":{"code":3}}}`,
		"cancelled": `{"tool":{"name":"mcp__b__hang"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			h, _, b := withServers(t, `{"turns":[[`+step+`]]}`, nil)
			s := h.mustStart()
			if name == "cancelled" { // the other one may be gone before its call was read
				h.until(s, "call", func() bool { return b.link(0) != nil && strings.HasSuffix(b.link(0).seen(), "tools/call") })
				s.Cancel(context.Background(), "enough", "test")
				<-s.Done()
			}
			h.settled(s)
			h.until(s, "closed", func() bool { return b.link(0) != nil && b.link(0).isClosed() })
			if err := b.link(0).push(json.RawMessage(`{"jsonrpc":"2.0","method":"notifications/message"}`)); err == nil {
				t.Error("a message was taken for a process that has ended")
			}
		})
	}
}

func TestPushes(t *testing.T) {
	const list = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
	h, a, _ := withServers(t, `{"version":"2.1.329","turns":[[{"mcp_until":{"server_name":"a","push":"notifications/message","count":2}},{"mcp_until":{"server_name":"a","push":"notifications/tools/list_changed"}},{"mcp_until":{"server_name":"a","push":"ping"}},{"mcp_wait":{}},{"text":"heard"}]]}`, nil)
	a.trouble = func(method string) {
		if method != "notifications/initialized" {
			return
		}
		for _, m := range []string{`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"one"}}`, list, `{"jsonrpc":"2.0","id":"q","method":"ping"}`, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"two"}}`} {
			if err := a.link(0).push(json.RawMessage(m)); err != nil {
				t.Errorf("push %s: %v", m, err)
			}
		}
		for _, m := range []string{``, `[]`, `{broken`, `null`} {
			if err := a.link(0).push(json.RawMessage(m)); err == nil {
				t.Errorf("push %q was taken", m)
			}
		}
	}
	s := h.mustStart()
	h.ended(s, "heard")
	h.until(s, "the answer to the server's question", func() bool { return strings.Contains(a.link(0).seen(), "answer") })
	h.until(s, "the new list", func() bool { return strings.Count(a.link(0).seen(), "tools/list") == 2 })
}
