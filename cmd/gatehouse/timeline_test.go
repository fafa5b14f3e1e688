package main

import (
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// Who denied says why; the rule's reason was shown when it asked.
func TestTimelineShowsTheReasonOfWhoDenied(t *testing.T) {
	for _, test := range []struct{ name, data, want string }{
		{"a person", `{"toolName":"Bash","input":{"command":"deploy"},"behavior":"deny","source":"human","rule":"a.b","reason":"deploys want a person","message":"not today"}`,
			"Bash: deploy  denied by human, rule a.b: not today"},
		{"without a reason", `{"toolName":"Bash","input":{"command":"deploy"},"behavior":"deny","source":"human","rule":"a.b","reason":"deploys want a person"}`,
			"Bash: deploy  denied by human, rule a.b: deploys want a person"},
		{"a policy", `{"toolName":"Bash","input":{"command":"deploy"},"behavior":"deny","source":"policy","rule":"a.b","reason":"no deploys","message":"for the model"}`,
			"Bash: deploy  denied by policy, rule a.b: no deploys"},
		{"a plugin", `{"toolName":"Bash","input":{"command":"deploy"},"behavior":"deny","source":"policy","rule":"plugin.lint","reason":"no deploys","plugins":[{"name":"lint","verdict":"deny","ms":1}]}`,
			"Bash: deploy  denied by plugin lint, rule plugin.lint: no deploys"},
		{"a plugin that failed", `{"toolName":"Bash","input":{"command":"deploy"},"behavior":"deny","source":"policy","rule":"plugin.lint.error","reason":"broken","plugins":[{"name":"lint","verdict":"deny","ms":1}]}`,
			"Bash: deploy  denied by plugin lint, rule plugin.lint.error: broken"},
		{"a rule with the name of a plugin that was not heard", `{"toolName":"Bash","input":{"command":"deploy"},"behavior":"deny","source":"policy","rule":"plugin.lint","reason":"no deploys"}`,
			"Bash: deploy  denied by policy, rule plugin.lint: no deploys"},
	} {
		var out strings.Builder
		newView(&out, false).text(event.Event{Type: event.PermissionResult, Data: []byte(test.data), Timestamp: time.Unix(0, 0)})
		if !strings.Contains(out.String(), test.want+"\n") {
			t.Errorf("%s: %q, want %q", test.name, out.String(), test.want)
		}
	}
}
