package realcli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// house is a server of tools in this process, which notes what reached its tools.
type house struct {
	*mcp.Server
	mu    sync.Mutex
	heard []string
}

func (h *house) note(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.heard = append(h.heard, text)
}

// calls are the notes so far.
func (h *house) calls() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.heard)
}

// add offers a tool whose arguments are noted; run makes its result.
func (h *house) add(t *mcp.Tool, run func(ctx context.Context) (*mcp.CallToolResult, error)) {
	if t.InputSchema == nil {
		t.InputSchema = object{"type": "object"}
	}
	t.Description = "a tool of this process"
	h.AddTool(t, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		h.note(t.Name + " " + string(req.Params.Arguments))
		return run(ctx)
	})
}

func says(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// newHouse has the tools keep and "with.dot"; fail, shape and tell, whose results
// hold the secret; panic; and hang, which waits for its end.
func newHouse() *house {
	h := &house{Server: mcp.NewServer(&mcp.Implementation{Name: "house", Version: "1"}, &mcp.ServerOptions{
		Instructions: "MARK-INSTRUCTIONS",
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{ListChanged: true}},
	})}
	fixed := func(r *mcp.CallToolResult) func(context.Context) (*mcp.CallToolResult, error) {
		return func(context.Context) (*mcp.CallToolResult, error) { return r, nil }
	}
	h.add(&mcp.Tool{Name: "keep"}, fixed(says("MARK-KEPT")))
	h.add(&mcp.Tool{Name: "with.dot"}, fixed(says("MARK-DOT")))
	h.add(&mcp.Tool{Name: "tell"}, fixed(says("it is "+kept+".")))
	shaped := says("text " + kept)
	shaped.StructuredContent, shaped.Meta = object{"key": kept}, mcp.Meta{"note": kept}
	h.add(&mcp.Tool{Name: "shape"}, fixed(shaped))
	h.add(&mcp.Tool{Name: "fail"}, fixed(&mcp.CallToolResult{IsError: true, Content: says("refused " + kept).Content, Meta: mcp.Meta{"note": kept}}))
	h.add(&mcp.Tool{Name: "break"}, func(context.Context) (*mcp.CallToolResult, error) { return nil, errors.New("broke on " + kept) })
	h.add(&mcp.Tool{Name: "long"}, fixed(says(strings.Repeat("a line of a long output\n", 20_000)+kept+"\nthe end")))
	h.add(&mcp.Tool{Name: "panic"}, func(context.Context) (*mcp.CallToolResult, error) { panic("panic with " + kept) })
	h.add(&mcp.Tool{Name: "hang", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(ctx context.Context) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
			h.note("hang cancelled")
		case <-time.After(patience):
		}
		return says("MARK-LATE"), nil
	})
	return h
}

// use is a reply that calls a tool of the house.
func (*house) use(tool string, input object) fakeapi.Turn {
	if input == nil {
		input = object{}
	}
	return fakeapi.Use("mcp__house__"+tool, input)
}

// offered has an engine's sessions offered the house.
func (h *house) offered(o *engine.Options) {
	o.ToolServers = map[string]engine.ToolServer{"house": inproc.Serve(h.Server, nil)}
}

// ruling decides calls by a word of their input and asks about all others.
type ruling struct{}

// Decide implements permission.Decider.
func (ruling) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	switch text := string(r.Input); {
	case strings.Contains(text, "allowed by rule"):
		return permission.Decision{Effect: permission.Allow, Rule: "test.allow"}, nil
	case strings.Contains(text, "denied by rule"):
		return permission.Decision{Effect: permission.Deny, Rule: "test.deny", Reason: "MARK-REASON"}, nil
	}
	return permission.Decision{Effect: permission.Ask, Rule: "test.ask"}, nil
}

// Revision implements permission.Decider.
func (ruling) Revision() string { return "1" }

func TestToolOfThisProcessPassesTheGate(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(
		h.use("keep", object{"n": "approved"}), h.use("keep", object{"n": "refused"}),
		h.use("keep", object{"n": "allowed by rule"}), h.use("keep", object{"n": "denied by rule"}),
		h.use("with.dot", object{"n": "no such tool"}), h.use("with_dot", object{"n": "approved"}), fakeapi.Say("done"))
	l.open(h.offered, func(*engine.Options) { l.judge.next = ruling{} })
	s := l.start("go")
	asked := 0
	events := l.turns(s, 1, func(a engine.Action) engine.Answer {
		asked++
		return engine.Answer{Allow: !strings.Contains(string(a.Input), "refused"), DenyMessage: "not today"}
	})
	want := []string{`keep {"n":"approved"}`, `keep {"n":"allowed by rule"}`, `with.dot {"n":"approved"}`}
	if got := h.calls(); !slices.Equal(got, want) || asked != 3 {
		t.Errorf("ran %q after %d questions, want %q after 3\n%s", got, asked, want, dump(s))
	}
	for _, text := range []string{"MARK-KEPT", "MARK-DOT", "not today", "MARK-REASON", "MARK-INSTRUCTIONS"} {
		if !l.api.Saw(text) {
			t.Errorf("the model was not told %s", text)
		}
	}
	if !saw(events, event.ToolResult, "MARK-KEPT") || !saw(events, event.PermissionAsked, "approved") {
		t.Errorf("events lack the question or the result:\n%s", dump(s))
	}
	judged := l.judge.find("mcp__house__keep", "approved")
	if len(judged) == 0 || !slices.Equal(judged[0].Session.InprocServers, []string{"house"}) {
		t.Errorf("the policies were not told of the server: %+v", judged)
	}
	l.untouched(s)
}

// What an approver put in the input's place is what the tool gets, however it is
// spelled; the CLI writes it anew in between.
func TestToolOfThisProcessGetsTheChangedInput(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(h.use("keep", object{"n": "original"}), h.use("keep", object{"big": json.Number("12345678901234567890"), "t": "\u2028<&>\u00e9"}), fakeapi.Say("done"))
	l.open(h.offered)
	s := l.start("go")
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		if !strings.Contains(string(a.Input), "original") {
			return engine.Answer{Allow: true}
		}
		return engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"z":1.0,"10":[null,1e3,-0.0],"9":{"k":null},"n":"changed"}`)}
	})
	got := h.calls()
	if len(got) != 2 || got[0] != `keep {"9":{"k":null},"10":[null,1000,0],"z":1,"n":"changed"}` || !strings.Contains(got[1], "12345678901234567000") {
		t.Errorf("ran %q\n%s", got, dump(s))
	}
}

// A server's entry in the caller's configuration does not stand before ours.
func TestCallersServerMayNotHaveOurName(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(fakeapi.Say("never"))
	l.open(h.offered)
	servers, err := json.Marshal(object{"house": notes(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	p := engine.StartParams{Prompt: "go", McpServers: servers}
	if _, err := l.engine.Start(t.Context(), p); engine.CodeOf(err) != engine.InvalidArgument || !strings.Contains(err.Error(), "house") {
		t.Errorf("error %v, want INVALID_ARGUMENT naming the server", err)
	}
}

// Servers of the owner's settings work beside ours, unless they have our name.
func TestToolsOfThisProcessBesideOtherServers(t *testing.T) {
	l, h := newLab(t), newHouse()
	folder := t.TempDir()
	l.file("~/.claude.json", object{"mcpServers": object{"mine": notes(folder), "house": notes(folder)}})
	l.serve(keep("mine", "note"), h.use("keep", object{"name": "ours"}), fakeapi.Say("done"))
	l.open(h.offered)
	s := l.start("go")
	l.turns(s, 1, allow)
	if !exists(folder+"/note") || exists(folder+"/ours") || !slices.Equal(h.calls(), []string{`keep {"name":"ours"}`}) {
		t.Errorf("ran %q\n%s", h.calls(), dump(s))
	}
	if !told(s, `"house"`) {
		t.Errorf("nothing is told of the server that was left out:\n%s", dump(s))
	}
}
