package engine

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// A long output that a plugin has to see is seen in its file too, or goes.
func TestSpilledOutputThatAPluginHasToSee(t *testing.T) {
	for there, want := range map[bool]string{true: "a [x]", false: "(gone)"} {
		s, folder := spilling(t)
		s.engine.o.OutputPlugin = func(name string) bool { return there && name == "scan" }
		file := filepath.Join(s.id, "tool-results", "named.txt")
		write(t, folder, file, "a SECRET")
		d := permission.Decision{Rule: "r", Obligations: []permission.Obligation{{Kind: "run_plugin", Args: map[string]any{"name": "scan"}}}}
		s.duties.take(permission.Request{ToolUseID: "t1"}, d)
		input := s.hookInput(folder, "saved to tool-results/named.txt")
		input["tool_use_id"] = json.RawMessage(`"t1"`)
		s.coverSpilled("Bash", input)
		if got := content(t, filepath.Join(folder, file)); got != want {
			t.Errorf("plugin there %t: %q, want %q", there, got, want)
		}
		if told := strings.Contains(s.shownEvents(), "plugin scan has to see it"); told == there {
			t.Errorf("plugin there %t: events %s", there, s.shownEvents())
		}
	}
}
