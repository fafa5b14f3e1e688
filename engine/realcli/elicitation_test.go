package realcli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askingServer is the argument that makes the test binary an MCP server with
// one tool, which asks for a form and returns what it was answered.
const askingServer = "asking-mcp-server"

const personSchema = `{"type":"object","properties":{
	"name":{"type":"string","minLength":2},"age":{"type":"integer","minimum":0},"sure":{"type":"boolean"},
	"size":{"type":"string","enum":["s","m"]}},"required":["name"]}`

func init() {
	if len(os.Args) < 2 || os.Args[1] != askingServer {
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "asking", Version: "1"}, nil)
	type nothing struct{}
	mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "ask for a person"}, func(ctx context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		answer, err := r.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(personSchema)})
		if err != nil {
			return nil, nil, err
		}
		raw, err := json.Marshal(answer.Content)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "ELICITED " + answer.Action + " " + string(raw)}}}, nil, err
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(0)
}

// openAsking makes an engine whose policies let a caller hand servers over.
func (l *lab) openAsking(change ...func(*engine.Options)) {
	l.Helper()
	set, err := policy.Load(l.Context(), policy.Options{Profile: "dev", Home: l.home, Grants: []string{"mcpServers"}})
	if err != nil {
		l.Fatal(err)
	}
	l.open(append(change, func(o *engine.Options) { o.Admission = []admission.Decider{set} })...)
}

// asking starts a session in which the model calls the asking server's tool.
func (l *lab) asking() *engine.Session {
	l.Helper()
	servers, err := json.Marshal(object{"ext": object{
		"command": os.Args[0], "args": []string{askingServer}, "alwaysLoad": true, "env": object{"GORACE": "atexit_sleep_ms=0"},
	}})
	if err != nil {
		l.Fatal(err)
	}
	return l.startWith(engine.StartParams{Prompt: "ask me", McpServers: servers, AllowedTools: []string{"mcp__ext__ask"}})
}

func TestFormReachesTheClientAndItsAnswerTheServer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer engine.Answer
		server string // what the server got
		record string
	}{
		{"filled", engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada","age":36,"sure":true,"size":"m"}}`)},
			`ELICITED accept {"age":36,"name":"Ada","size":"m","sure":true}`, `"filled":["age","name","size","sure"]`},
		{"declined", engine.Answer{}, "ELICITED decline", `"action":"decline"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLab(t)
			l.serve(fakeapi.Use("mcp__ext__ask", object{}), fakeapi.Say("done"))
			l.openAsking()
			s := l.asking()
			a := l.question(s)
			if a.Type != "form" || a.Form == nil || a.Form.Server != "ext" || a.Form.Message != "Who are you?" || !strings.Contains(string(a.Form.Schema), `"minLength":2`) {
				t.Fatalf("action = %+v", a)
			}
			tt.answer.RequestID = a.RequestID
			if err := s.Answer(t.Context(), tt.answer); err != nil {
				t.Fatal(err)
			}
			events := l.turns(s, 1, refuse)
			if !saw(events, event.ToolResult, tt.server) {
				t.Errorf("the server was not answered %s:\n%s", tt.server, dump(s))
			}
			recorded := slices.ContainsFunc(events, func(e event.Event) bool {
				return e.Type == event.PermissionResult && strings.Contains(string(e.Data), tt.record)
			})
			if !recorded {
				t.Errorf("no record with %s:\n%s", tt.record, dump(s))
			}
			if w := s.Info().Warnings; len(w) != 0 {
				t.Errorf("warnings %q about a tool that is there", w)
			}
			l.wasJudged("Elicitation", "Who are you?")
			l.untouched(s)
		})
	}
}

func TestFormThatNobodyAnswersIsCancelled(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Use("mcp__ext__ask", object{}), fakeapi.Say("done"))
	l.openAsking(func(o *engine.Options) { o.ApprovalTimeout = time.Second })
	s := l.asking()
	l.question(s)
	l.eventually("the server is told", func() bool { return saw(s.Events(nil, 0).Events, event.ToolResult, "ELICITED cancel") })
}

func TestFormInterruptEndsTheTurn(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Use("mcp__ext__ask", object{}), fakeapi.Say("done"))
	l.openAsking()
	s := l.asking()
	if err := s.Answer(t.Context(), engine.Answer{RequestID: l.question(s).RequestID, Interrupt: true}); err != nil {
		t.Fatal(err)
	}
	if l.turns(s, 1, refuse); s.Info().Result == nil || !s.Info().Result.IsError {
		t.Errorf("the turn went on:\n%s", dump(s))
	}
}
