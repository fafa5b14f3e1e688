package mcpserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const unshown = "UNSHOWN-VALUE"

// coverAll covers one value everywhere, and tells of what was covered before.
type coverAll struct{}

func (coverAll) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	n := strings.Count(string(p.Data), unshown)
	if p.Kind == event.ToolResult && p.Sink == event.SinkEvent {
		n += strings.Count(string(p.Data), "[x]")
	}
	if n == 0 {
		return p.Data, nil, nil
	}
	return json.RawMessage(strings.ReplaceAll(string(p.Data), unshown, "[x]")), []event.Redaction{{Pointer: "/p", Detector: "d", Count: n}}, nil
}

func serveRedacted(t *testing.T, scenario string) *mcp.ClientSession {
	t.Helper()
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	eng, err := engine.New(engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file}, Roots: []string{t.TempDir()}, TempDir: t.TempDir(),
		Deciders: []permission.Decider{rules{}}, Admission: []admission.Decider{&admitter{}}, Redactors: []event.Redactor{coverAll{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := eng.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return connect(t, eng, nil)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestBothModesTellWhatWasCovered(t *testing.T) {
	c := serveRedacted(t, `{"turns":[[{"text":"it is `+unshown+`"},{"tool":{"name":"Bash","input":{"command":"push `+unshown+`"},"output":"`+unshown+`"}},{"text":"`+unshown+`"}]]}`)
	id := must(t, c, "claude_code", `{"prompt":"go"}`)["sessionId"].(string)
	asked := must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","includeEvents":false,"waitMs":9000}`)
	action := asked["actions"].([]any)[0].(map[string]any)
	if all := encoded(t, asked); strings.Contains(all, unshown) || action["redactions"] == nil {
		t.Errorf("question: %s", all)
	}
	must(t, c, "claude_code_check", `{"action":"respond_permission","sessionId":"`+id+`","decision":"allow","requestId":"`+action["requestId"].(string)+`","includeEvents":false,"waitMs":9000}`)
	for mode, want := range map[string]int{"minimal": 6, "full": 7} { // minimal leaves out the event that result repeats
		a := must(t, c, "claude_code_check", `{"action":"poll","sessionId":"`+id+`","responseMode":"`+mode+`","cursor":0,"waitMs":9000}`)
		told := 0
		for _, e := range a["events"].([]any) {
			list, _ := e.(map[string]any)["redactions"].([]any)
			if len(list) == 0 {
				continue
			}
			told++
			if r := list[0].(map[string]any); r["pointer"] != "/p" || r["detector"] != "d" || r["count"].(float64) < 1 {
				t.Errorf("%s: redaction %v", mode, r)
			}
		}
		if all := encoded(t, a); strings.Contains(all, unshown) || told != want || a["result"].(map[string]any)["redactions"] == nil {
			t.Errorf("%s: %d events tell of redactions, want %d: %s", mode, told, want, all)
		}
	}
}

func TestSensitiveFieldsAreRedactedToo(t *testing.T) {
	c := serveRedacted(t, `{"turns":[[{"text":"done"}]]}`)
	a := must(t, c, "claude_code", `{"prompt":"go `+unshown+`","systemPrompt":"know `+unshown+`","model":"`+unshown+`","allowedTools":["Bash(`+unshown+`)"],
		"agents":{"a":{"description":"d `+unshown+`","prompt":"p `+unshown+`"}}}`)
	id := a["sessionId"].(string)
	for _, args := range []string{`{"action":"list","includeSensitive":true}`, `{"action":"get","sessionId":"` + id + `","includeSensitive":true}`, `{"action":"cancel","sessionId":"` + id + `","includeSensitive":true}`} {
		m := must(t, c, "claude_code_session", args)
		all := encoded(t, m)
		if strings.Contains(all, unshown) || !strings.Contains(all, `"systemPrompt":"know [x]"`) || !strings.Contains(all, `p [x]`) {
			t.Errorf("%s: %s", args, all)
		}
	}
}
