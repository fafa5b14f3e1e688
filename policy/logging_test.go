package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/decisionlog"
)

// recorder keeps what it is told.
type recorder struct {
	mu  sync.Mutex
	all []decisionlog.Entry
}

func (r *recorder) Record(e decisionlog.Entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, e)
}

func (r *recorder) last(t *testing.T) decisionlog.Entry {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.all) == 0 {
		t.Fatal("nothing was recorded")
	}
	return r.all[len(r.all)-1]
}

// logged loads a set that records, with a policy of the user's.
func logged(t *testing.T, rego string) (*Set, *recorder) {
	t.Helper()
	r := &recorder{}
	o := Options{Decisions: r, Deadline: generous}
	if rego != "" {
		path := filepath.Join(t.TempDir(), "p.rego")
		if err := os.WriteFile(path, []byte(rego), 0o600); err != nil {
			t.Fatal(err)
		}
		o.Paths = []string{path}
	}
	set, err := Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return set, r
}

func loggedCall(folder, tool, input string) permission.Request {
	return permission.Request{
		SessionID: "s", Door: permission.DoorAsk, ToolUseID: "t", Tool: tool, Input: json.RawMessage(input),
		Caller: permission.Caller{Client: "editor"}, Session: permission.Session{Cwd: folder, Roots: []string{folder}, Mode: "default"},
	}
}

// What is recorded is the document that was judged: judging it again gives the
// same decision.
func TestDecisionsAreRecorded(t *testing.T) {
	set, r := logged(t, "")
	folder := t.TempDir()
	for _, test := range []struct{ command, effect, rule string }{
		{"ls", "allow", "shell.reads"}, {"git push origin main", "ask", "git.push"}, {"make", "ask", "engine.default"},
	} {
		d, err := set.Decide(context.Background(), loggedCall(folder, "Bash", `{"command":"`+test.command+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		e := r.last(t)
		if d.DecisionID == "" || e.ID != d.DecisionID || e.RequestedBy != "editor" || e.Profile != "dev" || e.Revisions["builtin"] == "" {
			t.Errorf("%s: decision %q, entry %+v", test.command, d.DecisionID, e)
		}
		doc, err := e.Input()
		if err != nil {
			t.Fatal(err)
		}
		again, err := set.Evaluate(context.Background(), EntryPermission, doc)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(e.Result)
		if err != nil {
			t.Fatal(err)
		}
		var result struct {
			Effect, Rule string
			Layers       []struct{ Name string }
		}
		if err := json.Unmarshal(raw, &result); err != nil {
			t.Fatal(err)
		}
		if result.Effect != test.effect || result.Rule != test.rule || again.Decision.Rule != test.rule || len(result.Layers) == 0 {
			t.Errorf("%s: logged %s, judged again %+v", test.command, raw, again.Decision)
		}
	}
}

func TestAdmissionsAreRecordedWithoutValues(t *testing.T) {
	set, r := logged(t, "")
	folder := t.TempDir()
	raw := map[string]json.RawMessage{
		"env.TOKEN":  json.RawMessage(`"hunter2"`),
		"mcpServers": json.RawMessage(`{"a":{"command":"x","env":{"K":"hunter2"}},"b/c":{"url":"u","headers":{"H":"hunter2"}},"d":{"env":{}}}`),
	}
	if _, err := set.Admit(context.Background(), admission.Request{
		Action: admission.Start, SessionID: "s", Cwd: folder, CwdInsideRoots: true, Roots: []string{folder}, Parameters: raw,
	}); err != nil {
		t.Fatal(err)
	}
	e := r.last(t)
	if got, want := strings.Join(e.Hide, " "), "/input/parameters/env.TOKEN /input/request/env/0/value_sha256 /input/parameters/mcpServers/a/env /input/parameters/mcpServers/b~1c/headers"; got != want {
		t.Errorf("hidden %s, want %s", got, want)
	}
	if text := writtenLine(t, e); strings.Contains(text, "hunter2") || !strings.Contains(text, `"value_sha256":"[withheld]"`) {
		t.Errorf("written %s", text)
	}
}

// Servers carry credentials in their arguments and addresses, too.
func TestServerDefinitionsAreRecordedWithoutCredentials(t *testing.T) {
	folder := t.TempDir()
	for _, test := range []struct {
		name string
		r    admission.Request
		want []string
	}{
		{"a caller's", admission.Request{Action: admission.Start, Parameters: map[string]json.RawMessage{
			"mcpServers": json.RawMessage(`{"b":{"command":"x","args":["--token","hunter2"]},"a":{"type":"http","url":"https://me:hunter2@example.com/mcp?key=hunter2#hunter2"},"c":{"command":"y","args":[]}}`),
			"agents":     json.RawMessage(`{"r":{"mcpServers":[{"x":{"url":"https://example.com/?hunter2","args":["hunter2"]}}]}}`),
		}}, []string{`"url":"https://example.com/mcp?[withheld]"`, `"args":["[withheld sha256:`, `","[withheld]"]`, `"url":"https://example.com/?[withheld]"`}},
		{"an owner's", admission.Request{Action: admission.McpServer, Server: admission.Server{
			Name: "s", Source: "user", Transport: "http", URL: "https://hunter2@example.com/mcp", Args: []string{"hunter2"},
		}}, []string{`"url":"https://example.com/mcp"`, `"args":["[withheld sha256:`}},
		{"without any", admission.Request{Action: admission.McpServer, Server: admission.Server{
			Name: "s", Source: "user", Transport: "http", URL: "https://example.com/mcp",
		}}, []string{`"url":"https://example.com/mcp"`, `"args":[]`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			set, r := logged(t, "")
			test.r.SessionID, test.r.Cwd, test.r.CwdInsideRoots, test.r.Roots = "s", folder, true, []string{folder}
			if _, err := set.Admit(context.Background(), test.r); err != nil {
				t.Fatal(err)
			}
			e := r.last(t)
			text := writtenLine(t, e)
			if strings.Contains(text, "hunter2") {
				t.Errorf("a credential was written: %s", text)
			}
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s is missing in %s", want, text)
				}
			}
			var line decisionlog.Event
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			if _, err := set.Evaluate(context.Background(), EntryAdmission, line.Input); err != nil {
				t.Errorf("it cannot be judged again: %v", err)
			}
		})
	}
}

// writtenLine is the line of an entry.
func writtenLine(t *testing.T, e decisionlog.Entry) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "log")
	log, err := decisionlog.Open(decisionlog.Options{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	log.Record(e)
	if err := log.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	files, err := decisionlog.Files(folder)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSpace(raw))
}

// A decision that the engine had to make is recorded too, with what was asked.
func TestFailuresAreRecorded(t *testing.T) {
	set, r := logged(t, `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "mine.broken", "reason": "x"} if to_number(input.tool.input.command) > 3
`)
	folder := t.TempDir()
	for _, test := range []struct{ tool, input, rule string }{
		{"Bash", `{"command":"abc"}`, "engine.error"},
		{"Bаsh", `{}`, "engine.tool_name"}, // a Cyrillic letter
		{"Bash", `[]`, "engine.input"},
	} {
		d, _ := set.Decide(context.Background(), loggedCall(folder, test.tool, test.input))
		e := r.last(t)
		if d.Rule != test.rule || e.ID == "" || e.ID != d.DecisionID || e.Error == nil || e.Error.Code != test.rule {
			t.Errorf("%s %s: rule %s, entry %+v", test.tool, test.input, d.Rule, e)
		}
		if e.Input == nil && e.Custom["asked"] == nil {
			t.Errorf("%s: nothing says what was asked", test.input)
		}
	}
}

// A question about a changed input is judged twice; what is recorded is what decided.
func TestChangedInputIsRecordedOnce(t *testing.T) {
	set, r := logged(t, `package gatehouse.permission

decisions contains {"effect": "ask", "rule": "mine.ask", "reason": "x"} if input.tool.name == "Write"
decisions contains {"effect": "modify", "rule": "mine.set", "reason": "x", "ops": [{"op": "set", "path": "/content", "value": "b"}]} if {
	input.tool.name == "Write"
	input.tool.input.content != "b"
}
`)
	folder := t.TempDir()
	d, _ := set.Decide(context.Background(), loggedCall(folder, "Write", `{"file_path":"`+filepath.ToSlash(folder)+`/a","content":"a"}`))
	e := r.last(t)
	doc, err := e.Input()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.all) != 1 || d.Effect != permission.Ask || !bytes.Contains(doc, []byte(`"content":"a"`)) {
		t.Errorf("%d entries, %s:%s, document %s", len(r.all), d.Effect, d.Rule, doc)
	}
	if raw, err := json.Marshal(e.Result); err != nil || !bytes.Contains(raw, []byte(`"updated_input":{"content":"b"`)) {
		t.Errorf("result %s, %v", raw, err)
	}
}

func TestMasksOfPoliciesReachTheLog(t *testing.T) {
	set, r := logged(t, `package gatehouse.log

mask contains "/input/session/mode" if input.path == "gatehouse/permission/decisions"
`)
	folder := t.TempDir()
	if _, err := set.Decide(context.Background(), loggedCall(folder, "Bash", `{"command":"ls"}`)); err != nil {
		t.Fatal(err)
	}
	text := writtenLine(t, r.last(t))
	if !strings.Contains(text, `"erased":["/input/session/mode"]`) || strings.Contains(text, `"mode":"default"`) {
		t.Errorf("written %s", text)
	}
}

func TestRecordingAtOnce(t *testing.T) {
	set, r := logged(t, "")
	folder := t.TempDir()
	log, err := decisionlog.Open(decisionlog.Options{Folder: filepath.Join(t.TempDir(), "log")})
	if err != nil {
		t.Fatal(err)
	}
	set.options.Decisions = both{log, r}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 10 {
				if _, err := set.Decide(context.Background(), loggedCall(folder, "Bash", `{"command":"git status; ls"}`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	if err := log.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if len(r.all) != 80 {
		t.Errorf("%d recorded", len(r.all))
	}
}

type both struct{ a, b DecisionLog }

func (b both) Record(e decisionlog.Entry) { b.a.Record(e); b.b.Record(e) }
