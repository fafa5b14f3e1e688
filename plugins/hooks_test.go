package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// guest writes a module to a file and is its configuration. Its time is generous,
// as machines can be busy.
func guest(t testing.TB, name string, wasm []byte) Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), name+".wasm")
	if err := os.WriteFile(path, wasm, 0o600); err != nil {
		t.Fatal(err)
	}
	return Config{Name: name, Path: path, AllowUnpinned: true, Timeout: MaxTimeout}
}

func having(c Config, change func(*Config)) Config {
	change(&c)
	return c
}

// logged is where a host logs to.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func start(t testing.TB, o Options) (*Host, *logged) {
	t.Helper()
	log := new(logged)
	o.Logger = slog.New(slog.NewTextHandler(log, nil))
	h, err := Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return h, log
}

func bash(command string) permission.Request {
	input, _ := json.Marshal(map[string]string{"command": command})
	return permission.Request{SessionID: "s1", Door: permission.DoorAsk, ToolUseID: "t1", Tool: "Bash", Input: input, Session: permission.Session{Cwd: "/srv", Turn: 2}}
}

func trap(hook string) []byte { return w.Hook(hook, w.Trap()) }

func TestAnnotate(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{
		having(guest(t, "last", w.Annotate("pre_permission", "level", `{"n":[1]}`)), func(c *Config) { c.Order = 9 }),
		guest(t, "first", w.DenyWith("pre_permission", "/tool_input/command")),
		guest(t, "loose", w.Verdict("pre_permission", w.AllowKind, "fine")),
		having(guest(t, "told", w.Verdict("pre_permission", w.AskKind, "a look?")), func(c *Config) { c.Binding = BindingNone }),
		guest(t, "elsewhere", w.Deny("session_admit", "no")),
	}})
	said := h.Annotate(t.Context(), bash("ls"))
	want := []permission.Annotation{
		{Plugin: "first", Verdict: permission.Deny, Binding: true, Reason: "ls"},
		{Plugin: "loose", Verdict: permission.Allow, Reason: "fine"},
		{Plugin: "told", Verdict: permission.Ask, Reason: "a look?"},
		{Plugin: "last"},
	}
	if len(said) != len(want) {
		t.Fatalf("%+v", said)
	}
	for i, a := range said {
		if b := want[i]; a.Plugin != b.Plugin || a.Verdict != b.Verdict || a.Binding != b.Binding || a.Reason != b.Reason || a.Error != "" || a.Took <= 0 || len(a.SHA256) != 64 {
			t.Errorf("%+v, want %+v", a, b)
		}
	}
	if got := string(said[3].Values["level"]); got != `{"n":[1]}` {
		t.Errorf("annotated %s", got)
	}
}

func TestAnnotateFailures(t *testing.T) {
	var plugins []Config
	for _, e := range []OnError{ErrorAsks, ErrorDenies, ErrorSkips} {
		plugins = append(plugins, having(guest(t, string(e), trap("pre_permission")), func(c *Config) { c.OnError, c.Binding = e, BindingNone }))
	}
	h, _ := start(t, Options{Plugins: append(plugins, guest(t, "works", w.Deny("pre_permission", "no")))})
	want := []permission.Effect{permission.Ask, permission.Deny, permission.Abstain}
	said := h.Annotate(t.Context(), bash("ls"))
	for i, verdict := range want {
		a := said[i]
		if a.Verdict != verdict || a.Binding != (verdict != permission.Abstain) || !strings.Contains(a.Error, `plugin "`+a.Plugin+`": trapped`) || a.Reason != "" || a.Values != nil {
			t.Errorf("%+v, want %s", a, verdict)
		}
	}
	if last := said[3]; last.Plugin != "works" || last.Verdict != permission.Deny || last.Error != "" {
		t.Errorf("after failures of others: %+v", last)
	}
}

func TestAnnotateMembers(t *testing.T) {
	g := w.NewGuest()
	g.Hook("pre_permission", g.AnnotateOf("session", "/session"), g.AnnotateOf("caller", "/caller"), g.AnnotateOf("agent", "/agent"),
		g.AnnotateOf("input", "/tool_input"), g.AnnotateOf("suggestions", "/suggestions"),
		g.Must(-1, g.Get("/title", w.Buffer, 0)), g.Must(12, g.Get("/door", w.Buffer, 0)), g.Must(2, g.Get("/tool_use_id", w.Buffer, 0)), g.Must(4, g.Get("/folder", w.Buffer, 0)))
	h, _ := start(t, Options{Plugins: []Config{guest(t, "p", g.Bytes())}})
	r := bash("echo <a>")
	r.Folder, r.Suggested, r.AgentID, r.Agent.Type = "/tmp", json.RawMessage(`[1]`), "a1", "Explore"
	r.Caller = permission.Caller{Client: "editor", Transport: "stdio", UID: 7}
	r.Session.Started = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	r.Session.Labels = map[string]string{"ticket": "T-1"}
	a := h.Annotate(t.Context(), r)[0]
	if a.Error != "" {
		t.Fatal(a.Error)
	}
	for key, want := range map[string]string{
		"session":     `{"id":"s1","cwd":"/srv","trusted":false,"labels":{"ticket":"T-1"},"started":"2026-01-02T03:04:05Z","turn":2,"turns":0,"tool_calls":0,"denies":0,"asks":0,"cost_usd":0}`,
		"caller":      `{"client":"editor","transport":"stdio"}`,
		"agent":       `{"id":"a1","type":"Explore"}`,
		"input":       string(r.Input),
		"suggestions": `[1]`,
	} {
		if got := string(a.Values[key]); got != want {
			t.Errorf("/%s is %s, want %s", key, got, want)
		}
	}
}

// covering stands for the redaction plan.
type covering func(p event.Payload) (json.RawMessage, []event.Redaction, error)

func (c covering) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	return c(p)
}

func TestRedactedDocuments(t *testing.T) {
	var sort event.Payload
	times := 0
	cover := covering(func(p event.Payload) (json.RawMessage, []event.Redaction, error) {
		sort = p
		times++
		return bytes.ReplaceAll(p.Data, []byte("hunter2"), []byte("[REDACTED:x]")), []event.Redaction{{Pointer: "/tool_input/command", Detector: "x", Count: 1}}, nil
	})
	g := w.NewGuest()
	g.Hook("pre_permission", g.AnnotateOf("found", "/redactions"), g.VerdictOf(w.DenyKind, "/tool_input/command"))
	covered := having(guest(t, "a", g.Bytes()), func(c *Config) { c.Redacted = true })
	h, _ := start(t, Options{Cover: cover, Plugins: []Config{
		covered, having(guest(t, "b", g.Bytes()), func(c *Config) { c.Redacted = true }), guest(t, "c", w.DenyWith("pre_permission", "/tool_input/command")),
	}})
	said := h.Annotate(t.Context(), bash("login hunter2"))
	for _, a := range said[:2] {
		if a.Reason != "login [REDACTED:x]" || string(a.Values["found"]) != `[{"pointer":"/tool_input/command","detector":"x","count":1}]` {
			t.Errorf("%+v", a)
		}
	}
	if said[2].Reason != "login hunter2" {
		t.Errorf("the exact input: %+v", said[2])
	}
	if sort.Sink != event.SinkPlugin || sort.Tool != "Bash" || sort.Origin.SessionID != "s1" || sort.Origin.Cwd != "/srv" || times != 1 {
		t.Errorf("covered %d times as %+v", times, sort)
	}
}

func TestCoverThatFails(t *testing.T) {
	for name, cover := range map[string]covering{
		"an error": func(event.Payload) (json.RawMessage, []event.Redaction, error) {
			return nil, nil, errors.New("no plan")
		},
		"a panic": func(event.Payload) (json.RawMessage, []event.Redaction, error) { panic("no plan") },
		"no object": func(event.Payload) (json.RawMessage, []event.Redaction, error) {
			return json.RawMessage(`"[REDACTED:x]"`), nil, nil
		},
	} {
		h, _ := start(t, Options{Cover: cover, Plugins: []Config{
			having(guest(t, "a", w.Verdict("pre_permission", w.AllowKind, "")), func(c *Config) { c.Redacted = true }),
			guest(t, "b", w.Verdict("pre_permission", w.AskKind, "?")),
		}})
		said := h.Annotate(t.Context(), bash("ls"))
		if a := said[0]; a.Verdict != permission.Deny || !a.Binding || !strings.Contains(a.Error, `plugin "a": covering its document`) {
			t.Errorf("%s: %+v", name, a)
		}
		if said[1].Verdict != permission.Ask {
			t.Errorf("%s: %+v", name, said[1])
		}
	}
}

func TestAnnotateAdmission(t *testing.T) {
	g := w.NewGuest()
	g.Hook("session_admit", g.AnnotateOf("parameters", "/parameters"), g.AnnotateOf("dirs", "/additional_dirs"), g.AnnotateOf("project", "/project"),
		g.AnnotateOf("running", "/running_sessions"), g.Must(-1, g.Get("/session", w.Buffer, 0)), g.VerdictOf(w.AskKind, "/action"))
	h, _ := start(t, Options{Plugins: []Config{
		guest(t, "a", g.Bytes()),
		having(guest(t, "b", trap("session_admit")), func(c *Config) { c.OnError = ErrorAsks }),
		having(guest(t, "c", trap("session_admit")), func(c *Config) { c.OnError = ErrorSkips }),
	}})
	r := admission.Request{
		Action: admission.Start, Parameters: map[string]json.RawMessage{"prompt": json.RawMessage(`"hi"`)},
		AdditionalDirs: []admission.Dir{{Path: "/x", Inside: true}}, RunningSessions: 3,
	}
	said := h.AnnotateAdmission(t.Context(), r)
	if a := said[0]; a.Error != "" || a.Verdict != permission.Ask || !a.Binding || a.Reason != "start" ||
		string(a.Values["parameters"]) != `{"prompt":"hi"}` || string(a.Values["dirs"]) != `[{"path":"/x","inside":true}]` || string(a.Values["running"]) != "3" ||
		string(a.Values["project"]) != `{"settings_files":null,"mcp_servers":null,"git_exec_keys":null}` {
		t.Errorf("%+v", a)
	}
	if a := said[1]; a.Verdict != permission.Deny || !a.Binding || a.Error == "" {
		t.Errorf("nobody is asked about a start: %+v", a)
	}
	if a := said[2]; a.Verdict != permission.Abstain || a.Binding || a.Error == "" {
		t.Errorf("%+v", a)
	}
	for action, want := range map[admission.Action]int{
		admission.Fork: 3, admission.Resume: 3, admission.Reply: 3, admission.Cancel: 0, admission.List: 0, admission.Answer: 0, admission.McpServer: 0,
	} {
		if said := h.AnnotateAdmission(t.Context(), admission.Request{Action: action}); len(said) != want {
			t.Errorf("%s: %d annotations, want %d", action, len(said), want)
		}
	}
}

func TestAnnotationBounds(t *testing.T) {
	many := func(n int) []byte {
		g := w.NewGuest()
		var code [][]byte
		for i := range n {
			code = append(code, g.Annotate(fmt.Sprint("k", i), "1"))
		}
		g.Hook("pre_permission", code...)
		return g.Bytes()
	}
	for name, c := range map[string]struct {
		wasm []byte
		want string
	}{
		"the longest key":  {w.Annotate("pre_permission", strings.Repeat("k", MaxKey), "1"), ""},
		"a longer one":     {w.Annotate("pre_permission", strings.Repeat("k", MaxKey+1), "1"), "has 65 bytes"},
		"no key":           {w.Annotate("pre_permission", "", "1"), "has 0 bytes"},
		"a key with words": {w.Annotate("pre_permission", "a b", "1"), `is "a b", want letters`},
		"of two lines":     {w.Annotate("pre_permission", "a\n", "1"), "want letters"},
		"no JSON":          {w.Annotate("pre_permission", "k", "{"), "annotation k is no JSON"},
		"a name twice":     {w.Annotate("pre_permission", "k", `{"a":1,"a":2}`), `the key "a" twice`},
		"deep":             {w.Annotate("pre_permission", "k", strings.Repeat("[", 65)+strings.Repeat("]", 65)), "deeper than 64 levels"},
		"many":             {many(MaxKeys), ""},
		"too many":         {many(MaxKeys + 1), "more than 64 annotations"},
	} {
		h, _ := start(t, Options{Plugins: []Config{guest(t, "p", c.wasm)}})
		a := h.Annotate(t.Context(), bash("ls"))[0]
		if (a.Error == "") != (c.want == "") || !strings.Contains(a.Error, c.want) || a.Error != "" && (a.Values != nil || a.Verdict != permission.Deny) {
			t.Errorf("%s: %+v, want %q", name, a, c.want)
		}
	}
}
