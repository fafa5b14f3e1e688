package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
)

// answered keeps what the asker sends.
type answered struct{ sent []engine.Answer }

func (a *answered) Answer(_ context.Context, answer engine.Answer) error {
	a.sent = append(a.sent, answer)
	return nil
}

const orderForm = `{"type":"object","properties":{
	"name":{"type":"string","title":"Your name"},"age":{"type":"integer","minimum":18},"sure":{"type":"boolean"},
	"size":{"type":"string","oneOf":[{"const":"s","title":"Small"},{"const":"m"}]},
	"days":{"type":"array","items":{"type":"string","enum":["mo","tu"]}}
},"required":["name","size"]}`

func TestFormAtThePrompt(t *testing.T) {
	form := engine.Form{Server: "ext", Message: "order", Mode: "form", Schema: json.RawMessage(orderForm)}
	page := engine.Form{Server: "ext", Message: "log in", Mode: "url", URL: "https://example.com/"}
	empty := engine.Form{Server: "ext", Message: "sure?", Mode: "form", Schema: json.RawMessage(`{"type":"object","properties":{}}`)}
	cases := []struct {
		name   string
		form   engine.Form
		script bool
		lines  string // joined by |
		want   string // content, "deny", or "allow" without content
		shown  string
	}{
		{"every property", form, false, "Ada|20|yes|1|1,tu", `{"age":20,"days":["mo","tu"],"name":"Ada","size":"s","sure":true}`, "1  s  Small"},
		{"optional ones left out", form, false, "Ada|||m|", `{"name":"Ada","size":"m"}`, "empty to leave out"},
		{"asked again", form, false, "|Ada|17|x|20|maybe|no||7|m|tu,9|", `{"age":20,"name":"Ada","size":"m","sure":false}`, "want at least 18"},
		{"words that deny, quoted", form, false, `"d"|||s|`, `{"name":"d","size":"s"}`, "Your name"},
		{"a text that begins with deny", form, false, `deny all|||s|`, `{"name":"deny all","size":"s"}`, ""},
		{"denied", form, false, "Ada|d", "deny", ""},
		{"no properties", empty, false, "what|a", `{}`, "[a]llow / [d]eny"},
		{"page", page, false, "a", "allow", "open https://example.com/"},
		{"page denied", page, false, "deny", "deny", ""},
		{"by a program", form, true, `allow {"name":"Ada","size":"m"}`, `{"name":"Ada","size":"m"}`, `"title": "Your name"`},
		{"by a program, not JSON", form, true, `allow {|what|deny not now`, "deny", "no JSON object"},
		{"page by a program", page, true, "allow", "allow", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			got := &answered{}
			a := &asker{out: io.Writer(&out), script: c.script, session: got}
			a.open = &engine.Action{Type: "form", RequestID: "r", ToolName: "Elicitation", Form: &c.form}
			a.show()
			lines := strings.Split(c.lines, "|")
			for i, line := range lines {
				if a.open == nil {
					t.Fatalf("answered %d lines early: %+v", len(lines)-i, got.sent)
				}
				a.line(t.Context(), line, true)
			}
			if len(got.sent) != 1 || got.sent[0].Approver != "human" || got.sent[0].RequestID != "r" {
				t.Fatalf("sent %+v; shown:\n%s", got.sent, out.String())
			}
			if said := saidOf(t, got.sent[0]); said != c.want || !strings.Contains(out.String(), c.shown) {
				t.Errorf("said %s, want %s; shown:\n%s", said, c.want, out.String())
			}
		})
	}
}

func saidOf(t *testing.T, a engine.Answer) string {
	t.Helper()
	switch {
	case !a.Allow:
		return "deny"
	case a.UpdatedInput == nil:
		return "allow"
	}
	var input struct{ Content json.RawMessage }
	if err := json.Unmarshal(a.UpdatedInput, &input); err != nil {
		t.Fatal(err)
	}
	return string(input.Content)
}

func TestFormTextsAreEscaped(t *testing.T) {
	var out strings.Builder
	a := &asker{out: &out, session: &answered{}}
	schema := `{"type":"object","properties":{"a\u001b[2J":{"type":"string","title":"t\u001b[2J","description":"d\u202e","oneOf":[{"const":"c\u001b","title":"\u0007"}],"default":"\u001b"}}}`
	a.open = &engine.Action{Type: "form", ToolName: "Elicitation", Form: &engine.Form{Mode: "form", Schema: json.RawMessage(schema)}}
	a.show()
	if strings.ContainsAny(out.String(), "\x1b\x07\u202e") || !strings.Contains(out.String(), `a\x1b[2J`) {
		t.Errorf("shown: %q", out.String())
	}
}
