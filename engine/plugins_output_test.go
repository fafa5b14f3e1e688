package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// hider is a redactor as plugins are one: it hides a word in what the model reads
// by words of its own.
type hider struct {
	with     string
	fails    bool
	demanded atomic.Pointer[[]string]
}

func (h *hider) Redact(ctx context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if p.Sink != event.SinkModel || p.Kind != event.ToolResult {
		return p.Data, nil, nil
	}
	names := event.Demanded(ctx)
	h.demanded.Store(&names)
	if h.fails {
		return nil, nil, errors.New("no answer")
	}
	n := strings.Count(string(p.Data), "host7")
	if n == 0 {
		return p.Data, nil, nil
	}
	return json.RawMessage(strings.ReplaceAll(string(p.Data), "host7", h.with)), []event.Redaction{{Pointer: "/stdout", Detector: "plugin.hosts", Count: n}, {Pointer: "/x", Detector: "other", Count: 1}}, nil
}

func TestPluginHasToSeeTheOutput(t *testing.T) {
	const call = `{"name":"Bash","input":{"command":"x"},"output":"on host7"}`
	const failing = `{"name":"Bash","input":{"command":"x"},"error":"on host7"}`
	always := func(name string) bool { return name == "scan" }
	scan := permission.Obligation{Kind: "run_plugin", Args: map[string]any{"name": "scan"}}
	asked := 0
	for _, c := range []struct {
		name   string
		call   string
		owes   []permission.Obligation
		sees   func(string) bool
		fails  bool
		events []string
		never  string
	}{
		{"seen", call, []permission.Obligation{scan}, always, false, []string{`"behavior":"allow"`, `"obligations":["run_plugin"]`, `on [host]`}, "host7"},
		{"seen, and cut", call, []permission.Obligation{scan, {Kind: "limit_output", Args: map[string]any{"bytes": 2}}}, always, false, []string{`on\n[cut at 2 bytes`}, "host7"},
		{"no plugins", call, []permission.Obligation{scan}, nil, false, []string{"engine.obligation", `there is no plugin \"scan\" that sees the output of tools now; a [[plugin]] of that name with the hook post_tool would`}, "host7"},
		{"another one", call, []permission.Obligation{{Kind: "run_plugin", Args: map[string]any{"name": "lint"}}}, always, false, []string{"engine.obligation", `no plugin \"lint\"`}, "host7"},
		{"no name", call, []permission.Obligation{{Kind: "run_plugin"}}, always, false, []string{"engine.obligation", "its name has to be that of a plugin"}, "host7"},
		{"panic", call, []permission.Obligation{scan}, func(string) bool { panic("broken") }, false, []string{"engine.obligation"}, "host7"},
		{"gone by then", call, []permission.Obligation{scan}, func(string) bool { asked++; return asked <= 3 }, false,
			[]string{`"behavior":"allow"`, `"content":"[withheld]`, "is withheld: rule test.allow wants plugin scan to see it"}, "on ["},
		{"it fails", call, []permission.Obligation{scan}, always, true, []string{`"behavior":"allow"`, `"content":"[withheld]`}, "host7"},
		{"failed call", failing, []permission.Obligation{scan}, always, false, []string{`"content":"[withheld]`, "hands the output of a failed call to the model as it is"}, `"content":"on`},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked = 0
			r := &hider{with: "[host]", fails: c.fails}
			h := newHarness(t, `{"turns":[[{"tool":`+c.call+`}]]}`, func(o *engine.Options) {
				owing(c.owes...).use(o)
				o.OutputPlugin, o.Redactors = c.sees, []event.Redactor{r}
			})
			s := h.mustStart()
			h.settled(s)
			all := dump(s)
			for _, part := range c.events {
				if !strings.Contains(all, part) {
					t.Errorf("events lack %s:\n%s", part, all)
				}
			}
			if strings.Contains(all, c.never) {
				t.Errorf("events hold %s:\n%s", c.never, all)
			}
			if names := r.demanded.Load(); c.call == call && strings.Contains(all, `"behavior":"allow"`) && (names == nil || !slices.Equal(*names, []string{"scan"})) {
				t.Errorf("redactors were told to demand %v", names)
			}
		})
	}
}

// What plugins hide of an output is told by its event, also without a placeholder,
// and once.
func TestEventsTellWhatPluginsHidBefore(t *testing.T) {
	for with, want := range map[string]string{
		"[host]":                     `[{"pointer":"/content","detector":"plugin.hosts","count":2}]`,
		"[REDACTED:plugin.hosts]":    `null`, // the policies' redactor finds the placeholder
		"[REDACTED:plugin.hosts.ip]": `[{"pointer":"/content","detector":"plugin.hosts","count":2}]`,
	} {
		h := newHarness(t, `{"turns":[[{"tool":{"name":"Read","input":{"file_path":"x"},"output":"host7 and host7"}},{"text":"end"}]]}`, func(o *engine.Options) {
			o.Redactors = []event.Redactor{&hider{with: with}}
		})
		s := h.mustStart()
		h.settled(s)
		for _, e := range s.Events(nil, 0).Events {
			got, _ := json.Marshal(e.Redactions)
			switch {
			case e.Type == event.ToolResult && string(got) != want:
				t.Errorf("with %s: redactions %s, want %s: %s", with, got, want, e.Data)
			case e.Type != event.ToolResult && len(e.Redactions) > 0:
				t.Errorf("with %s: %s tells of %s", with, e.Type, got)
			}
		}
		if strings.Contains(dump(s), "host7") {
			t.Errorf("with %s:\n%s", with, dump(s))
		}
	}
}
