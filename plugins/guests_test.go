package plugins_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testguest"
	"github.com/gatehouse-mcp/gatehouse/plugins"
)

// TestGuests has guests in several languages, which do the same, at all hooks.
// Those in C and AssemblyScript are built where their compilers are, and committed
// for where they are not.
func TestGuests(t *testing.T) {
	folder, err := filepath.Abs("testdata/guests")
	if err != nil {
		t.Fatal(err)
	}
	modules := map[string]string{
		"go":              testguest.Go(t, filepath.Join(folder, "reference")),
		"c as committed":  filepath.Join(folder, "c.wasm"),
		"as as committed": filepath.Join(folder, "as.wasm"),
	}
	if module, ok := testguest.C(t, filepath.Join(folder, "reference.c"), "pdk/c"); ok {
		modules["c as built"] = module
	}
	if module, ok := testguest.AssemblyScript(t, filepath.Join(folder, "reference.ts")); ok {
		modules["as as built"] = module
	}
	for name, module := range modules {
		t.Run(name, func(t *testing.T) {
			g := guest{t, load(t, plugins.Config{
				Name: "reference", Path: module, KV: true, Config: json.RawMessage(`{"level": 3, "forbidden": ["rm -rf", "shutdown"]}`),
			})}
			t.Run("session_admit", g.admits)
			t.Run("pre_permission", g.judges)
			t.Run("session_event", g.counts)
			t.Run("redact", g.covers)
			t.Run("tools", g.serves)
			if name != "go" { // whose kit has tests of its own, and which takes long to load
				t.Run("numbers", func(t *testing.T) { reads(t, module) })
			}
		})
	}
}

// reads has a bound compared with numbers that are large, broken or none.
func reads(t *testing.T, module string) {
	for level, over := range map[string]bool{
		"2": false, "3": true, "2.9": false, "1e1": true, "1e21": true, "-1e21": false, "9223372036854775807": true, "-3": false, `"many"`: false,
	} {
		h := load(t, plugins.Config{
			Name: "reference", Path: module, Config: json.RawMessage(`{"level": ` + level + `}`), Hooks: []plugins.Hook{plugins.SessionAdmit},
		})
		a := one(t, h.AnnotateAdmission(t.Context(), admission.Request{Action: admission.Start}))
		if (a.Verdict == permission.Ask) != over {
			t.Errorf("level %s: %s", level, a.Verdict)
		}
	}
}

// load loads one plugin, with time enough for a busy machine.
func load(t *testing.T, c plugins.Config) *plugins.Host {
	t.Helper()
	c.AllowUnpinned, c.Timeout = true, plugins.MaxTimeout
	host, err := plugins.Load(t.Context(), plugins.Options{Plugins: []plugins.Config{c}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := host.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return host
}

type guest struct {
	t    *testing.T
	host *plugins.Host
}

// one is the only annotation, of a call that counted.
func one(t *testing.T, list []permission.Annotation) permission.Annotation {
	t.Helper()
	if len(list) != 1 || list[0].Error != "" {
		t.Fatalf("annotations %+v", list)
	}
	return list[0]
}

func (g guest) admits(t *testing.T) {
	a := one(t, g.host.AnnotateAdmission(t.Context(), admission.Request{Action: admission.Start}))
	if a.Verdict != permission.Ask || a.Reason != "level is over 2" {
		t.Errorf("%s %q", a.Verdict, a.Reason)
	}
}

func (g guest) judges(t *testing.T) {
	command := strings.Repeat("x", 4000)
	tests := []struct {
		tool, command, noted, reason string
		verdict                      permission.Effect
	}{
		{"Bash", "ls \"a\"\n\té\x01", `"ls \"a\"\n\té\u0001"`, "", permission.Abstain},
		{"Bash", "sudo shutdown now", `"sudo shutdown now"`, "shutdown", permission.Deny},
		{"Bash", "rm -rf /; shutdown", `"rm -rf /; shutdown"`, "rm -rf", permission.Deny},
		{"Bash", command, `"` + command + `"`, "", permission.Abstain},
		{"Bash", command + command, "", "too large", permission.Deny},
		{"Bash", "", `""`, "", permission.Abstain},
		{"Write", "shutdown", "", "", permission.Abstain},
	}
	for _, tt := range tests {
		input, err := json.Marshal(map[string]string{"command": tt.command})
		if err != nil {
			t.Fatal(err)
		}
		a := one(t, g.host.Annotate(t.Context(), permission.Request{SessionID: "s", Tool: tt.tool, Input: input}))
		if a.Verdict != tt.verdict || a.Reason != tt.reason || !sameJSON(t, a.Values["command"], tt.noted) {
			t.Errorf("%s %.40q: %s %q, noted %.60s", tt.tool, tt.command, a.Verdict, a.Reason, a.Values["command"])
		}
	}
}

func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	if want == "" || len(got) == 0 {
		return string(got) == want
	}
	var a, b any
	if err := json.Unmarshal([]byte(want), &b); err != nil {
		t.Fatal(err)
	}
	return json.Unmarshal(got, &a) == nil && a == b
}

// counts has events counted in kv. A verdict waits for the events before it.
func (g guest) counts(t *testing.T) {
	for i := range 3 {
		g.host.Observe(&event.Origin{SessionID: "s"}, event.Event{ID: int64(i), Type: event.Output, Data: json.RawMessage(`{}`)})
	}
	a := one(t, g.host.Annotate(t.Context(), permission.Request{SessionID: "s", Tool: "Count", Input: json.RawMessage(`{}`)}))
	if string(a.Values["events"]) != "3" {
		t.Errorf("events %s, want 3", a.Values["events"])
	}
}

func (g guest) covers(t *testing.T) {
	given := json.RawMessage(`{"secret":"über\"alles","open":"ja"}`)
	got, found, err := g.host.Redact(t.Context(), event.Payload{Origin: &event.Origin{SessionID: "s"}, Sink: event.SinkEvent, Kind: event.Output, Data: given})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"open":"ja","secret":"[REDACTED:plugin.reference.all]"}`
	if string(got) != want || len(found) != 1 || found[0] != (event.Redaction{Pointer: "/secret", Detector: "plugin.reference.all", Count: 1}) {
		t.Errorf("%s, %+v; want %s", got, found, want)
	}
	open := json.RawMessage(`{"open":"ja"}`)
	if got, found, err := g.host.Redact(t.Context(), event.Payload{Sink: event.SinkEvent, Data: open}); err != nil || string(got) != string(open) || len(found) != 0 {
		t.Errorf("without a secret: %s, %+v, %v", got, found, err)
	}
}

func (g guest) serves(t *testing.T) {
	list := g.host.Tools()
	if len(list) != 1 || list[0].Name != "echo" || list[0].Description != "Repeats a text." {
		t.Fatalf("tools %+v", list)
	}
	got, err := g.host.CallTool(t.Context(), "reference", "echo", "s", json.RawMessage(`{"text":"a \"b\" \u0007 ü"}`))
	if err != nil {
		t.Fatal(err)
	}
	var result struct {
		Content []struct{ Type, Text string }
	}
	if err := json.Unmarshal(got, &result); err != nil || len(result.Content) != 1 || result.Content[0].Text != "a \"b\" \a ü" {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := g.host.CallTool(t.Context(), "reference", "echo", "s", json.RawMessage(`{}`)); err == nil {
		t.Errorf("without a text: %s", got)
	}
}
