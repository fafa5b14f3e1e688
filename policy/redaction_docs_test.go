package policy

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// plansInDocs are the examples of docs/policy.md.
func plansInDocs(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```rego\npackage gatehouse.redaction\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("docs/policy.md has no example of a plan")
	}
	return block
}

// The examples do what the page says.
func TestPlansInDocs(t *testing.T) {
	s := load(t, Options{
		Paths: []string{planPolicy(t, plansInDocs(t))},
		Data:  map[string]any{"redaction": map[string]any{"detectors": map[string]any{"customer-id": map[string]any{"pattern": `CUST-\d{6}`, "keywords": []any{"cust-"}}}}},
	})
	r := NewRedactor(NewLive(s), RedactorOptions{})
	long := strings.Repeat("x", 70000)
	for _, row := range []struct{ name, sink, kind, tool, client, data, want string }{
		{"a customer", "model", "tool_result", "mcp__crm__get", "", `{"content":[{"type":"text","text":"{\"email\":\"a@b\",\"n\":1}"}],"iban":"LV80"}`, `{"content":[{"type":"text","text":"{\"email\":\"[REDACTED:key]\",\"n\":1}"}],"iban":"[REDACTED:key]"}`},
		{"of another tool", "model", "tool_result", "Bash", "", `{"email":"a@b"}`, `{"email":"a@b"}`},
		{"long, for the history", "event", "tool_result", "Bash", "", `["` + long + `"]`, `["` + long[:65536] + `…[cut at 65536 bytes by rule history.size]"]`},
		{"long, for the model", "model", "tool_result", "Bash", "", `["` + long + `"]`, `["` + long + `"]`},
		{"a picture, for the history", "event", "tool_result", "mcp__browser__shot", "", `{"content":[{"type":"image","source":{"type":"base64","data":"QUJD"}}]}`, `{"content":[{"type":"image","source":{"type":"base64","data":""}}]}`},
		{"a picture of Read", "event", "tool_result", "Read", "", `{"type":"image","file":{"base64":"QUJD"}}`, `{"type":"image","file":{"base64":""}}`},
		{"a picture, for the model", "model", "tool_result", "mcp__browser__shot", "", `{"data":"QUJD"}`, `{"data":"QUJD"}`},
		{"the kiosk", "event", "tool_result", "Bash", "kiosk", `{"type":"tool_result","content":"said"}`, `{"type":"tool_result","content":"(not shown here)"}`},
		{"another client", "event", "tool_result", "Bash", "cursor", `{"content":"said"}`, `{"content":"said"}`},
		{"the decision log", "audit", "notice", "Bash", "", `{"input":{"bash":{"text":"ls"}}}`, `{"input":{"bash":{"text":"(not logged)"}}}`},
		{"the decision log beside the call", "audit", "notice", "", "", `{"result":{"effect":"allow"}}`, `{"result":{"effect":"allow"}}`},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := event.Payload{Origin: &event.Origin{SessionID: "s", Client: row.client}, Sink: event.Sink(row.sink), Kind: event.Kind(row.kind), Tool: row.tool, Data: json.RawMessage(row.data)}
			out, _, err := r.Redact(context.Background(), p)
			if err != nil || string(out) != row.want {
				t.Errorf("got %.300s, %v", out, err)
			}
		})
	}
	out, _, err := r.Redact(context.Background(), event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: json.RawMessage(`["CUST-123456","CUST-123456"]`)})
	var both []string
	if json.Unmarshal(out, &both) != nil || err != nil || len(both) != 2 || both[0] != both[1] || !strings.HasPrefix(both[0], "[REDACTED:hash:") {
		t.Errorf("ids: %s, %v", out, err)
	}
}
