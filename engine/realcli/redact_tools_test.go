package realcli

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

const kept = "MARK-SECRET"

// covering is an engine that allows everything and covers one secret.
func covering(l *lab) func(*engine.Options) {
	return func(o *engine.Options) {
		o.Redactors = []event.Redactor{cover{kept}}
		l.judge.next = owing{}
	}
}

// onDisk names the files below the CLI's home that hold text.
func (l *lab) onDisk(text string) (files []string) {
	l.Helper()
	err := filepath.WalkDir(l.home, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(raw), text) {
			files = append(files, strings.TrimPrefix(path, l.home))
		}
		return err
	})
	if err != nil {
		l.Error(err)
	}
	return files
}

// conversed reports whether a request of a conversation holds text: one that
// offers tools, so neither a summary of the CLI's own nor a count of tokens.
func (l *lab) conversed(text string) bool {
	for _, r := range l.api.Requests() {
		var body struct{ Tools []json.RawMessage }
		if json.Unmarshal(r.Body, &body) == nil && len(body.Tools) > 0 && strings.Contains(string(r.Body), text) {
			return true
		}
	}
	return false
}

// ended stops a session, so that all it writes is written.
func (l *lab) ended(s *engine.Session) {
	l.Helper()
	if err := s.Cancel(l.Context(), "test", "test"); err != nil && engine.CodeOf(err) != engine.CancelledCode {
		l.Fatal(err)
	}
	<-s.Done()
}

func TestOutputsOfAllToolsAreCovered(t *testing.T) {
	l := newLab(t)
	l.file("notes.txt", "a line\n"+kept+"\n")
	l.file("old.txt", "first\n"+kept+"\nlast\n")
	l.file("folder/"+kept+".name", "x")
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{
			bash("cat notes.txt"), bash("cat notes.txt >&2"),
			fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}),
			fakeapi.Use("Grep", object{"pattern": "MARK", "output_mode": "content"}),
			fakeapi.Use("Glob", object{"pattern": "folder/*.name"}),
			fakeapi.Use("Read", object{"file_path": l.path("old.txt")}),
			fakeapi.Use("Edit", object{"file_path": l.path("old.txt"), "old_string": "first", "new_string": "second"}),
			fakeapi.Use("Write", object{"file_path": l.path("old.txt"), "content": "all new"}),
			agentCall(false), fakeapi.Say("done"),
		},
		Lanes: []fakeapi.Lane{{Match: "CHILD", Turns: []fakeapi.Turn{bash("cat notes.txt"), fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}), fakeapi.Say("looked")}}},
	})
	l.open(covering(l))
	s := l.startWith(engine.StartParams{Prompt: "go", Tools: &[]string{"Bash", "Read", "Grep", "Glob", "Edit", "Write", "Agent"}})
	events := l.turns(s, 1, allow)
	results := 0
	for _, e := range events {
		if e.Type == event.ToolResult && strings.Contains(texts(e), "COVERED") {
			results++
		}
	}
	if l.api.Saw(kept) || strings.Contains(dump(s), kept) || results < 6 {
		t.Errorf("the model saw the secret: %v; %d results were covered:\n%s", l.api.Saw(kept), results, dump(s))
	}
	l.ended(s)
	if files := l.onDisk(kept); len(files) > 0 {
		t.Errorf("the CLI kept the secret in %q", files)
	}
}

// The CLI takes a withheld output only if it fits the tool's schema; else the
// original would pass.
func TestWithheldOutputsFitTheirTools(t *testing.T) {
	l := newLab(t)
	l.file("a.ipynb", `{"cells":[{"cell_type":"code","source":["`+kept+`"],"metadata":{},"outputs":[],"execution_count":1}],"metadata":{},"nbformat":4,"nbformat_minor":5}`)
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	image, err := base64.StdEncoding.DecodeString(png)
	if err != nil {
		t.Fatal(err)
	}
	l.file("a.png", string(image))
	l.file("commit.sh", "git -c user.name=a -c user.email=b commit --quiet --allow-empty -m x; echo "+kept)
	l.file("old.txt", "first "+kept+"\n")
	l.file("folder/"+kept+".name", "MARK")
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{
			bash("git -c user.name=a -c user.email=b commit --allow-empty -m \"$(cat old.txt)\""),
			fakeapi.Use("Read", object{"file_path": l.path("a.ipynb")}), fakeapi.Use("Read", object{"file_path": l.path("a.png")}),
			fakeapi.Use("Grep", object{"pattern": "MARK", "output_mode": "content"}), fakeapi.Use("Grep", object{"pattern": "MARK", "output_mode": "count"}),
			fakeapi.Use("Glob", object{"pattern": "folder/*.name"}), fakeapi.Use("Read", object{"file_path": l.path("old.txt")}),
			fakeapi.Use("Edit", object{"file_path": l.path("old.txt"), "old_string": "first", "new_string": "second"}),
			fakeapi.Use("Write", object{"file_path": l.path("old.txt"), "content": "all new"}),
			agentCall(false), fakeapi.Say("done"),
		},
		Lanes: []fakeapi.Lane{{Match: "CHILD", Turns: []fakeapi.Turn{fakeapi.Say("the child's ANSWER")}}},
	})
	l.open(func(o *engine.Options) {
		o.Redactors = []event.Redactor{broken{}}
		l.judge.next = owing{}
	})
	s := l.startWith(engine.StartParams{Prompt: "go", Tools: &[]string{"Bash", "Read", "Grep", "Glob", "Edit", "Write", "Agent"}})
	l.turns(s, 1, allow)
	for _, text := range []string{kept, png, "ANSWER", `"type":"image"`} {
		if l.api.Saw(text) {
			t.Errorf("%s passed a failing redactor:\n%s", text, dump(s))
		}
	}
	l.ended(s)
	if files := l.onDisk(kept); len(files) > 0 {
		t.Errorf("the CLI kept the secret in %q", files)
	}
}

// What is documented of servers that no filter stands before.
func TestOutputsOfRemoteServersAreCovered(t *testing.T) {
	l := newLab(t)
	l.file("~/.claude.json", object{"mcpServers": object{"web": l.webServer(kept)}})
	l.serve(web("tell"), web("shape"), web("long"), fakeapi.Say("done"))
	l.open(covering(l))
	s := l.start("go")
	events := l.turns(s, 1, allow)
	if l.conversed(kept) || strings.Contains(dump(s), kept) || !saw(events, event.ToolResult, `{"key":"COVERED"}`) || !saw(events, event.Notice, "spilled_output") {
		t.Errorf("the model saw the secret: %v\n%s", l.conversed(kept), dump(s))
	}
	l.ended(s)
	// The CLI keeps the structured content of a result beside what it was replaced by.
	for _, file := range l.onDisk(kept) {
		if !strings.HasSuffix(file, s.ID()+".jsonl") {
			t.Errorf("the secret is in %s", file)
		}
	}
	if n := strings.Count(l.transcript(s), kept); n != 1 || !strings.Contains(l.transcript(s), `"mcpMeta":{"structuredContent":{"key":"`+kept) {
		t.Errorf("the transcript holds the secret %d times", n)
	}
}

// dropping leaves nothing of the output of a server's tool.
type dropping struct{}

// Redact implements event.Redactor.
func (dropping) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if p.Sink == event.SinkModel && strings.HasPrefix(p.Tool, "mcp__") {
		return json.RawMessage(`""`), nil, nil
	}
	return p.Data, nil, nil
}

func TestAnEmptyOutputReplacesTheOriginal(t *testing.T) {
	l := newLab(t)
	l.file("~/.claude.json", object{"mcpServers": object{"web": l.webServer(kept)}})
	l.serve(web("shape"), web("tell"), fakeapi.Say("done"))
	l.open(covering(l), func(o *engine.Options) { o.Redactors = []event.Redactor{dropping{}} })
	s := l.start("go")
	if l.turns(s, 1, allow); l.conversed(kept) {
		t.Errorf("the model saw what was dropped:\n%s", dump(s))
	}
}

func TestSecretOfAFailedCallIsTold(t *testing.T) {
	l := newLab(t)
	l.file("~/.claude.json", object{"mcpServers": object{"web": l.webServer(kept)}})
	l.serve(web("fail"), fakeapi.Say("went on"))
	l.open(covering(l))
	s := l.start("go")
	events := l.turns(s, 1, allow)
	if !l.api.Saw("refused "+kept) || !saw(events, event.Notice, "secret_exposed") || strings.Contains(dump(s), kept) {
		t.Errorf("the model saw the error: %v\n%s", l.api.Saw("refused "+kept), dump(s))
	}
}

func TestSecretOfAFailedCallEndsTheSession(t *testing.T) {
	l := newLab(t)
	l.file("~/.claude.json", object{"mcpServers": object{"web": l.webServer(kept)}})
	l.serve(web("fail"), fakeapi.Say("went on"))
	l.open(covering(l), func(o *engine.Options) { o.OnExposedSecret = engine.StopExposed })
	s := l.start("go")
	l.eventually("the session ended", func() bool {
		l.answerAll(t.Context(), s, allow)
		return s.Info().State == engine.Cancelled
	})
	<-s.Done()
	if l.api.Saw(kept) || l.api.Saw("refused") || s.Info().CancelledSource != "redaction" {
		t.Errorf("the model saw the error: %v; %+v", l.api.Saw(kept), s.Info())
	}
	if text := l.transcript(s); strings.Contains(text, kept) {
		t.Error("the transcript holds the secret")
	}
}

// What is documented of WebFetch: the CLI has a model of its own read the page
// before any hook runs.
func TestAFetchedPageIsReadByTheCLIsOwnRequestOnly(t *testing.T) {
	l := newLab(t)
	page := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<p>"+kept+"</p>") }))
	t.Cleanup(page.Close)
	l.file("~/ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: page.Certificate().Raw})))
	l.file("~/.claude/settings.json", object{"skipWebFetchPreflight": true})
	summary := fakeapi.Say("the page says " + kept)
	l.scenario(fakeapi.Scenario{
		Turns: []fakeapi.Turn{fakeapi.Use("WebFetch", object{"url": page.URL, "prompt": "what"}), fakeapi.Say("done")}, Side: &summary,
	})
	l.open(covering(l), func(o *engine.Options) {
		o.Environ = append(o.Environ, "NODE_EXTRA_CA_CERTS="+filepath.Join(l.home, "ca.pem"))
	})
	s := l.start("go")
	events := l.turns(s, 1, allow)
	if l.conversed(kept) || !saw(events, event.ToolResult, "the page says COVERED") {
		t.Errorf("the conversation holds the secret: %v\n%s", l.conversed(kept), dump(s))
	}
	if !l.api.Saw(kept) {
		t.Error("the CLI does not hand the page to a model any more: the documentation can say so")
	}
}

func TestSpilledOutputIsCoveredInItsFile(t *testing.T) {
	l := newLab(t)
	l.file("notes.txt", strings.Repeat("a line of a long output\n", 3000)+kept+"\n")
	l.serve(bash("cat notes.txt"), fakeapi.Say("done"))
	l.open(covering(l))
	s := l.start("go")
	events := l.turns(s, 1, allow)
	spilled, err := filepath.Glob(filepath.Join(l.home, ".claude/projects/*", s.ID(), "tool-results", "*"))
	if err != nil || len(spilled) != 1 {
		t.Fatalf("spilled %q, %v", spilled, err)
	}
	if raw, err := os.ReadFile(spilled[0]); err != nil || !strings.HasSuffix(string(raw), "\nCOVERED\n") {
		t.Errorf("the file does not end with the cover: %v", err)
	}
	if !saw(events, event.Notice, "spilled_output") || l.api.Saw(kept) {
		t.Errorf("events:\n%s", dump(s))
	}
	l.ended(s)
	if files := l.onDisk(kept); len(files) > 0 {
		t.Errorf("the CLI kept the secret in %q", files)
	}
}

// pieces is cover for text in pieces too: it holds back what may begin the secret.
type pieces struct{ cover }

// Stream implements event.Streamer.
func (p pieces) Stream(context.Context, event.Payload) (event.Stream, error) {
	return &piece{secret: p.secret}, nil
}

type piece struct{ secret, held string }

// Write implements event.Stream.
func (p *piece) Write(text string) (string, []event.Redaction) {
	text = strings.ReplaceAll(p.held+text, p.secret, "COVERED")
	n := min(len(p.secret)-1, len(text))
	for !strings.HasPrefix(p.secret, text[len(text)-n:]) {
		n--
	}
	p.held = text[len(text)-n:]
	return text[:len(text)-n], nil
}

// Close implements event.Stream.
func (p *piece) Close() (string, []event.Redaction) { return p.held, nil }

func TestPartialMessagesDoNotShowACutSecret(t *testing.T) {
	l := newLab(t)
	call := bash("echo " + kept)
	call.Chunk = 4
	said := fakeapi.Say("I saw " + kept + " there, MARK")
	said.Chunk = 3
	l.serve(call, said)
	l.open(covering(l), func(o *engine.Options) { o.Redactors = []event.Redactor{pieces{cover{kept}}} })
	s := l.startWith(engine.StartParams{Prompt: "go", PartialMessages: true})
	joined := ""
	for _, e := range l.turns(s, 1, allow) {
		var d struct {
			Event struct {
				Delta struct {
					Text string `json:"text"`
					JSON string `json:"partial_json"`
				} `json:"delta"`
			} `json:"event"`
		}
		if e.Type == event.Partial && json.Unmarshal(e.Data, &d) == nil {
			joined += d.Event.Delta.Text + d.Event.Delta.JSON
		}
	}
	if !strings.Contains(joined, "echo COVERED") || !strings.HasSuffix(joined, "I saw COVERED there, MARK") || strings.Contains(joined, kept) {
		t.Errorf("the pieces are %q", joined)
	}
}
