package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// planPolicy is a file of redaction policies.
func planPolicy(t testing.TB, rules string) string {
	return userPolicy(t, "package gatehouse.redaction\n\n"+rules)
}

// edit is a rule of a plan with more fields and a condition.
func edit(rule, more, body string) string {
	return fmt.Sprintf("plan contains {\"action\": \"redact\", \"rule\": %q%s} if {\n\t%s\n}\n", rule, more, body)
}

// planRules are the rules of a plan for a document, in order, or its failure.
func planRules(t *testing.T, s *Set, document string) string {
	t.Helper()
	e, err := s.EvaluatePlan(context.Background(), json.RawMessage(document))
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, edit := range e.Edits {
		all = append(all, edit.Rule)
	}
	for _, l := range e.Layers {
		if l.Failure != "" {
			return l.Failure
		}
	}
	return strings.Join(all, " ")
}

func TestPlanOfAllLayers(t *testing.T) {
	s := load(t, Options{
		Profile: "ci",
		OrgModules: map[string]string{"org.rego": "package gatehouse.redaction\n\n" +
			edit("org.crm", `, "select": {"tools": ["mcp__crm__*"]}`, `some b in input.event.blocks; startswith(b.tool, "mcp__crm__")`)},
		Paths: []string{planPolicy(t, edit("user.late", `, "sink": ["log"]`, "true")+edit("user.b", "", `input.session.trusted == false`)+
			edit("user.a", "", `input.event.stream == "whole"`))},
	})
	for _, row := range []struct{ name, document, want string }{
		{"the log", `{"sink":{"kind":"log"},"event":{"stream":"whole"}}`, "records.context user.a user.b user.late"},
		{"the model", `{"sink":{"kind":"model"},"event":{"stream":"delta"}}`, "user.b"},
		{"a tool", `{"sink":{"kind":"model"},"session":{"trusted":true},"event":{"blocks":[{"type":"tool_result","tool":"mcp__crm__find"}]}}`, "org.crm"},
		{"unknown field", `{"snik":{}}`, `redaction document: unknown field "snik", the nearest is "sink"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := planRules(t, s, row.document); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
	e, err := s.EvaluatePlan(context.Background(), json.RawMessage(`{"sink":{"kind":"model"}}`))
	if err != nil || len(e.Layers) != 3 {
		t.Fatalf("layers %v, %v", e.Layers, err)
	}
	user := e.Layers[2]
	if user.Name != "user" || user.Edits[0].Rule != "user.b" || user.Edits[0].Line == 0 || user.Edits[1].Ignored == "" {
		t.Errorf("got %+v", user)
	}
}

func TestPlanIsDecodedStrictly(t *testing.T) {
	computed := func(fields string) string {
		return "plan contains object.union({\"action\": \"redact\", \"rule\": \"a.b\"}, {" + fields + "})"
	}
	for _, row := range []struct{ name, rules, fail string }{
		{"unknown field", computed(`"detector": ["vendor"]`), `unknown field "edit.detector", the nearest is "edit.detectors"`},
		{"unknown field of select", computed(`"select": {"tool": ["x"]}`), `the nearest is "edit.select.tools"`},
		{"unknown action", computed(`"action": lower("MASK")`), `edit.action "mask": unknown`},
		{"unknown sink", computed(`"sink": [lower("LOGS")]`), `the nearest is "log"`},
		{"no sink", computed(`"sink": []`), "hold nowhere"},
		{"empty tools", computed(`"select": {"tools": []}`), "selects nothing"},
		{"wrong type", computed(`"keys": "ssn"`), "edit.keys must be a list"},
		{"number", computed(`"action": "truncate", "max_bytes": 1.5`), "max_bytes must be a whole number"},
		{"no rule", `plan contains object.remove({"action": "redact", "x": 1}, ["x"])`, "rule: want"},
		{"no object", `plan contains lower("REDACT")`, "no object"},
		{"field of another action", computed(`"max_bytes": 3`), "max_bytes: action redact takes none"},
		{"a set", computed(`"keys": {"a"}`), ""}, // sets are lists in a result
		{"error", `plan contains {"action": "redact", "rule": "a.b"} if to_number(input.profile) > 1`, "to_number"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := load(t, Options{Paths: []string{planPolicy(t, row.rules)}})
			_, err := s.RedactionPlan(context.Background(), event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: json.RawMessage(`{}`)})
			if (err == nil) != (row.fail == "") || err != nil && !strings.Contains(err.Error(), row.fail) {
				t.Errorf("got %v, want an error with %q", err, row.fail)
			}
		})
	}
}

func TestPlanDoesNotLoad(t *testing.T) {
	for _, row := range []struct{ name, rules, fail string }{
		{"misspelt field", `plan contains {"action": "redact", "rule": "a.b", "detector": ["vendor"]}`, `edit field "detector": unknown, the nearest is "detectors"`},
		{"misspelt action", `plan contains {"action": "redcat", "rule": "a.b"}`, `action "redcat": unknown, the nearest is "redact"`},
		{"misspelt select", `plan contains {"action": "redact", "rule": "a.b", "select": {"block": ["text"]}}`, `the nearest is "blocks"`},
		{"misspelt sink", `plan contains {"action": "redact", "rule": "a.b", "sink": ["logs"]} if input.profile == "ci"`, `the nearest is "log"`},
		{"no rule", `plan contains {"action": "redact"}`, `without field "rule"`},
		{"a word for a list", `plan contains {"action": "redact", "rule": "a.b", "keys": "ssn"}`, "want a list of strings"},
		{"no bound", `plan contains {"action": "truncate", "rule": "a.b"}`, ".rego:3:1: edit.max_bytes: action truncate needs it"},
		{"a field of another action", "plan contains {\n\"action\": \"redact\", \"rule\": \"a.b\",\n\"with\": \"x\"}", ".rego:5:9: edit.with: action redact takes none"},
		{"no glob", "plan contains {\n\"action\": \"redact\", \"rule\": \"a.b\", \"select\": {\n\"tools\": [\"[\"]}}", ".rego:5:10: edit.select.tools: "},
		{"a bound that is a text", "plan contains {\"action\": \"truncate\", \"rule\": \"a.b\",\n\"max_bytes\": \"5\"}", ".rego:4:14: rule \"a.b\": edit.max_bytes must be"},
		{"no object", `plan contains "redact"`, `"redact" is no edit: write`},
		{"a word of a list", `plan contains {"action": "redact", "rule": "a.b", "sink": ["logs"]}`, "want one of event, model, audit, log, stderr, plugin"},
		{"an event nobody has", edit("a.b", "", `input.event.type == "results"`), "result, error, notice\n"},
		{"a bad pointer", `plan contains {"action": "drop", "rule": "a.b", "select": {"pointer": "input"}}`, "no JSON pointer"},
		{"no set", `plan := {"action": "redact", "rule": "a.b"}`, "plan must be a partial set"},
		{"a field nobody has", edit("a.b", "", `input.event.tool == "Bash"`), "tool"},
		{"a sink nobody has", edit("a.b", "", `input.sink.kind == "journal"`), `input.sink.kind is never "journal"`},
		{"undefined", `plan contains {"action": "redact", "rule": "a.b", "reason": input.event.blocks[0].tool}`, "may be undefined"},
		{"the clock", edit("a.b", "", `input.now_ns > 1`), "now_ns"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Load(context.Background(), Options{Paths: []string{planPolicy(t, row.rules)}})
			if err == nil || !strings.Contains(err.Error(), row.fail) {
				t.Errorf("got %v, want an error with %q", err, row.fail)
			}
		})
	}
}

func TestPlanOfAProjectIsRefused(t *testing.T) {
	_, err := compileProject(context.Background(), []projectPart{{sources: []source{{"p.rego", "package gatehouse.redaction\n\n" + edit("a.b", "", "true")}}}})
	if err == nil || !strings.Contains(err.Error(), "a repository may not say what is covered") {
		t.Errorf("got %v", err)
	}
}

func TestDetectorsOfTheData(t *testing.T) {
	data := func(name, pattern string) map[string]any {
		return map[string]any{"redaction": map[string]any{"detectors": map[string]any{name: map[string]any{"pattern": pattern, "keywords": []any{"ref"}}}}}
	}
	rules := `plan contains {"action": "hash", "rule": "a.b", "detectors": ["ticket"]}`
	org := map[string]string{"o.rego": "package gatehouse.redaction\n\n" + edit("o.b", "", "false")}
	for _, row := range []struct {
		name      string
		org, user map[string]any
		toml      *redact.Options
		fail      string
	}{
		{"of the user", nil, data("ticket", `REF-\d+`), nil, ""},
		{"of the organisation", data("ticket", `REF-\d+`), nil, &redact.Options{}, ""},
		{"of both, the same", data("ticket", `REF-\d+`), data("ticket", `REF-\d+`), nil, ""},
		{"of both, another", data("ticket", `REF-\d+`), data("ticket", `RED-\d+`), nil, `detector "ticket": two of that name differ`},
		{"of the configuration", nil, nil, &redact.Options{Custom: []redact.Custom{{Name: "ticket", Pattern: `REF-\d+`}}}, ""},
		{"of the configuration, another", nil, data("ticket", `REF-\d+`), &redact.Options{Custom: []redact.Custom{{Name: "ticket", Pattern: `RED-\d+`}}}, "differ"},
		{"misspelt", nil, data("tickets", `REF-\d+`), &redact.Options{}, `"ticket" is unknown, the nearest is "tickets"`},
		{"no pattern", nil, data("ticket", ""), nil, "pattern is missing"},
		{"bad pattern", nil, data("ticket", "("), nil, "ticket"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := Options{OrgModules: org, OrgData: row.org, Paths: []string{planPolicy(t, rules)}, Data: row.user, Redaction: row.toml}
			_, err := Load(context.Background(), o)
			if (err == nil) != (row.fail == "") || err != nil && !strings.Contains(err.Error(), row.fail) {
				t.Errorf("got %v, want an error with %q", err, row.fail)
			}
		})
	}
}

func TestPlanIsRemembered(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}})
	origin := &event.Origin{SessionID: "s", Taint: []string{"read:private"}}
	message := func(blocks string) json.RawMessage {
		return json.RawMessage(`{"type":"assistant","message":{"role":"assistant","content":[` + blocks + `]}}`)
	}
	base := event.Payload{Origin: origin, Sink: event.SinkEvent, Kind: event.Output, Data: message(`{"type":"text","text":"a"}`)}
	with := func(f func(*event.Payload)) event.Payload { p := base; f(&p); return p }
	for _, row := range []struct {
		name string
		p    event.Payload
		asks int64
	}{
		{"first", base, 1},
		{"the same", base, 0},
		{"another text", with(func(p *event.Payload) { p.Data = message(`{"type":"text","text":"b\"]}"}`) }), 0},
		{"two texts", with(func(p *event.Payload) { p.Data = message(`{"type":"text","text":"a"},{"text":"type","type":"text"}`) }), 0},
		{"an equal origin", with(func(p *event.Payload) { o := *origin; p.Origin = &o }), 0},
		{"another block", with(func(p *event.Payload) { p.Data = message(`{"type":"tool_use","name":"Bash","input":{}}`) }), 1},
		{"another tool", with(func(p *event.Payload) { p.Data = message(`{"type":"tool_use","name":"Read","input":{}}`) }), 1},
		{"another sink", with(func(p *event.Payload) { p.Sink = event.SinkLog }), 1},
		{"another taint", with(func(p *event.Payload) { p.Origin = &event.Origin{SessionID: "s"} }), 1},
		{"no session", with(func(p *event.Payload) { p.Origin = nil }), 1},
		{"first again", base, 0},
	} {
		before := s.planEvaluations.Load()
		if _, err := s.RedactionPlan(context.Background(), row.p); err != nil {
			t.Errorf("%s: %v", row.name, err)
		}
		if n := s.planEvaluations.Load() - before; n != row.asks {
			t.Errorf("%s: asked %d times, want %d", row.name, n, row.asks)
		}
	}
}

func TestPlansAreBounded(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}})
	pl := newPlanner(s, RedactorOptions{})
	for i := range maxPlans + 10 {
		pl.keep(fmt.Sprint(i), &planned{})
	}
	if n := len(pl.young) + len(pl.old); n > maxPlans {
		t.Errorf("%d plans are kept, more than %d", n, maxPlans)
	}
}

func TestUnreadablePayloadsAreWithheld(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}})
	var blocks []string
	for i := range maxBlocks + 1 {
		blocks = append(blocks, fmt.Sprintf(`{"type":"tool_use","name":"t%d"}`, i))
	}
	for name, p := range map[string]event.Payload{
		"many blocks":  {Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{"message":{"content":[` + strings.Join(blocks, ",") + `]}}`)},
		"a long name":  {Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{"message":{"content":[{"name":"` + strings.Repeat("x", 300) + `"}]}}`)},
		"unknown sink": {Sink: "poll", Kind: event.Output, Data: json.RawMessage(`{}`)},
	} {
		if _, err := s.RedactionPlan(context.Background(), p); err == nil {
			t.Errorf("%s: there is a plan", name)
		}
	}
}

func TestPlanWithoutPolicies(t *testing.T) {
	s := load(t, Options{})
	for range 2 {
		if _, err := s.RedactionPlan(context.Background(), event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Data: json.RawMessage(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.planEvaluations.Load(); n != 0 {
		t.Errorf("profile dev was asked %d times", n)
	}
}

func TestRedactor(t *testing.T) {
	secret := "ghp_" + strings.Repeat("aB3", 12)
	rules := `plan contains {"action": "mask_json_key", "keys": ["ssn"], "select": {"tools": ["mcp__crm__*"]}, "rule": "crm.ssn"}
plan contains {"action": "drop", "rule": "log.prompts", "select": {"blocks": ["text"]}, "sink": ["log"]}
plan contains {"action": "hash", "rule": "crm.mail", "keys": ["mail"]}`
	live := NewLive(load(t, Options{Paths: []string{planPolicy(t, rules)}}))
	r := NewRedactor(live, RedactorOptions{HashKey: []byte("k")})
	for _, row := range []struct {
		name string
		p    event.Payload
		want string // in what comes out
		rule string // of the first finding
	}{
		{"vendor", event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: "Bash", Data: json.RawMessage(`{"output":{"stdout":"` + secret + `"}}`)}, `"stdout":"[REDACTED:github`, ""},
		{"key of a tool", event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: "mcp__crm__find", Data: json.RawMessage(`{"output":[{"type":"text","text":"{\"SSN\":\"1\"}"}]}`)}, `{"output":[{"type":"text","text":"{\"SSN\":\"[REDACTED:key]\"}"}]}`, "crm.ssn"},
		{"of another tool", event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: "mcp__x__find", Data: json.RawMessage(`{"output":{"ssn":"1"}}`)}, `{"output":{"ssn":"1"}}`, ""},
		{"of a tool nobody knows", event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Data: json.RawMessage(`{"output":{"ssn":"1"}}`)}, `{"output":{"ssn":"[REDACTED:key]"}}`, "crm.ssn"},
		{"a message that poses", event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: "mcp__crm__x", Data: json.RawMessage(`{"message":{"content":[{"type":"text","name":"x","ssn":"1"}]}}`)}, `"ssn":"[REDACTED:key]"`, "crm.ssn"},
		{"in the log", event.Payload{Sink: event.SinkLog, Kind: event.Output, Data: json.RawMessage(`{"type":"assistant","message":{"content":[{"type":"text","text":"hi"}]}}`)}, `[{"type":"text","text":""}]`, "log.prompts"},
		{"in the history", event.Payload{Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{"message":{"content":[{"type":"text","text":"hi"}]}}`)}, `"text":"hi"`, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			given := bytes.Clone(row.p.Data)
			out, found, err := r.Redact(context.Background(), row.p)
			if err != nil || !strings.Contains(string(out), row.want) || row.rule != "" && (len(found) == 0 || found[0].Detector != row.rule) {
				t.Errorf("got %s, %v, %v, want %s by %s", out, found, err, row.want, row.rule)
			}
			if !bytes.Equal(given, row.p.Data) {
				t.Error("the payload was changed")
			}
		})
	}
}

func TestRedactorFollowsAReload(t *testing.T) {
	live := NewLive(load(t, Options{}))
	r := NewRedactor(live, RedactorOptions{})
	p := event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: json.RawMessage(`{"type":"x","message":"m"}`)}
	for _, row := range []struct{ rules, want string }{
		{"", `{"type":"x","message":"m"}`},
		{`plan contains {"action": "replace", "with": "-", "rule": "a.b"}`, `{"type":"x","message":"-"}`},
		{`plan contains {"action": "drop", "rule": "a.b"}`, `{"type":"x","message":""}`},
	} {
		if row.rules != "" {
			live.Swap(load(t, Options{Paths: []string{planPolicy(t, row.rules)}}))
		}
		if out, _, err := r.Redact(context.Background(), p); err != nil || string(out) != row.want {
			t.Errorf("%s: got %s, %v, want %s", row.rules, out, err, row.want)
		}
	}
	live.Swap(load(t, Options{Paths: []string{planPolicy(t, `plan contains {"action": "drop", "rule": "a.b"} if to_number(input.profile) > 1`)}}))
	data, _, ok := event.Redact(context.Background(), []event.Redactor{r}, p)
	if ok || strings.Contains(string(data), `"m"`) {
		t.Errorf("a policy that fails lets %s pass", data)
	}
	if _, err := r.Spec(context.Background(), p); err == nil {
		t.Error("a policy that fails has a spec")
	}
	if _, err := r.Stream(context.Background(), p); err == nil {
		t.Error("a policy that fails has a stream")
	}
}

func TestHashesDifferBySession(t *testing.T) {
	live := NewLive(load(t, Options{Paths: []string{planPolicy(t, `plan contains {"action": "hash", "rule": "a.b", "keys": ["mail"]}`)}}))
	r := NewRedactor(live, RedactorOptions{HashKey: []byte("k")})
	hash := func(session string) string {
		p := event.Payload{Origin: &event.Origin{SessionID: session}, Sink: event.SinkEvent, Kind: event.Notice, Data: json.RawMessage(`{"mail":"a@example.org"}`)}
		out, _, err := r.Redact(context.Background(), p)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	a, again, b := hash("a"), hash("a"), hash("b")
	if a == b || a != again || !strings.Contains(a, "[REDACTED:hash:") {
		t.Errorf("got %s, %s and %s", a, again, b)
	}
}

func TestRedactorStreams(t *testing.T) {
	secret := "ghp_" + strings.Repeat("aB3", 12)
	rules := `plan contains {"action": "redact", "rule": "no.thinking", "select": {"blocks": ["thinking"]}} if {
	some b in input.event.blocks
	b.type == "thinking"
	input.event.stream == "delta"
}
plan contains {"action": "redact", "rule": "no.crm", "select": {"blocks": ["tool_use"], "tools": ["mcp__crm__*"]}}`
	r := NewRedactor(NewLive(load(t, Options{Paths: []string{planPolicy(t, rules)}})), RedactorOptions{})
	first := func(block string) json.RawMessage {
		return json.RawMessage(`{"event":{"type":"content_block_start","index":0,"content_block":` + block + `}}`)
	}
	for _, row := range []struct {
		name string
		p    event.Payload
		want string
	}{
		{"text", event.Payload{Kind: event.Partial, Data: first(`{"type":"text","text":""}`)}, "a [REDACTED:github] b"},
		{"thinking", event.Payload{Kind: event.Partial, Data: first(`{"type":"thinking","thinking":""}`)}, "[REDACTED:no.thinking]"},
		{"text or thinking", event.Payload{Kind: event.Partial}, "[REDACTED:no.thinking]"},
		{"a tool", event.Payload{Kind: event.Partial, Tool: "Bash"}, "a [REDACTED:github] b"},
		{"that tool", event.Payload{Kind: event.Partial, Tool: "mcp__crm__x"}, "[REDACTED:no.crm]"},
		{"that tool, told by its block", event.Payload{Kind: event.Partial, Data: first(`{"type":"tool_use","name":"mcp__crm__x","input":{}}`)}, "[REDACTED:no.crm]"},
		{"stderr", event.Payload{Kind: event.Notice, Sink: event.SinkStderr}, "a [REDACTED:github] b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.p.Sink == "" {
				row.p.Sink = event.SinkEvent
			}
			s, err := r.Stream(context.Background(), row.p)
			if err != nil {
				t.Fatal(err)
			}
			var out string
			var found []event.Redaction
			for _, c := range "a " + secret + " b" {
				safe, more := s.Write(string(c))
				out, found = out+safe, append(found, more...)
			}
			rest, more := s.Close()
			if out, found = out+rest, append(found, more...); out != row.want || len(found) != 1 || found[0].Count != 1 {
				t.Errorf("got %q with %v, want %q", out, found, row.want)
			}
		})
	}
}

func TestSpecIsThePlan(t *testing.T) {
	rules := `plan contains {"action": "mask_json_key", "keys": ["ssn"], "rule": "a.b"} if input.sink.kind == "model"`
	r := NewRedactor(NewLive(load(t, Options{Paths: []string{planPolicy(t, rules)}})), RedactorOptions{Options: redact.Options{Context: true}})
	spec, err := r.Spec(context.Background(), event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: "Bash"})
	if err != nil || len(spec.Edits) != 1 || spec.Edits[0].Rule != "a.b" || !spec.Options.Context || len(spec.HashKey) == 0 {
		t.Fatalf("got %+v, %v", spec, err)
	}
	if _, err := redact.NewPlan(spec); err != nil {
		t.Error(err)
	}
}

func TestPayloadsAreTold(t *testing.T) {
	for _, row := range []struct{ name, data, kind, tool, want string }{
		{"an assistant", `{"type":"assistant","message":{"content":[{"type":"text"},{"name":"Ba\u0073h","type":"tool_use"},{"type":"text"},7]}}`, "output", "", `assistant whole assistant text/ tool_use/Bash /`},
		{"a result of a tool", `{"type":"tool_result","message":{"content":[{"type":"text"}]}}`, "tool_result", "Read", `tool_result whole user tool_result/Read`},
		{"a delta", `{"event":{"type":"content_block_delta","delta":{"type":"input_json_delta"}}}`, "partial", "Bash", `content_block_delta delta assistant tool_use/Bash`},
		{"a thought", `{"event":{"type":"content_block_delta","delta":{"type":"thinking_delta"}}}`, "partial", "", `content_block_delta delta assistant thinking/`},
		{"an end", `{"event":{"type":"message_stop"}}`, "partial", "", `message_stop delta assistant`},
		{"a question", `{"type":"permission","input":{}}`, "permission_request", "Bash", `permission whole  tool_use/Bash`},
		{"the end of a turn", `{"result":"x"}`, "result", "", ` whole  text/`},
		{"odd words", `{"type":"Not a word"}`, "notice", "", ` whole `},
		{"no object", `"x"`, "notice", "", ` whole `},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := payloadSort{p: event.Payload{Sink: event.SinkEvent, Kind: event.Kind(row.kind), Tool: row.tool, Data: json.RawMessage(row.data)}}
			s.look()
			doc, err := s.document(load(t, Options{}))
			if err != nil {
				t.Fatal(err)
			}
			got := []string{doc.Event.Subtype, doc.Event.Stream, doc.Event.Role}
			for _, b := range doc.Event.Blocks {
				got = append(got, b.Type+"/"+b.Tool)
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("got %q, want %q", text, row.want)
			}
			same(t, "redaction", doc)
		})
	}
}

func TestLatePlansAreAskedAgain(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}, Deadline: time.Nanosecond})
	for n := range 2 {
		_, err := s.RedactionPlan(context.Background(), event.Payload{Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{}`)})
		if err == nil || !strings.Contains(err.Error(), "took too long") || s.planEvaluations.Load() != int64(n+1) {
			t.Errorf("got %v after %d evaluations", err, s.planEvaluations.Load())
		}
	}
}
