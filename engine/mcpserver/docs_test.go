package mcpserver

import (
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Every code and every kind that a client can meet is described, and so is
// every progress type that minimal mode leaves out.
func TestDocsAreComplete(t *testing.T) {
	rows := map[string][]string{"errors.md": nil, "events.md": nil}
	for _, c := range []engine.Code{
		engine.InvalidArgument, engine.SessionNotFound, engine.SessionBusy, engine.PermissionDenied,
		engine.PermissionRequestNotFound, engine.Timeout, engine.CancelledCode, engine.Limit, engine.Internal,
	} {
		rows["errors.md"] = append(rows["errors.md"], "| `"+string(c)+"` |")
	}
	for _, k := range []event.Kind{
		event.Output, event.ToolResult, event.Partial, event.Progress, event.PermissionAsked,
		event.PermissionResult, event.Result, event.Error, event.Notice,
	} {
		rows["events.md"] = append(rows["events.md"], "| `"+string(k)+"` |")
	}
	for name := range noisy {
		if strings.HasPrefix(name, "hook_") {
			name = "hook_*"
		}
		rows["events.md"] = append(rows["events.md"], "`"+name+"`")
	}
	for file, want := range rows {
		text, err := os.ReadFile("../../docs/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(text), w) {
				t.Errorf("docs/%s lacks %s", file, w)
			}
		}
	}
}
