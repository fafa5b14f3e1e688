package realcli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// notesServer is the argument that makes the test binary an MCP server with one
// tool. The tool writes a file into the folder of its variable NOTES_FOLDER.
const notesServer = "notes-mcp-server"

func init() {
	if len(os.Args) < 2 || os.Args[1] != notesServer {
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1"}, nil)
	type note struct {
		Name string `json:"name"`
	}
	mcp.AddTool(s, &mcp.Tool{Name: "keep", Description: "keep a note"}, func(_ context.Context, _ *mcp.CallToolRequest, n note) (*mcp.CallToolResult, any, error) {
		err := os.WriteFile(filepath.Join(os.Getenv("NOTES_FOLDER"), filepath.Base(n.Name)), nil, 0o600)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "MARK-KEPT " + n.Name}}}, nil, err
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(0)
}

// notes is the configuration of a notes server that leaves its notes in folder.
func notes(folder string) object {
	return object{
		"command": os.Args[0], "args": []string{notesServer}, "alwaysLoad": true,
		"env": object{"NOTES_FOLDER": folder, "GORACE": "atexit_sleep_ms=0"},
	}
}

func keep(server, name string) fakeapi.Turn {
	return fakeapi.Use("mcp__"+server+"__keep", object{"name": name})
}

// told reports whether an mcp_servers notice of the session contains text.
func told(s *engine.Session, text string) bool {
	return slices.ContainsFunc(s.Events(nil, 0).Events, func(e event.Event) bool {
		return e.Type == event.Notice && strings.Contains(string(e.Data), `"mcp_servers"`) && strings.Contains(string(e.Data), text)
	})
}

func TestServerOfTheOwnerIsHandedOverAndItsCallsAreJudged(t *testing.T) {
	l := newLab(t)
	folder := t.TempDir()
	l.file("~/.claude.json", object{
		"mcpServers": object{"mine": notes(folder)},
		"projects":   object{l.project: object{"mcpServers": object{"here": notes(folder)}}},
	})
	l.serve(keep("mine", "refused"), keep("mine", "kept"), keep("here", "local"), fakeapi.Say("done"))
	l.open()
	s := l.start("keep a note")
	asked := 0
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		asked++
		return engine.Answer{Allow: !strings.Contains(string(a.Input), "refused"), DenyMessage: "not today"}
	})
	if asked != 3 || exists(filepath.Join(folder, "refused")) || !exists(filepath.Join(folder, "kept")) || !exists(filepath.Join(folder, "local")) {
		t.Errorf("asked %d times:\n%s", asked, dump(s))
	}
	if !l.api.Saw("MARK-KEPT kept") {
		t.Error("the model did not get the tool's text")
	}
	if !told(s, `"handedOver":[{"name":"here","source":"local"},{"name":"mine","source":"user"}]`) {
		t.Errorf("the notice is not as expected:\n%s", dump(s))
	}
	l.wasJudged("mcp__mine__keep", "kept")
}

func TestServersThatAreNotHandedOverDoNotStart(t *testing.T) {
	mark := func(l *lab, name string) object {
		return object{"command": "sh", "args": []string{"-c", l.canary(name)}}
	}
	for _, c := range []struct {
		name   string
		params engine.StartParams
	}{
		{"untrusted", engine.StartParams{}},
		{"strict", engine.StartParams{StrictMcpConfig: true}},
		{"no sources", engine.StartParams{SettingSources: &[]string{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := newLab(t)
			folder := t.TempDir()
			l.file(".mcp.json", object{"mcpServers": object{"repo": mark(l, "repo")}})
			own := object{"mine": notes(folder), "gate": object{"command": "gatehouse", "args": []string{"serve"}}}
			l.file("~/.claude.json", object{"mcpServers": own, "projects": object{l.project: object{
				"hasTrustDialogAccepted": true, "enabledMcpjsonServers": []string{"repo"},
			}}})
			l.serve(keep("mine", "note"), fakeapi.Say("done"))
			l.open()
			c.params.Prompt = "go"
			s := l.startWith(c.params)
			l.turns(s, 1, allow)
			handed := c.name == "untrusted"
			if exists(filepath.Join(folder, "note")) != handed || exists(filepath.Join(l.marks, "repo")) {
				t.Errorf("the repository's server ran: %v, the owner's: %v\n%s", exists(filepath.Join(l.marks, "repo")), exists(filepath.Join(folder, "note")), dump(s))
			}
			if told(s, `"rule":"admission.server_self"`) != handed {
				t.Errorf("the notice is not as expected:\n%s", dump(s))
			}
		})
	}
}

func TestServersOfATrustedRepositoryStart(t *testing.T) {
	l := newLab(t)
	folder := t.TempDir()
	l.file(".mcp.json", object{"mcpServers": object{"repo": notes(folder), "no": notes(folder)}})
	l.file(".claude/settings.local.json", object{"disabledMcpjsonServers": []string{"no"}})
	l.serve(keep("repo", "note"), keep("no", "never"), fakeapi.Say("done"))
	l.open(func(o *engine.Options) { o.Trusted = []string{l.project} })
	s := l.start("go")
	l.turns(s, 1, allow)
	if !exists(filepath.Join(folder, "note")) || exists(filepath.Join(folder, "never")) {
		t.Errorf("the repository's servers did not do as expected:\n%s", dump(s))
	}
	if !told(s, `"rule":"engine.server_disabled"`) {
		t.Errorf("no notice of the server that was switched off:\n%s", dump(s))
	}
	l.wasJudged("mcp__repo__keep", "note")
}

// What a server of a session starts carries the session's mark, by which
// gatehouse refuses to start sessions there, and none of our secrets.
func TestServersInheritTheMarkOfTheSession(t *testing.T) {
	l := newLab(t)
	seen := filepath.Join(l.marks, "environment")
	l.file("~/.claude.json", object{"mcpServers": object{
		"mine": object{"command": "sh", "args": []string{"-c", `env >"$0.part" && mv "$0.part" "$0"`, seen}, "env": object{"OTHER": "1"}},
	}})
	l.serve(fakeapi.Say("done"))
	l.open(func(o *engine.Options) {
		o.Environ = append(o.Environ, "CLAUDE_CODE_MCP_RESUME_SECRET="+"sealing"+"-value", "GATEHOUSE_SESSION=outer")
	})
	s := l.start("go")
	l.turns(s, 1, allow)
	var env []byte
	l.eventually("the server's environment", func() bool {
		var err error
		env, err = os.ReadFile(seen)
		return err == nil
	})
	if !strings.Contains("\n"+string(env), "\nGATEHOUSE_SESSION="+s.ID()+"\n") || strings.Contains(string(env), "sealing-value") {
		t.Errorf("the server has the environment\n%s", env)
	}
}
