package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

func editing1(hook, edits string) []byte { return w.Output(hook, `{"edits":[`+edits+`]}`) }

var origin = &event.Origin{SessionID: "s1", Cwd: "/srv"}

func modelOutput(data string) event.Payload {
	return event.Payload{Origin: origin, Sink: event.SinkModel, Kind: event.ToolResult, Tool: "Bash", Data: json.RawMessage(data)}
}

func TestRedactInOrder(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{
		// The second sees what the first left: the mask fits "[x]" only.
		guest(t, "a", editing1("redact", `{"path":"/a","op":"replace","with":"[x]"}`)),
		guest(t, "b", editing1("redact", `{"path":"/a","op":"mask","start":0,"end":3,"with":"y","rule":"two"}`)),
		// post_tool comes before both, whatever its order.
		having(guest(t, "c", editing1("post_tool", `{"path":"/a","op":"mask","start":0,"end":4,"with":"long"}`)), func(c *Config) { c.Order = 100 }),
	}})
	given := `{"a":"host"}`
	for _, c := range []struct {
		sink event.Sink
		kind event.Kind
		want string
	}{
		{event.SinkModel, event.ToolResult, "/a plugin.c 1|/a plugin.a 1|/a plugin.b.two 1"},
		{event.SinkEvent, event.ToolResult, "/a plugin.a 1|/a plugin.b.two 1"},
		{event.SinkEvent, event.Output, "/a plugin.a 1|/a plugin.b.two 1"},
	} {
		p := modelOutput(given)
		p.Sink, p.Kind = c.sink, c.kind
		out, found, err := h.Redact(t.Context(), p)
		if err != nil || string(out) != `{"a":"y"}` || foundText(found) != c.want {
			t.Errorf("%s %s: %s, %s, %v", c.sink, c.kind, out, foundText(found), err)
		}
		if string(p.Data) != given {
			t.Fatal("the payload was changed in place")
		}
	}
}

func TestRedactSees(t *testing.T) {
	g := w.NewGuest()
	g.Hook("redact", g.Must(4, g.Get("/tool_name", w.Buffer, 0)), g.Must(11, g.Get("/kind", w.Buffer, 0)), g.Must(5, g.Get("/sink", w.Buffer, 0)),
		g.Must(4, g.Get("/is_error", w.Buffer, 0)), g.Must(2, g.Get("/session/id", w.Buffer, 0)), g.Must(4, g.Get("/session/cwd", w.Buffer, 0)),
		g.Must(-1, g.Get("/session/turn", w.Buffer, 0)), g.OutputOf("/payload"))
	h, _ := start(t, Options{Plugins: []Config{guest(t, "echo", g.Bytes())}})
	p := modelOutput(`{"edits":[{"path":"/edits/0/with","op":"replace","with":"gone"}]}`)
	p.IsError = true
	out, _, err := h.Redact(t.Context(), p)
	if err != nil || string(out) != `{"edits":[{"op":"replace","path":"/edits/0/with","with":"gone"}]}` {
		t.Errorf("%s, %v", out, err)
	}
}

func TestRedactFailures(t *testing.T) {
	for name, wasm := range map[string][]byte{
		"a trap":           trap("redact"),
		"no edits":         w.Output("redact", `{"edits":1}`),
		"no such place":    editing1("redact", `{"path":"/b","op":"remove"}`),
		"a forged cover":   editing1("redact", `{"path":"/a","op":"replace","with":"[REDACTED:aws]"}`),
		"half a payload":   editing1("redact", `{"path":"","op":"replace","with":"x"}`),
		"an edit too much": editing1("redact", strings.Repeat(`{"path":"/a","op":"remove"},`, MaxEdits)+`{"path":"/a","op":"remove"}`),
	} {
		for _, e := range []OnError{ErrorDenies, ErrorAsks, ErrorSkips} {
			h, log := start(t, Options{Plugins: []Config{
				having(guest(t, "bad", wasm), func(c *Config) { c.OnError = e }),
				having(guest(t, "good", editing1("redact", `{"path":"/a","op":"replace","with":"z"}`)), func(c *Config) { c.Order = 1 }),
			}})
			out, _, err := h.Redact(t.Context(), modelOutput(`{"a":"x"}`))
			switch {
			case e == ErrorSkips && (err != nil || string(out) != `{"a":"z"}` || !strings.Contains(log.String(), `the payload passes without it`)):
				t.Errorf("%s, skipped: %s, %v, log %s", name, out, err, log)
			case e != ErrorSkips && (err == nil || out != nil || !strings.Contains(err.Error(), `plugin "bad"`)):
				t.Errorf("%s, %s: %s, %v", name, e, out, err)
			}
		}
	}
}

func TestRedactBounds(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{guest(t, "p", editing1("redact", ""))}})
	large := `"` + strings.Repeat("a", MaxPayload-2) + `"`
	for name, c := range map[string]struct{ data, want string }{
		"large":     {large, ""},
		"too large": {large + " ", "the payload has 4194305 bytes"},
		"deep":      {strings.Repeat("[", event.MaxDepth) + strings.Repeat("]", event.MaxDepth), ""},
		"too deep":  {strings.Repeat("[", event.MaxDepth+1) + strings.Repeat("]", event.MaxDepth+1), "nested deeper than 640"},
	} {
		out, _, err := h.Redact(t.Context(), modelOutput(c.data))
		if c.want == "" && (err != nil || string(out) != c.data) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRedactMarks(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{guest(t, "p", editing1("redact", `{"path":"/input/command","op":"replace","with":"ls"},{"path":"/more","op":"remove"}`))}})
	for _, c := range []struct {
		sink   event.Sink
		kind   event.Kind
		marked bool
	}{
		{event.SinkEvent, event.Output, false}, {event.SinkEvent, event.ToolResult, false}, {event.SinkEvent, event.Result, false}, {event.SinkModel, event.ToolResult, false},
		{event.SinkEvent, event.PermissionAsked, true}, {event.SinkEvent, event.PermissionResult, true}, {event.SinkEvent, event.Notice, true},
		{event.SinkAudit, event.Notice, true}, {event.SinkAudit, event.Output, true}, {event.SinkStderr, event.Notice, true}, {event.SinkLog, event.Notice, true},
	} {
		p := modelOutput(`{"input":{"command":"rm -rf /"},"more":"x"}`)
		p.Sink, p.Kind = c.sink, c.kind
		out, _, err := h.Redact(t.Context(), p)
		forged := strings.Contains(string(out), `"ls"`)
		if err != nil || forged == c.marked || strings.Contains(string(out), "rm -rf") || c.marked && strings.Count(string(out), "[REDACTED:plugin.p]") != 2 {
			t.Errorf("%s %s: %s, %v", c.sink, c.kind, out, err)
		}
	}
}

func TestRedactPasses(t *testing.T) {
	none, _ := start(t, Options{Plugins: []Config{guest(t, "p", w.Deny("pre_permission", ""))}})
	all, _ := start(t, Options{Plugins: []Config{guest(t, "p", trap("redact"))}})
	data := json.RawMessage(`{"a":"x"}`)
	for name, c := range map[string]struct {
		host *Host
		p    event.Payload
	}{
		"without such a plugin": {none, event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Data: data}},
		"documents of plugins":  {all, event.Payload{Origin: origin, Sink: event.SinkPlugin, Data: data}},
		"the server's own log":  {all, event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: data}},
	} {
		out, found, err := c.host.Redact(t.Context(), c.p)
		if err != nil || found != nil || &out[0] != &data[0] {
			t.Errorf("%s: %s, %v, %v", name, out, found, err)
		}
	}
	p := event.Payload{Origin: origin, Sink: event.SinkEvent, Kind: event.Output, Data: data}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = none.Redact(t.Context(), p) }); n > 0 {
		t.Errorf("%v allocations where no plugin looks", n)
	}
	p.Sink = event.SinkLog
	if _, _, err := all.Redact(t.Context(), p); err == nil {
		t.Error("a session's text in the log passed")
	}
}

func TestSeesOutput(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{guest(t, "sees", editing1("post_tool", "")), guest(t, "other", editing1("redact", "")), guest(t, "sick", trap("post_tool"))}})
	for range UnhealthyAfter {
		_, _, _ = h.Redact(t.Context(), modelOutput(`{}`))
	}
	for name, want := range map[string]bool{"sees": true, "other": false, "sick": false, "unknown": false} {
		if got := h.SeesOutput(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDemanded has a policy want plugins to see an output, whatever on_error says.
func TestDemanded(t *testing.T) {
	skips := func(c *Config) { c.OnError = ErrorSkips }
	h, _ := start(t, Options{Plugins: []Config{
		guest(t, "sees", editing1("post_tool", "")),
		having(guest(t, "traps", trap("post_tool")), skips),
		having(guest(t, "redacts", editing1("redact", "")), skips),
	}})
	for _, c := range []struct {
		demanded string
		payload  event.Payload
		withheld bool
	}{
		{"sees", modelOutput(`{}`), false},
		{"traps", modelOutput(`{}`), true},
		{"redacts", modelOutput(`{}`), true},
		{"unknown", modelOutput(`{}`), true},
		{"sees", event.Payload{Origin: origin, Sink: event.SinkModel, Kind: event.Notice, Data: json.RawMessage(`{}`)}, true},
	} {
		_, _, err := h.Redact(event.WithDemand(t.Context(), c.demanded), c.payload)
		if (err != nil) != c.withheld {
			t.Errorf("%s, %s: %v", c.demanded, c.payload.Kind, err)
		}
	}
	if _, _, err := h.Redact(t.Context(), modelOutput(`{}`)); err != nil {
		t.Errorf("nobody demanded: %v", err)
	}
}

func TestStream(t *testing.T) {
	// The name is cut by two pieces; what is masked are the bytes 3 to 11 of the whole.
	h, _ := start(t, Options{Plugins: []Config{guest(t, "p", editing1("redact", `{"path":"","op":"mask","start":3,"end":11,"with":"[host]"}`))}})
	s, err := h.Stream(t.Context(), event.Payload{Origin: origin, Sink: event.SinkEvent, Kind: event.Partial})
	if err != nil {
		t.Fatal(err)
	}
	for _, piece := range []string{"at db", "1.co", "", "rp now"} {
		if safe, found := s.Write(piece); safe != "" || found != nil {
			t.Errorf("%q passed", safe)
		}
	}
	if rest, found := s.Close(); rest != "at [host] now" || foundText(found) != " plugin.p 1" {
		t.Errorf("%q, %v", rest, found)
	}
	if rest, _ := s.Close(); rest != "" {
		t.Errorf("closed again: %q", rest)
	}
	if n := h.held.Load(); n != 0 {
		t.Errorf("%d bytes are counted for nothing", n)
	}
}

// TestStreamOfInput: in the text of a call's input escapes cannot hide anything.
func TestStreamOfInput(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{guest(t, "p", editing1("redact", `{"path":"/host","op":"mask","start":0,"end":3,"with":"[host]"}`))}})
	beginning := json.RawMessage(`{"event":{"content_block":{"type":"tool_use"}}}`)
	for text, want := range map[string]string{
		`{"host":"\u0064b1.corp"}`:              `{"host":"[host].corp"}`,
		`{"host":"db1\u002ecorp","n":1.50}`:     `{"host":"[host].corp","n":1.50}`,
		`{"host":"\u0064b1.co`:                  "[withheld: a plugin failed]",
		`{"host":"\u0064b1.corp","host":"xyz"}`: "[withheld: a plugin failed]",
	} {
		s, err := h.Stream(t.Context(), event.Payload{Origin: origin, Sink: event.SinkEvent, Kind: event.Partial, Data: beginning})
		if err != nil {
			t.Fatal(err)
		}
		for i := range text {
			s.Write(text[i : i+1])
		}
		if rest, _ := s.Close(); rest != want {
			t.Errorf("%s became %s, want %s", text, rest, want)
		}
	}
}

func TestStreamFailures(t *testing.T) {
	partial := event.Payload{Origin: origin, Sink: event.SinkEvent, Kind: event.Partial}
	h, log := start(t, Options{Plugins: []Config{guest(t, "p", trap("redact"))}})
	s, _ := h.Stream(t.Context(), partial)
	s.Write("secret")
	if rest, _ := s.Close(); rest != "[withheld: a plugin failed]" || !strings.Contains(log.String(), "trapped") {
		t.Errorf("%q, log %s", rest, log)
	}
	s, _ = h.Stream(t.Context(), partial)
	for range 3 {
		s.Write(strings.Repeat("a", MaxHeld/2))
	}
	if rest, _ := s.Close(); !strings.HasPrefix(rest, "[withheld: over 262144 bytes") {
		t.Errorf("%.80q", rest)
	}
	var texts []event.Stream
	for range MaxHeldAll/MaxHeld + 1 {
		s, _ := h.Stream(t.Context(), partial)
		s.Write(strings.Repeat("a", MaxHeld))
		texts = append(texts, s)
	}
	last := len(texts) - 1
	if rest, _ := texts[last].Close(); !strings.HasPrefix(rest, "[withheld: over") {
		t.Errorf("one text more than fits: %.80q", rest)
	}
	for _, s := range texts {
		s.Close()
	}
	if n := h.held.Load(); n != 0 {
		t.Errorf("%d bytes are counted for nothing", n)
	}
}

func TestStreamPasses(t *testing.T) {
	none, _ := start(t, Options{})
	all, _ := start(t, Options{Plugins: []Config{guest(t, "p", trap("redact"))}})
	for name, c := range map[string]struct {
		host *Host
		p    event.Payload
	}{
		"no plugin":     {none, event.Payload{Kind: event.Partial}},
		"text of lines": {all, event.Payload{Sink: event.SinkStderr, Kind: event.Notice}},
	} {
		s, err := c.host.Stream(t.Context(), c.p)
		if err != nil {
			t.Fatal(err)
		}
		safe, _ := s.Write("text")
		rest, _ := s.Close()
		if fmt.Sprint(safe, rest) != "text" {
			t.Errorf("%s: %q, %q", name, safe, rest)
		}
	}
}
