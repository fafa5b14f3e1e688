package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// planOfRules is a redactor whose policies are these rules.
func planOfRules(t *testing.T, rules string) *policy.Redactor {
	t.Helper()
	s, err := policy.Load(context.Background(), policy.Options{OrgModules: map[string]string{"p.rego": "package gatehouse.redaction\n\n" + rules}})
	if err != nil {
		t.Fatal(err)
	}
	return policy.NewRedactor(policy.NewLive(s), policy.RedactorOptions{})
}

// A plan for a tool, a client or a session covers the same in the decision log.
func TestDecisionsAreCoveredAsTheirCall(t *testing.T) {
	const call = `{"input":{"caller":{"client":"cursor"},"session":{"id":"s1"},"history":{"taint":["a:b"]},"title":"look up ada",` +
		`"tool":{"name":"mcp__crm__get","input":{"email":"ada","n":12345678901234567890}},"bash":{"commands":[]}},` +
		`"result":{"effect":"modify","reason":"a && b","updated_input":{"email":"ada"}},"custom":{"email":"eve"}}`
	for _, row := range []struct{ name, rules, parts, want, not string }{
		{"of the tool", `plan contains {"action": "mask_json_key", "keys": ["email"], "rule": "a.b", "select": {"tools": ["mcp__crm__*"]}}`,
			call, `"email":"[REDACTED:key]"},"effect":"modify"`, `"email":"ada"`},
		{"of the tool, elsewhere", `plan contains {"action": "mask_json_key", "keys": ["email"], "rule": "a.b", "select": {"tools": ["mcp__crm__*"]}}`,
			call, `"custom":{"email":"eve"}`, "e+19"},
		{"of another tool", `plan contains {"action": "mask_json_key", "keys": ["email"], "rule": "a.b", "select": {"tools": ["mcp__other__*"]}}`,
			call, `"input":{"email":"ada"`, "REDACTED"},
		{"whole texts of the tool", `plan contains {"action": "replace", "with": "(no)", "rule": "a.b", "select": {"blocks": ["tool_use"]}}`,
			call, `"title":"(no)"`, `"ada"`},
		{"of the tool, as plugins repeat it", `plan contains {"action": "replace", "with": "(no)", "rule": "a.b", "select": {"blocks": ["tool_use"]}}`,
			`{"input":{"tool":{"name":"mcp__crm__get","input":{}},"plugins":{"scan":{"annotations":{"who":["ada"]},"error":"","reason":"about ada","verdict":"deny"}}},"result":{}}`,
			`"plugins":{"scan":{"annotations":{"who":["(no)"]},"error":"","reason":"(no)","verdict":"deny"}}`, "ada"},
		{"leave what was decided", `plan contains {"action": "replace", "with": "(no)", "rule": "a.b", "select": {"blocks": ["tool_use"]}}`,
			call, `"effect":"modify"`, `"reason":"(no)"`},
		{"of the client", `plan contains {"action": "mask_json_key", "keys": ["email"], "rule": "a.b"} if input.caller.client == "cursor"`,
			call, `"custom":{"email":"[REDACTED:key]"}`, `"ada","n"`},
		{"of the taint", `plan contains {"action": "drop", "keys": ["reason"], "rule": "a.b"} if "a:b" in input.session.taint`,
			call, `"reason":""`, "&&"},
		{"an answer", `plan contains {"action": "mask_json_key", "keys": ["email"], "rule": "a.b", "select": {"tools": ["mcp__crm__*"]}}`,
			`{"input":{"approval":{"tool":"mcp__crm__get","effect":"allow","updated_input":{"email":"ada"}}}}`, `"effect":"allow"`, "ada"},
		{"no input", `plan contains {"action": "drop", "keys": ["message"], "rule": "a.b"} if input.session.id == ""`,
			`{"error":{"code":"engine.input","message":"m"}}`, `"message":""`, `"m"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			out, found, err := coverDecision(context.Background(), planOfRules(t, row.rules), json.RawMessage(row.parts))
			text := strings.ReplaceAll(string(out), `"result":{"effect":"modify","reason":"a && b","updated_input":{"email":"[REDACTED:key]"}}`,
				`"result":{"updated_input":{"email":"[REDACTED:key]"},"effect":"modify"}`)
			if err != nil || !json.Valid(out) || !strings.Contains(text, row.want) || strings.Contains(text, row.not) {
				t.Errorf("got %s, %v, want %s and no %s", out, err, row.want, row.not)
			}
			if changed := string(out) != row.parts; changed && len(found) == 0 {
				t.Error("nothing is told of what was covered")
			}
		})
	}
}

// Equal texts of a session have equal hashes, in events and in the log.
func TestHashesOfASessionAreEqual(t *testing.T) {
	r := planOfRules(t, `plan contains {"action": "hash", "keys": ["email"], "rule": "a.b"}`)
	hash := func(text string) string {
		from := strings.Index(text, "[REDACTED:hash:")
		if from < 0 {
			t.Fatalf("no hash in %s", text)
		}
		return text[from:][:strings.IndexByte(text[from:], ']')]
	}
	log := func(session string) string {
		out, _, err := coverDecision(context.Background(), r, json.RawMessage(`{"input":{"session":{"id":"`+session+`"},"tool":{"name":"Bash","input":{"email":"ada"}}}}`))
		if err != nil {
			t.Fatal(err)
		}
		return hash(string(out))
	}
	out, _, err := r.Redact(context.Background(), event.Payload{
		Origin: &event.Origin{SessionID: "s1", Mode: "plan"}, Sink: event.SinkEvent, Kind: event.ToolResult, Tool: "Bash", Data: json.RawMessage(`{"email":"ada"}`),
	})
	if err != nil || hash(string(out)) != log("s1") || log("s1") == log("s2") {
		t.Errorf("event %s, %v; log %s, another session %s", out, err, log("s1"), log("s2"))
	}
}

func TestDecisionsThatCannotBeCovered(t *testing.T) {
	for name, row := range map[string]struct {
		r     event.Redactor
		parts string
	}{
		"a redactor that fails":           {failingRedactor{}, `{"input":{"tool":{"name":"Bash","input":{}}}}`},
		"fails without a call":            {failingRedactor{}, `{"custom":{}}`},
		"an input that is no object":      {scanRedactor{}, `{"input":5}`},
		"a session that is no session":    {scanRedactor{}, `{"input":{"session":5}}`},
		"a redactor that breaks the call": {breakingRedactor{}, `{"input":{"tool":{"name":"Bash","input":{}}}}`},
	} {
		if out, _, err := coverDecision(context.Background(), row.r, json.RawMessage(row.parts)); err == nil {
			t.Errorf("%s: got %s", name, out)
		}
	}
}

type breakingRedactor struct{}

func (breakingRedactor) Redact(context.Context, event.Payload) (json.RawMessage, []event.Redaction, error) {
	return json.RawMessage(`5`), []event.Redaction{{Detector: "x"}}, nil
}
