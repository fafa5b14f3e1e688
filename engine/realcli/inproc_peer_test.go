package realcli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// absent is a server that nobody can connect to; it counts who tried.
type absent struct{ tried *atomic.Int32 }

// Connect implements engine.ToolServer.
func (a absent) Connect(string, func(json.RawMessage) error) (engine.ToolLink, error) {
	a.tried.Add(1)
	return nil, errors.New("MARK-ABSENT")
}

// While one server is down the CLI greets all of them again at each turn, with the
// same ids. The others work on.
func TestServersAreGreetedAgainWhileOneIsDown(t *testing.T) {
	l, h := newLab(t), newHouse()
	var tried atomic.Int32
	l.serve(h.use("keep", object{"n": 1}), fakeapi.Say("one"), h.use("keep", object{"n": 2}), fakeapi.Say("two"))
	l.open(h.offered, func(o *engine.Options) { o.ToolServers["down"] = absent{&tried} })
	s := l.start("go")
	l.turns(s, 1, allow)
	l.reply(s, "again")
	events := l.turns(s, 2, allow)
	if got := h.calls(); !slices.Equal(got, []string{`keep {"n":1}`, `keep {"n":2}`}) || tried.Load() < 2 {
		t.Errorf("ran %q, %d tried to connect\n%s", got, tried.Load(), dump(s))
	}
	if !saw(events, event.Notice, "MARK-ABSENT") {
		t.Errorf("nothing is told of the server that is down:\n%s", dump(s))
	}
}

// Two servers have the same ids for their calls, at the same time.
func TestServersWithTheSameIDs(t *testing.T) {
	l := newLab(t)
	echoing := func() *house {
		h := newHouse()
		h.AddTool(&mcp.Tool{Name: "echo", InputSchema: object{"type": "object"}, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			h.note(string(req.Params.Arguments))
			return says("MARK-ECHO " + string(req.Params.Arguments)), nil
		})
		return h
	}
	one, two := echoing(), echoing()
	var tools []fakeapi.ToolUse
	for _, server := range []string{"one", "two", "one", "two"} {
		tools = append(tools, fakeapi.ToolUse{Name: "mcp__" + server + "__echo", Input: object{"from": server, "pad": strings.Repeat("x", 1<<18)}})
	}
	l.serve(fakeapi.Turn{Tools: tools}, fakeapi.Say("done"))
	l.open(func(o *engine.Options) {
		o.ToolServers = map[string]engine.ToolServer{"one": inproc.Serve(one.Server, nil), "two": inproc.Serve(two.Server, nil)}
	})
	s := l.start("go")
	l.turns(s, 1, allow)
	for name, h := range map[string]*house{"one": one, "two": two} {
		got := h.calls()
		if len(got) != 2 || !strings.Contains(got[0], `"from":"`+name+`"`) || !strings.Contains(got[1], `"from":"`+name+`"`) {
			t.Errorf("%s heard %d calls: %.80q\n%s", name, len(got), got, dump(s))
		}
		if !l.api.Saw(`MARK-ECHO {\"from\":\"` + name + `\"`) {
			t.Errorf("the model got no answer of %s\n%s", name, dump(s))
		}
	}
}

// What a server asks the CLI while a call runs is answered, and what it tells
// disturbs nothing.
func TestServersMayTalkDuringACall(t *testing.T) {
	l, h := newLab(t), newHouse()
	h.AddTool(&mcp.Tool{Name: "talk", InputSchema: object{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for n := range 3 {
			if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetProgressToken(), Progress: float64(n), Message: "MARK-PROGRESS"}); err != nil {
				return nil, err
			}
		}
		if err := req.Session.Ping(ctx, nil); err != nil {
			return nil, err
		}
		h.note("pinged")
		return says("MARK-TALKED"), nil
	})
	l.serve(h.use("talk", nil), fakeapi.Say("done"))
	l.open(h.offered)
	s := l.start("go")
	l.turns(s, 1, allow)
	if got := h.calls(); !slices.Equal(got, []string{"pinged"}) || !l.api.Saw("MARK-TALKED") {
		t.Errorf("ran %q\n%s", got, dump(s))
	}
	if l.api.Saw("MARK-PROGRESS") {
		t.Error("the model was told of progress")
	}
}
