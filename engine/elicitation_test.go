package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

const nameForm = `{"mcp_server_name":"ext","message":"your name?","mode":"form","requested_schema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}}`

// eliciting is a turn with one request for a form; the text after it is what the CLI was answered.
func eliciting(request string) string {
	return `{"turns":[[{"elicitation":` + request + `},{"reveal":"answer"}]]}`
}

// formRules decides as rules, with a form's terms.
type formRules struct {
	rules
	terms  permission.AskTerms
	change json.RawMessage
}

func (f formRules) Decide(ctx context.Context, q permission.Request) (permission.Decision, error) {
	d, err := f.rules.Decide(ctx, q)
	d.Ask, d.UpdatedInput = f.terms, f.change
	if strings.Contains(string(q.Input), "forbidden") {
		d.Effect = permission.Deny
	}
	return d, err
}

func judgedBy(f formRules) func(*engine.Options) {
	return func(o *engine.Options) { o.Deciders = []permission.Decider{f} }
}

func TestFormIsAnAction(t *testing.T) {
	h := newHarness(t, eliciting(nameForm), nil)
	s := h.mustStart()
	a := h.action(s)
	if a.Type != "form" || a.ToolName != "Elicitation" || a.Rule != "engine.default" || a.Summary != "Elicitation: ext asks: your name?" {
		t.Errorf("action = %+v", a)
	}
	if f := a.Form; f == nil || f.Server != "ext" || f.Message != "your name?" || f.Mode != "form" || !strings.Contains(string(f.Schema), `"required":["name"]`) {
		t.Errorf("form = %+v", a.Form)
	}
	if got := s.Info().State; got != engine.Waiting {
		t.Errorf("state = %s", got)
	}
	err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID, Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"VALUE-OF-NAME"}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if r := h.settled(s).Result.Result; r != `{"response":{"action":"accept","content":{"name":"VALUE-OF-NAME"}}}` {
		t.Errorf("the CLI was answered %s", r)
	}
	if !find(s, event.PermissionResult, `"behavior":"allow","source":"respond"`) || !find(s, event.PermissionResult, `"action":"accept","filled":["name"]`) || find(s, event.PermissionResult, "VALUE-OF-NAME") {
		t.Errorf("events:\n%s", dump(s))
	}
	if len(s.Pending()) != 0 {
		t.Error("the form is still open")
	}
}

func TestFormAnswers(t *testing.T) {
	const visit = `{"mcp_server_name":"ext","message":"log in","mode":"url","url":"https://example.com/login"}`
	cases := []struct {
		name, form string
		answer     engine.Answer
		code       engine.Code // "" = taken
		part       string      // of the error, or of what the CLI was answered
	}{
		{"content", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada","age":3}}`)}, "", `"content":{"name":"Ada","age":3}`},
		{"input sent along", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(strings.Replace(nameForm, `{`, `{ "content":{"name":"Ada"}, `, 1))}, "", `"action":"accept"`},
		{"declined", nameForm, engine.Answer{DenyMessage: "none of your business"}, "", `{"response":{"action":"decline"}}`},
		{"no content", nameForm, engine.Answer{Allow: true}, engine.InvalidArgument, "is required to allow a form"},
		{"empty input", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{}`)}, engine.InvalidArgument, "is required to allow a form"},
		{"property missing", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"age":1}}`)}, engine.InvalidArgument, "updatedInput.content.name: is required"},
		{"wrong type", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada","age":"x"}}`)}, engine.InvalidArgument, "updatedInput.content.age: want a whole number, got a string"},
		{"unknown property", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada","x":1}}`)}, engine.InvalidArgument, "updatedInput.content.x: the form has no such property"},
		{"changed message", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"message":"other","content":{"name":"Ada"}}`)}, engine.InvalidArgument, "updatedInput: message: only content"},
		{"name twice", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada","name":"Eve"}}`)}, engine.InvalidArgument, "a key twice"},
		{"no object", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`[]`)}, engine.InvalidArgument, "want a JSON object"},
		{"placeholder", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"\u005bREDACTED:aws-key]"}}`)}, engine.InvalidArgument, "redaction placeholder"},
		{"permission updates", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada"}}`), UpdatedPermissions: json.RawMessage(`[]`)}, engine.InvalidArgument, "a form takes none"},
		{"content against policy", nameForm, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"forbidden"}}`)}, engine.PermissionDenied, "refused by rule"},
		{"page visited", visit, engine.Answer{Allow: true}, "", `{"response":{"action":"accept"}}`},
		{"page with content", visit, engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"content":{"a":1}}`)}, engine.InvalidArgument, "of mode url takes none"},
		{"page declined", visit, engine.Answer{}, "", `"action":"decline"`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, eliciting(c.form), judgedBy(formRules{rules: rules{"Elicitation": permission.Allow}}))
			s := h.mustStart()
			c.answer.RequestID = h.action(s).RequestID
			err := s.Answer(context.Background(), c.answer)
			if c.code == "" {
				if err != nil {
					t.Fatal(err)
				}
				if r := h.settled(s).Result.Result; !strings.Contains(r, c.part) {
					t.Errorf("the CLI was answered %s, want %s", r, c.part)
				}
				return
			}
			if err == nil || engine.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.part) {
				t.Errorf("err = %v, want %s with %q", err, c.code, c.part)
			}
			if len(s.Pending()) != 1 {
				t.Error("the question did not stay open")
			}
		})
	}
}

func TestFormsThatAreNotAsked(t *testing.T) {
	unattended := func(f formRules) func(*engine.Options) {
		return func(o *engine.Options) { judgedBy(f)(o); o.Unattended = true }
	}
	ask, allow := formRules{rules: rules{"Elicitation": permission.Ask}}, formRules{rules: rules{"Elicitation": permission.Allow}}
	cases := []struct {
		name, form string
		options    func(*engine.Options)
		record     string
	}{
		{"denied", nameForm, judgedBy(formRules{rules: rules{"Elicitation": permission.Deny}}), `"rule":"test.deny","reason":"because of the test"`},
		{"unattended, asked", nameForm, unattended(ask), "nobody can answer here"},
		{"unattended, allowed", nameForm, unattended(allow), "nobody can answer here"},
		{"changed", nameForm, judgedBy(formRules{rules: rules{"Elicitation": permission.Modify}, change: json.RawMessage(`{"mode":"form"}`)}), `"rule":"engine.`},
		{"asked about a change", nameForm, judgedBy(formRules{rules: rules{"Elicitation": permission.Ask}, change: json.RawMessage(`{"mode":"form"}`)}), `"rule":"engine.form_changed"`},
		{"nested", `{"mcp_server_name":"ext","message":"m","mode":"form","requested_schema":{"type":"object","properties":{"a":{"type":"object"}}}}`, nil, `"rule":"engine.form","reason":"property \"a\"`},
		{"unknown mode", `{"mcp_server_name":"ext","message":"m","mode":"dance"}`, nil, `mode \"dance\" is unknown`},
		{"no server", `{"message":"m","mode":"form"}`, nil, "from a server with a name"},
		{"odd address", `{"mcp_server_name":"ext","message":"m","mode":"url","url":"javascript:alert(1)"}`, nil, "want an http or https address"},
		{"too large", `{"mcp_server_name":"ext","message":"` + strings.Repeat("x", 70_000) + `","mode":"form"}`, nil, "at most 65536 are taken"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t, eliciting(c.form), c.options)
			s := h.mustStart()
			if r := h.settled(s).Result.Result; r != `{"response":{"action":"decline"}}` {
				t.Errorf("the CLI was answered %s", r)
			}
			if !find(s, event.PermissionResult, c.record) || !find(s, event.PermissionResult, `"behavior":"deny","source":"policy"`) || find(s, event.PermissionAsked, "") {
				t.Errorf("want %s; events:\n%s", c.record, dump(s))
			}
		})
	}
}

func TestFormWithoutAChoiceIsCancelled(t *testing.T) {
	h := newHarness(t, eliciting(nameForm), judgedBy(formRules{rules: rules{"Elicitation": permission.Ask}, terms: permission.AskTerms{TimeoutSeconds: 1}}))
	s := h.mustStart()
	if r := h.settled(s).Result.Result; r != `{"response":{"action":"cancel"}}` || !find(s, event.PermissionResult, `"source":"timeout"`) {
		t.Errorf("the CLI was answered %s; events:\n%s", r, dump(s))
	}
}

func TestFormInterrupted(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"elicitation":`+nameForm+`},{"sleep_ms":20000},{"text":"end"}]]}`, nil)
	s := h.mustStart()
	if err := s.Answer(context.Background(), engine.Answer{RequestID: h.action(s).RequestID, Interrupt: true}); err != nil {
		t.Fatal(err)
	}
	if i := h.settled(s); i.State != engine.Failed || !find(s, event.PermissionResult, `"interrupt":true`) || !find(s, event.PermissionResult, `"action":"cancel"`) {
		t.Errorf("state %s, events:\n%s", i.State, dump(s))
	}
}

func TestFormHaltEndsTheTurn(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"elicitation":`+nameForm+`},{"sleep_ms":20000},{"text":"end"}]]}`, judgedBy(formRules{rules: rules{"Elicitation": permission.Halt}}))
	s := h.mustStart()
	if i := h.settled(s); i.State != engine.Failed || !find(s, event.PermissionResult, `"rule":"test.halt"`) {
		t.Errorf("state %s, events:\n%s", i.State, dump(s))
	}
}

func TestFormForAPerson(t *testing.T) {
	h := newHarness(t, eliciting(nameForm), judgedBy(formRules{rules: rules{"Elicitation": permission.Ask}, terms: permission.AskTerms{Approver: "human"}}))
	s := h.mustStart()
	a := h.action(s)
	answer := engine.Answer{RequestID: a.RequestID, Allow: true, UpdatedInput: json.RawMessage(`{"content":{"name":"Ada"}}`)}
	if err := s.Answer(context.Background(), answer); a.Approver != "human" || engine.CodeOf(err) != engine.PermissionDenied {
		t.Errorf("approver %q, a client's answer: %v", a.Approver, err)
	}
	answer.Approver = "human"
	if err := s.Answer(context.Background(), answer); err != nil {
		t.Fatal(err)
	}
	if h.settled(s); !find(s, event.PermissionResult, `"source":"human"`) {
		t.Errorf("events:\n%s", dump(s))
	}
}

func TestFormEndsWithItsSession(t *testing.T) {
	h := newHarness(t, eliciting(nameForm), nil)
	s := h.mustStart()
	a := h.action(s)
	if err := s.Cancel(context.Background(), "enough", "test"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-s.Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the session did not end")
	}
	err := s.Answer(context.Background(), engine.Answer{RequestID: a.RequestID})
	if engine.CodeOf(err) != engine.PermissionRequestNotFound || !find(s, event.PermissionResult, `"action":"cancel"`) {
		t.Errorf("answer after the end: %v; events:\n%s", err, dump(s))
	}
}

func TestUnknownToolsAreTold(t *testing.T) {
	h := newHarness(t, `{"turns":[[{"text":"one"}],[{"text":"two"}]]}`, nil)
	s, err := h.start(func(p *engine.StartParams) {
		p.AllowedTools, p.DisallowedTools = []string{"Raed", "Bash", "mcp__docs__find"}, []string{"WebFetch"}
		p.McpServers = json.RawMessage(`{"docs":{"command":"true"}}`)
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `allowedTools: "Raed" is no tool of this session; did you mean "Read"?`
	if got := h.settled(s).Warnings; len(got) != 1 || got[0] != want {
		t.Errorf("warnings = %q", got)
	}
	if _, err := s.Prompt(context.Background(), engine.ReplyParams{Prompt: "more"}); err != nil {
		t.Fatal(err)
	}
	h.settled(s)
	if n := strings.Count(dump(s), `"type":"unknown_tools"`); n != 1 || len(s.Info().Warnings) != 1 {
		t.Errorf("told %d times:\n%s", n, dump(s))
	}
}

func TestGitBashHintReachesTheClient(t *testing.T) {
	const says = "Claude Code on Windows requires git-bash (see the docs)."
	const want = "set CLAUDE_CODE_GIT_BASH_PATH in the env block"
	h := newHarness(t, `{"exit_at_start":{"code":1,"stderr":"`+says+`"}}`, nil)
	if _, err := h.start(nil); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("start: %v", err)
	}
	h = newHarness(t, `{"turns":[[{"result":{"subtype":"error_during_execution","is_error":true,"errors":["`+says+`"]}},{"text":"x"}]]}`, nil)
	if r := h.settled(h.mustStart()).Result; !r.IsError || !strings.Contains(r.Result, want) {
		t.Errorf("result: %+v", r)
	}
	h = newHarness(t, `{"turns":[[{"exit":{"code":1,"stderr":"`+says+`"}}]]}`, nil)
	if r := h.settled(h.mustStart()).Result; !r.IsError || !strings.Contains(r.Result, want) {
		t.Errorf("result after an exit: %+v", r)
	}
}
