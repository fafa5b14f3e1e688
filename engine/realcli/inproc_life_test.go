package realcli

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An interrupt reaches the tool that runs, and the session goes on.
func TestInterruptCancelsACallOfThisProcess(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(
		fakeapi.Turn{Tools: []fakeapi.ToolUse{{Name: "mcp__house__hang", Input: object{"n": 1}}, {Name: "mcp__house__hang", Input: object{"n": 2}}}},
		h.use("keep", nil), fakeapi.Say("done"))
	l.open(h.offered)
	s := l.start("go")
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		if strings.Contains(string(a.Input), "1") {
			return engine.Answer{Allow: true}
		}
		l.eventually("the first call runs", func() bool { return len(h.calls()) > 0 })
		return engine.Answer{DenyMessage: "stop", Interrupt: true}
	})
	l.eventually("the tool is cancelled", func() bool { return slices.Contains(h.calls(), "hang cancelled") })
	l.reply(s, "again")
	l.turns(s, 2, allow)
	want := []string{`hang {"n":1}`, "hang cancelled", "keep {}"}
	if r := s.Info().Result; r == nil || r.Result != "done" || !slices.Equal(h.calls(), want) || l.api.Saw("MARK-LATE") {
		t.Errorf("result %+v, ran %q\n%s", r, h.calls(), dump(s))
	}
}

// The end of a session ends the calls of its tools.
func TestCancelEndsACallOfThisProcess(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(h.use("hang", nil), fakeapi.Say("never"))
	l.open(h.offered)
	s := l.start("go")
	a := l.question(s)
	if err := s.Answer(t.Context(), engine.Answer{RequestID: a.RequestID, Allow: true}); err != nil {
		t.Fatal(err)
	}
	l.eventually("the tool runs", func() bool { return slices.Contains(h.calls(), "hang {}") })
	if err := s.Cancel(t.Context(), "test", "test"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	l.eventually("the tool is cancelled", func() bool { return slices.Contains(h.calls(), "hang cancelled") })
}

// Tools that say they only read run at the same time; the others one by one.
func TestReadOnlyToolsOfThisProcessRunTogether(t *testing.T) {
	l, h := newLab(t), newHouse()
	arrived, together := make(chan struct{}, 3), make(chan struct{})
	h.add(&mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(ctx context.Context) (*mcp.CallToolResult, error) {
		arrived <- struct{}{}
		select {
		case <-together:
			return says("MARK-TOGETHER"), nil
		case <-time.After(patience / 2):
			return says("alone"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	go func() { // ends when all three came, or with the test
		for range 3 {
			select {
			case <-arrived:
			case <-t.Context().Done():
				return
			}
		}
		close(together)
	}()
	one := func(n int) fakeapi.ToolUse { return fakeapi.ToolUse{Name: "mcp__house__look", Input: object{"n": n}} }
	l.serve(fakeapi.Turn{Tools: []fakeapi.ToolUse{one(1), one(2), one(3)}}, fakeapi.Say("done"))
	l.open(h.offered)
	s := l.start("go")
	events := l.turns(s, 1, allow)
	n := 0
	for _, e := range events {
		n += strings.Count(texts(e), "MARK-TOGETHER")
	}
	if len(h.calls()) != 3 || n < 3 || l.api.Saw("alone") {
		t.Errorf("ran %q, %d of them together\n%s", h.calls(), n, dump(s))
	}
	for _, c := range []string{`"n":1`, `"n":2`, `"n":3`} {
		l.wasJudged("mcp__house__look", c)
	}
}

// A tool that is added while a session runs is there in the next turn, and one that
// is removed is not. CLI 2.1.197 does not follow a server's word in mid-turn.
func TestToolsOfThisProcessChange(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(h.use("keep", nil), fakeapi.Say("one"), h.use("fresh", nil), h.use("keep", nil), fakeapi.Say("two"), h.use("fresh", nil), fakeapi.Say("three"))
	l.open(h.offered)
	s := l.start("go")
	l.turns(s, 1, allow)
	h.add(&mcp.Tool{Name: "fresh"}, func(context.Context) (*mcp.CallToolResult, error) { return says("MARK-FRESH"), nil })
	h.RemoveTools("keep")
	time.Sleep(500 * time.Millisecond) // the server gathers changes before it tells of them
	l.reply(s, "again")
	l.turns(s, 2, allow)
	want := []string{"keep {}", "fresh {}"}
	if got := h.calls(); !slices.Equal(got, want) || !l.api.Saw("MARK-FRESH") {
		t.Errorf("ran %q, want %q\n%s", got, want, dump(s))
	}
	l.reply(s, "and again")
	l.turns(s, 3, allow)
	if got := h.calls(); !slices.Equal(got, append(want, "fresh {}")) {
		t.Errorf("ran %q\n%s", got, dump(s))
	}
	l.untouched(s)
}

// A resumed session is offered the tools its engine has then.
func TestToolsOfThisProcessAfterAResume(t *testing.T) {
	l, h := newLab(t), newHouse()
	l.serve(h.use("keep", object{"n": "first"}), fakeapi.Say("one"), h.use("later", object{"n": "second"}), fakeapi.Say("two"))
	l.open(l.resumable, h.offered)
	s := l.start("go")
	l.turns(s, 1, allow)
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = l.project
	h.add(&mcp.Tool{Name: "later"}, func(context.Context) (*mcp.CallToolResult, error) { return says("MARK-LATER"), nil })
	l.reopen(l.resumable, h.offered)
	l.written(s)
	l.turns(l.resume(p), 1, allow)
	if got := h.calls(); !slices.Equal(got, []string{`keep {"n":"first"}`, `later {"n":"second"}`}) || !l.api.Saw("MARK-LATER") {
		t.Errorf("ran %q", got)
	}
}

// Calls of a sub-agent, and calls in plan mode, are asked like all others.
func TestSubAgentsAndPlansCallToolsOfThisProcess(t *testing.T) {
	l, h := newLab(t), newHouse()
	h.add(&mcp.Tool{Name: "look", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, func(context.Context) (*mcp.CallToolResult, error) { return says("MARK-LOOKED"), nil })
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{agentCall(false), fakeapi.Use("EnterPlanMode", nil), h.use("look", object{"from": "plan"}), h.use("look", object{"from": "refused"}), fakeapi.Say("main done")},
		Lanes: []fakeapi.Lane{{Match: "CHILD", Turns: []fakeapi.Turn{h.use("look", object{"from": "child"}), fakeapi.Say("child done")}}},
	})
	l.open(h.offered)
	s := l.start("go")
	asked := map[string]bool{}
	events := l.turns(s, 1, func(a engine.Action) engine.Answer {
		asked[a.ToolName+string(a.Input)] = true
		return engine.Answer{Allow: !strings.Contains(string(a.Input), "refused")}
	})
	want := []string{`look {"from":"child"}`, `look {"from":"plan"}`}
	if got := h.calls(); !slices.Equal(got, want) || len(asked) < 3 {
		t.Errorf("ran %q, want %q; asked %v\n%s", got, want, asked, dump(s))
	}
	if found := l.judge.find("mcp__house__look", "child"); len(found) == 0 || found[len(found)-1].AgentID == "" {
		t.Errorf("judged %+v, want the agent's id", found)
	}
	if !saw(events, event.ToolResult, "MARK-LOOKED") {
		t.Errorf("no result:\n%s", dump(s))
	}
}

// Sessions without any settings file, or with their own servers only, have these.
func TestIsolatedSessionsHaveToolsOfThisProcess(t *testing.T) {
	for _, c := range []struct {
		name   string
		params engine.StartParams
		want   int
	}{
		{"no sources", engine.StartParams{SettingSources: &[]string{}}, 1},
		{"strict", engine.StartParams{StrictMcpConfig: true}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, h := newLab(t), newHouse()
			l.serve(h.use("keep", nil), fakeapi.Say("done"))
			l.open(h.offered)
			c.params.Prompt = "go"
			s := l.startWith(c.params)
			l.turns(s, 1, allow)
			if got := h.calls(); len(got) != c.want {
				t.Errorf("ran %q, want %d\n%s", got, c.want, dump(s))
			}
		})
	}
}
