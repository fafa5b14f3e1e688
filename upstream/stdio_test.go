package upstream

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

func TestProgram(t *testing.T) {
	s, log := open(t, programConfig(t, "banner"))
	c := connectTo(t, s, "s1")
	want(t, "initialize", c.start(), `"instructions":"Ask [secret] first."`, `"name":"fake"`)
	if tools := c.tools(); !has(tools, "echo") || has(tools, "fresh") {
		t.Errorf("tools: %v", tools)
	}
	for _, tt := range []struct {
		tool, arguments string
		want            []string
	}{
		{"echo", `{"a":[1,2.50,"x"]}`, []string{`{\"a\":[1,2.50,\"x\"]}`}},
		{"leak", `{}`, []string{`{"[secret]":["[secret]"],"n":12345678901234567890}`}},
		{"fail", `{}`, []string{`"isError":true`, `MCP server \"fake\", tool \"fail\": no access with [secret]`}},
		{"odd-result", `{}`, []string{`"isError":true`, "no result of a tool"}},
		{"ask", `{}`, []string{"-32601", "elicitation/create"}},
		{"nobody", `{}`, []string{"-32602"}},
	} {
		got := c.callTool(tt.tool, tt.arguments)
		want(t, tt.tool, got, tt.want...)
		for _, part := range []string{"7f3a9", `\u0074\u006f`, "_meta", "dG9r"} {
			if strings.Contains(got, part) {
				t.Errorf("%s: %q is in %s", tt.tool, part, got)
			}
		}
	}
	want(t, "log", log.String(), "no message of MCP", "elicitation/create", "[secret]")
}

// A command gets what is named for it, and of ours only what any program needs.
func TestEnvironment(t *testing.T) {
	t.Setenv("OURS_ALONE", "1")
	t.Setenv("LANG", "C.UTF-8")
	c := programConfig(t, "ok")
	c.Env["MORE"] = is("things")
	c.Env["HOME"] = is("elsewhere")
	s, _ := open(t, c)
	l := connectTo(t, s, "s1")
	l.start()
	got := l.callTool("env", `{}`)
	want(t, "environment", got, "LANG=C.UTF-8", "TOKEN=[secret]", "MORE=[secret]", "HOME=[secret]", "PATH=")
	for _, part := range []string{"OURS_ALONE", "HOME=" + os.Getenv("HOME") + `\n`} {
		if strings.Contains(got, part) {
			t.Errorf("%q is in %s", part, got)
		}
	}
}

func TestSharedAndOwn(t *testing.T) {
	for _, own := range []bool{false, true} {
		c := programConfig(t, "ok")
		c.PerSession = own
		s, _ := open(t, c)
		a, b, again := connectTo(t, s, "a"), connectTo(t, s, "b"), connectTo(t, s, "a")
		pids := make(map[string]bool)
		for _, l := range []*session{a, b, again} {
			l.start()
			pids[textOf(t, l.callTool("pid", `{}`))] = true
		}
		if n := len(pids); own && n != 2 || !own && n != 1 {
			t.Errorf("own %v: three links of two sessions made %d processes", own, n)
		}
		if !own {
			continue
		}
		pid, _ := strconv.Atoi(textOf(t, b.callTool("pid", `{}`)))
		b.close()
		mustBeGone(t, pid)
		if got := a.callTool("echo", `{}`); strings.Contains(got, "isError") {
			t.Errorf("the other's end is felt: %s", got)
		}
	}
}

func TestEndOfAll(t *testing.T) {
	c := programConfig(t, "ok")
	registry, err := cli.OpenRegistry(filepath.Join(t.TempDir(), "processes"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(c, Options{Processes: registry})
	if err != nil {
		t.Fatal(err)
	}
	l := connectTo(t, s, "a")
	l.start()
	pid, _ := strconv.Atoi(textOf(t, l.callTool("pid", `{}`)))
	_, hanging := l.send("tools/call", `{"name":"hang","arguments":{}}`)
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	want(t, "a call that was under way", l.await(hanging), `"isError":true`, `MCP server \"fake\"`)
	want(t, "a call afterwards", l.callTool("echo", `{}`), `"isError":true`, "it is closed")
	mustBeGone(t, pid)
	if _, err := s.Connect("b", nil); err == nil {
		t.Error("a link of a closed server")
	}
	if err := registry.Close(); err != nil {
		t.Error(err)
	}
}

func TestCrash(t *testing.T) {
	s, log := open(t, programConfig(t, "ok"))
	l := connectTo(t, s, "a")
	l.start()
	_, other := l.send("tools/call", `{"name":"hang","arguments":{}}`)
	for _, got := range []string{l.callTool("crash", `{}`), l.await(other)} {
		want(t, "call", got, `"isError":true`, "exit status 7", "panic: token [secret] is bad")
	}
	want(t, "the next call", l.callTool("echo", `{"n":1}`), `{\"n\":1}`)
	want(t, "log", log.String(), "first line", "panic: token [secret] is bad")
}

func TestCrashAtStart(t *testing.T) {
	s, _ := open(t, programConfig(t, "crash-at-start"))
	l := connectTo(t, s, "a")
	l.start()
	if tools := l.tools(); len(tools) != 0 {
		t.Errorf("tools: %v", tools)
	}
	_, err := s.Tools(t.Context())
	if err == nil {
		t.Fatal("a look at a server that does not start worked")
	}
	want(t, "look", err.Error(), `mcp server "fake"`, "exit status 3", "no licence for [secret]")
}

func TestTimeouts(t *testing.T) {
	c := programConfig(t, "ok")
	c.Timeout = 300 * time.Millisecond
	s, _ := open(t, c)
	l := connectTo(t, s, "a")
	l.start()
	for _, tool := range []string{"hang", "wrong-id"} {
		want(t, tool, l.callTool(tool, `{}`), `"isError":true`, `MCP server \"fake\", tool \"`+tool+`\"`, "300ms")
	}
	want(t, "after that", l.callTool("pid", `{}`), "content")

	c = programConfig(t, "hang-at-initialize")
	c.StartTimeout = 300 * time.Millisecond
	s, _ = open(t, c)
	l = connectTo(t, s, "a")
	l.start()
	if tools := l.tools(); len(tools) != 0 {
		t.Errorf("tools: %v", tools)
	}
	_, err := s.Tools(t.Context())
	if err == nil || !strings.Contains(err.Error(), "within 300ms") {
		t.Errorf("look: %v", err)
	}
}

// A program that does not read holds up no answer, and is ended in the end.
func TestDeaf(t *testing.T) {
	t.Parallel()
	c := programConfig(t, "deaf")
	c.Timeout = 100 * time.Millisecond
	s, log := open(t, c)
	l := connectTo(t, s, "a")
	l.start()
	large := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	var answers []chan string
	for range 3 {
		_, answer := l.send("tools/call", `{"name":"echo","arguments":`+large+`}`)
		answers = append(answers, answer)
	}
	for _, answer := range answers {
		want(t, "call", l.await(answer), "no answer within 100ms")
	}
	if strings.Contains(log.String(), "down") {
		t.Errorf("the answers came after its end: %s", log)
	}
	waitFor(t, "it is left", func() bool { return strings.Contains(log.String(), "mcp server: down") })
	waitFor(t, "it is started again", func() bool { return strings.Count(log.String(), "mcp server: connected") > 1 })
}

// Close leaves nothing, also of a program that does not end by itself.
func TestCloseKills(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "processes")
	registry, err := cli.OpenRegistry(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(programConfig(t, "deaf"), Options{Processes: registry})
	if err != nil {
		t.Fatal(err)
	}
	l := connectTo(t, s, "a")
	l.start()
	l.tools()
	entries, err := cli.ReadRegistry(path)
	if err != nil || len(entries) != 1 {
		t.Fatalf("registry: %v, %v", entries, err)
	}
	s.rush() // as when half of the time is over
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	mustBeGone(t, entries[0].PID)
	if err := registry.Close(); err != nil {
		t.Error(err)
	}
}

// Links of servers that do not come are not held again, whatever the server does.
func TestAbsent(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"hang-at-initialize", "hang-at-list", "crash-at-start"} {
		for _, own := range []bool{false, true} {
			c := programConfig(t, mode)
			c.StartTimeout, c.PerSession = 100*time.Millisecond, own
			s, _ := open(t, c)
			l := connectTo(t, s, "a")
			l.start()
			if n := len(l.tools()); n != 0 {
				t.Errorf("%s: %d tools", mode, n)
			}
			waitFor(t, "the first attempt is over", s.absent.Load)
			for _, id := range []string{"a", "b"} {
				if l := connectTo(t, s, id).link.(*link); l.holding {
					t.Errorf("%s, one for each session %v: a link of session %s waits again", mode, own, id)
				}
			}
		}
	}
}

func TestCancelled(t *testing.T) {
	notes := filepath.Join(t.TempDir(), "notes")
	c := programConfig(t, "ok")
	c.Env["NOTES"] = is(Secret(notes))
	s, _ := open(t, c)
	l := connectTo(t, s, "a")
	l.start()
	id, answer := l.send("tools/call", `{"name":"slow","arguments":{}}`)
	waitFor(t, "the call runs", func() bool { raw, _ := os.ReadFile(notes); return string(raw) == "begun" })
	l.notify("notifications/cancelled", `{"requestId":`+strconv.Itoa(id)+`,"reason":"enough"}`)
	l.await(answer)
	waitFor(t, "the server was told", func() bool { raw, _ := os.ReadFile(notes); return string(raw) == "cancelled" })
}

func TestChangedTools(t *testing.T) {
	c := programConfig(t, "ok")
	s, _ := open(t, c)
	l, other := connectTo(t, s, "a"), connectTo(t, s, "b")
	l.start()
	other.start()
	if has(l.tools(), "fresh") {
		t.Error("it is there already")
	}
	l.callTool("change", `{}`)
	for _, one := range []*session{l, other} {
		waitFor(t, "the session is told", func() bool { return one.pushes("tools/list_changed") > 0 })
		if tools := one.tools(); !has(tools, "fresh") || has(tools, "echo") {
			t.Errorf("tools: %v", tools)
		}
	}
}

// A server that floods is left, and started again for who still wants it.
func TestFloods(t *testing.T) {
	s, _ := open(t, programConfig(t, "ok"))
	l := connectTo(t, s, "a")
	l.start()
	for tool, text := range map[string]string{"flood": "more than 100 messages", "bytes": "more than 8 MiB", "big": "more than 8 MiB", "deep": "deeper than 200"} {
		pid, _ := strconv.Atoi(textOf(t, l.callTool("pid", `{}`)))
		want(t, tool, l.callTool(tool, `{}`), `"isError":true`, text)
		mustBeGone(t, pid)
	}
	for mode, text := range map[string]string{"endless-line": "more than 8 MiB", "unknown-version": "1999-01-01"} {
		s, _ := open(t, programConfig(t, mode))
		if _, err := s.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q in it", mode, err, text)
		}
	}
}

func TestToolsOfServers(t *testing.T) {
	c := programConfig(t, "odd-tools")
	c.Tools = []string{"good", "l*t", "zero"}
	s, log := open(t, c)
	tools, err := s.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var offered []string
	reasons := make(map[string]string)
	for _, tool := range tools {
		if tool.Offered {
			offered = append(offered, tool.Name+": "+tool.Description)
		} else {
			reasons[tool.Name] += tool.LeftOut + "; "
		}
	}
	if got := strings.Join(offered, ", "); got != "good: Good., last: Last.\nReally." {
		t.Errorf("offered: %q", got)
	}
	for name, reason := range map[string]string{
		"good": "another tool", "bad name": "does not match", "zero": "invisible", "bidi": "invisible", "long": "16385 bytes",
		"schema": "at most 262144", "none": "no schema", "array": "no schema", "": "no object", "hints": "annotations",
	} {
		if !strings.Contains(reasons[name], reason) {
			t.Errorf("%q: %q, want %q in it", name, reasons[name], reason)
		}
	}
	l := connectTo(t, s, "a")
	l.start()
	list := l.ask("tools/list", `{}`)
	want(t, "list", list, `"anthropic/maxResultSizeChars":5000`, `"readOnlyHint":true`)
	if strings.Contains(list, "other") || strings.Contains(list, "zero") {
		t.Errorf("list: %s", list)
	}
	want(t, "log", log.String(), "a tool is left out", "invisible")

	for mode, most := range map[string]int{"many-tools": maxTools, "endless-pages": maxPages} {
		s, _ := open(t, programConfig(t, mode))
		if tools, err := s.Tools(t.Context()); err != nil || len(tools) != most {
			t.Errorf("%s: %d tools, %v; want %d", mode, len(tools), err, most)
		}
	}
}

func TestSourceFails(t *testing.T) {
	c := programConfig(t, "ok")
	c.Env["OTHER"] = func() (Secret, error) { return "", errors.New("the file is not there") }
	s, _ := open(t, c)
	if _, err := s.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "environment variable OTHER: the file is not there") {
		t.Errorf("a source that fails: %v", err)
	}
	c.Env["OTHER"] = is(token + "\x00")
	s, _ = open(t, c)
	if _, err := s.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "OTHER: its value holds") || strings.Contains(err.Error(), "tok-") {
		t.Errorf("a value with a zero byte: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Tools(ctx); err == nil {
		t.Error("a look after its end")
	}
}
