package realcli

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	_ "github.com/gatehouse-mcp/gatehouse/filter" // the test binary is the filter under its name
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// planted is what the commands of these tests print; no file holds it.
var planted = "gh" + "p_" + strings.Repeat("xY7", 12)

const plantedCover = "[REDACTED:github]"

// leakyServer is the argument that makes the test binary an MCP server whose
// tools tell a secret, one in a result and one in a failure.
const leakyServer = "leaky-mcp-server"

func init() {
	if len(os.Args) < 2 || os.Args[1] != leakyServer {
		return
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "leaky", Version: "1"}, nil)
	for _, name := range []string{"tell", "fail"} {
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "tells"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
			return &mcp.CallToolResult{IsError: name == "fail", Content: []mcp.Content{&mcp.TextContent{Text: "MARK-" + name + " " + planted}}}, nil, nil
		})
	}
	s.Run(context.Background(), &mcp.StdioTransport{})
	os.Exit(0)
}

// openFiltered makes an engine whose only cover is the filter.
func (l *lab) openFiltered(change ...func(*engine.Options)) {
	l.Helper()
	own, err := os.Executable()
	if err != nil {
		l.Fatal(err)
	}
	l.file("show.sh", "echo MARK-SHOWN "+planted+"\n")
	l.file("warn.sh", "echo MARK-WARNED "+planted+" >&2\n")
	l.open(append([]func(*engine.Options){func(o *engine.Options) {
		o.Filter, o.StateDir = own, filepath.Join(filepath.Dir(l.home), "state")
		o.FilterSpec = func(context.Context, *event.Origin) (string, error) { return `{"options":{}}`, nil }
		o.Environ = append(o.Environ, "GORACE=atexit_sleep_ms=0")
	}}, change...)...)
}

// isCovered fails when the model or a file of the CLI got the secret, or the
// model did not get what stands for it.
func (l *lab) isCovered(s *engine.Session, marks ...string) {
	l.Helper()
	for _, mark := range marks {
		if !l.api.Saw(mark + " " + plantedCover) {
			l.Errorf("the model did not get %q covered:\n%s", mark, dump(s))
		}
	}
	if l.api.Saw(planted) {
		l.Errorf("the model got the secret:\n%s", dump(s))
	}
	for _, dir := range []string{l.home, filepath.Join(filepath.Dir(l.home), "tmp")} {
		for _, path := range holding(l.T, dir, planted) {
			l.Errorf("%s holds the secret", path)
		}
	}
}

// holding lists the files below a folder that hold a text.
func holding(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // gone meanwhile
		}
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(raw, []byte(text)) {
			found = append(found, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestFailingCommandIsCovered(t *testing.T) {
	l := newLab(t)
	l.serve(bash("sh show.sh; exit 3"), bash("sh warn.sh; false"), fakeapi.Say("done"))
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s, "MARK-SHOWN", "MARK-WARNED")
	if !l.api.Saw("Exit code 3") {
		t.Errorf("the model did not get the exit code:\n%s", dump(s))
	}
}

func TestFolderIsKeptUnderTheFilter(t *testing.T) {
	l := newLab(t)
	l.file("sub/here.txt", "")
	l.serve(bash("cd sub"), bash("pwd -P > where.txt; umask > mask.txt"), fakeapi.Say("done"))
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	if got, err := os.ReadFile(l.path("sub/where.txt")); string(got) != l.path("sub")+"\n" {
		t.Errorf("folder %q, %v\n%s", got, err, dump(s))
	}
}

func TestBackgroundCommandIsCovered(t *testing.T) {
	needProc(t)
	l := newLab(t)
	tasks := filepath.Join(filepath.Dir(l.home), "tmp")
	l.serve(
		fakeapi.Use("Bash", object{"command": "sh show.sh; while [ ! -e go ]; do sleep 0.1; done; sh warn.sh", "run_in_background": true}),
		bash("until grep -rqs MARK-SHOWN '"+tasks+"'; do sleep 0.1; done; touch go; until grep -rqs MARK-WARNED '"+tasks+"'; do sleep 0.1; done; find '"+tasks+"' -name '*.output' -exec cat {} +; false"),
		fakeapi.Say("done"), fakeapi.Say("noticed the end"),
	)
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s, "MARK-SHOWN", "MARK-WARNED")
	if len(holding(t, tasks, "MARK-SHOWN "+plantedCover)) == 0 {
		t.Error("no file of a task holds the output, so nothing was tested")
	}
}

// A command that leaves something behind returns at once, what it left runs on,
// and it is gone with the session.
func TestLeftBehindUnderTheFilter(t *testing.T) {
	needProc(t)
	l := newLab(t)
	l.serve(bash("{ while [ ! -e go ]; do sleep 0.1; done; sh show.sh; sh show.sh; touch wrote; sleep 300; } & echo started"), fakeapi.Say("done"))
	l.openFiltered()
	s := l.start("go")
	begun := time.Now()
	l.turns(s, 1, allow)
	if took := time.Since(begun); took > 2*time.Minute {
		t.Errorf("the turn took %s", took)
	}
	l.file("go", "")
	l.eventually("what was left behind goes on", func() bool { return exists(l.path("wrote")) })
	if err := s.Cancel(t.Context(), "test", "test"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if left := l.processes(); len(left) > 0 {
		t.Errorf("alive after the cancel: %v", left)
	}
	l.isCovered(s)
}

func TestInterruptedCommandIsCovered(t *testing.T) {
	needProc(t)
	l := newLab(t)
	l.serve(fakeapi.Use("Bash", object{"command": "sh show.sh; touch shown; sleep 300", "timeout": 6000}), bash("true"), fakeapi.Say("done"), fakeapi.Say("noticed"))
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s)
	if !exists(l.path("shown")) {
		t.Errorf("the command did not run:\n%s", dump(s))
	}
	if err := s.Cancel(t.Context(), "test", "test"); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	if left := l.processes(); len(left) > 0 {
		t.Errorf("alive after the cancel: %v", left)
	}
}

func TestSpilledOutputIsCovered(t *testing.T) {
	l := newLab(t)
	l.serve(bash("i=0; while [ $i -lt 2000 ]; do sh show.sh; i=$((i+1)); done"), bash("i=0; while [ $i -lt 2000 ]; do sh show.sh; i=$((i+1)); done; false"), fakeapi.Say("done"))
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s, "MARK-SHOWN")
	if spilled := holding(t, l.home, strings.Repeat("MARK-SHOWN "+plantedCover+"\n", 1000)); len(spilled) == 0 {
		t.Error("nothing was spilled to disk, so nothing was tested")
	}
}

func TestMcpServerOnStdioIsCovered(t *testing.T) {
	l := newLab(t)
	l.file("~/.claude.json", object{"mcpServers": object{"leaky": object{
		"command": os.Args[0], "args": []string{leakyServer}, "alwaysLoad": true, "env": object{"GORACE": "atexit_sleep_ms=0", "GATEHOUSE_FILTER": "{}"},
	}}})
	l.serve(fakeapi.Use("mcp__leaky__tell", object{}), fakeapi.Use("mcp__leaky__fail", object{}), fakeapi.Say("done"))
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s, "MARK-tell", "MARK-fail")
}

// Settings of the user can name another prefix or another plan; the filter stays,
// or nothing runs.
func TestSettingsDoNotReplaceTheFilter(t *testing.T) {
	for name, env := range map[string]object{
		"prefix": {"CLAUDE_CODE_SHELL_PREFIX": "/usr/bin/env", "GATEHOUSE_FILTER_SUM": "none"},
		"plan":   {"GATEHOUSE_FILTER": "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.file("~/.claude/settings.json", object{"env": env})
			l.serve(bash("sh show.sh; false"), fakeapi.Say("done"))
			l.openFiltered()
			s := l.start("go")
			l.turns(s, 1, allow)
			if name == "prefix" {
				l.isCovered(s, "MARK-SHOWN")
				return
			}
			l.isCovered(s)
			if !l.api.Saw("the command was not run") {
				t.Errorf("the model was not told why:\n%s", dump(s))
			}
		})
	}
}

// A command that replaces the filter, or a cleaner, is undone before the next one.
func TestFilterThatWasReplacedIsRestored(t *testing.T) {
	l := newLab(t)
	links := filepath.Join(filepath.Dir(l.home), "state", "filter")
	l.file("replace.sh", "for f in '"+links+"'/*/*; do rm \"$f\"; printf '#!/bin/sh\\nexec /bin/sh -c \"$1\"\\n' > \"$f\"; chmod +x \"$f\"; done\n")
	l.file("remove.sh", "rm -r '"+links+"'\n")
	l.serve(bash("sh replace.sh"), bash("sh show.sh; false"), bash("sh remove.sh"), bash("sh warn.sh; false"), fakeapi.Say("done"))
	l.openFiltered()
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s, "MARK-SHOWN", "MARK-WARNED")
}

// What the CLI runs for itself does not go through the filter.
func TestKeyHelperWorksUnderTheFilter(t *testing.T) {
	l := newLab(t)
	l.file("~/.claude/settings.json", object{"apiKeyHelper": "echo helped-key"})
	l.serve(bash("sh show.sh; false"), fakeapi.Say("done"))
	l.openFiltered(func(o *engine.Options) {
		for i, kv := range o.Environ {
			if strings.HasPrefix(kv, "ANTHROPIC_API_KEY=") {
				o.Environ[i] = "UNUSED=1"
			}
		}
	})
	s := l.start("go")
	l.turns(s, 1, allow)
	l.isCovered(s, "MARK-SHOWN")
}
