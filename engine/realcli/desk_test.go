package realcli

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// desk is a client of both families of tools over a lab's engine.
type desk struct {
	*lab
	client *mcp.ClientSession
}

// desk connects a client to the lab's engine. The session tools have the options
// of m; the commands of these tests need no approval.
func (l *lab) desk(m mpmserver.Options, change ...func(*mcpserver.Options)) desk {
	l.Helper()
	if m.AllowedTools == nil {
		m.AllowedTools = []string{"Bash(touch *)", "Bash(sleep *)"}
	}
	o := mcpserver.Options{Further: mpmserver.Tools(m)}
	for _, c := range change {
		c(&o)
	}
	there, here := mcp.NewInMemoryTransports()
	server, err := mcpserver.New(l.engine, &o).Connect(l.Context(), there, nil)
	if err != nil {
		l.Fatal(err)
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "realcli", Version: "1"}, nil).Connect(l.Context(), here, nil)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { client.Close(); _ = server.Wait() })
	return desk{l, client}
}

// answer is what a tool said.
type toolAnswer struct {
	object
	failed bool // isError
	err    error
}

// use calls a tool and waits for its answer.
func (d desk) use(tool string, arguments object) toolAnswer {
	d.Helper()
	a := d.ask(tool, arguments)
	if a.err != nil {
		d.Fatalf("%s %v: %v", tool, arguments, a.err)
	}
	return a
}

// ask is use for goroutines of a test.
func (d desk) ask(tool string, arguments object) (a toolAnswer) {
	ctx, cancel := context.WithTimeout(d.Context(), 2*patience)
	defer cancel()
	res, err := d.client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return toolAnswer{err: err}
	}
	if len(res.Content) != 1 {
		return toolAnswer{err: fmt.Errorf("%d blocks of content", len(res.Content))}
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return toolAnswer{err: fmt.Errorf("content %T", res.Content[0])}
	}
	a.failed = res.IsError
	a.err = json.Unmarshal([]byte(text.Text), &a.object)
	return a
}

// begin calls a tool that blocks; the channel gets the answer.
func (d desk) begin(tool string, arguments object) <-chan toolAnswer {
	answers := make(chan toolAnswer, 1)
	go func() { answers <- d.ask(tool, arguments) }() // ends with the call, which the test's end ends
	return answers
}

// good wants an answer of a session tool that says so, with this output.
func (d desk) good(a toolAnswer, output string) string {
	d.Helper()
	id := text(a.object, "session_id")
	if a.failed || a.object["success"] != true || a.object["error"] != nil || text(a.object, "output") != output || id == "" {
		d.Fatalf("answer %s, want the output %q", encoded(a.object), output)
	}
	return id
}

// bad wants the failure of a session tool.
func (d desk) bad(a toolAnswer, kind, message string) {
	d.Helper()
	if !a.failed || a.object["success"] != false || text(a.object, "error_type") != kind || !strings.Contains(text(a.object, "error"), message) {
		d.Errorf("answer %s, want %s with %q", encoded(a.object), kind, message)
	}
	if _, there := a.object["messages"].([]any); !there {
		d.Errorf("answer %s has no messages", encoded(a.object))
	}
	if text(a.object, "session_id") == "" {
		d.Errorf("answer %s names no session", encoded(a.object))
	}
}

// start is a first turn of a session tool that ends well.
func (d desk) start(prompt, output string, more ...object) string {
	d.Helper()
	arguments := object{"prompt": prompt}
	for _, m := range more {
		for name, value := range m {
			arguments[name] = value
		}
	}
	return d.good(d.use("mpm_session_start", arguments), output)
}

// goOn continues a session, or forks it, and returns the id of who answered.
func (d desk) goOn(id, prompt, output string, fork bool) string {
	d.Helper()
	return d.good(d.use("mpm_session_continue", object{"session_id": id, "prompt": prompt, "fork": fork}), output)
}

// status wants a session to have this status and so many messages.
func (d desk) status(id, want string, messages int) {
	d.Helper()
	a := d.use("mpm_session_status", object{"session_id": id})
	if a.failed || a.object["found"] != true || text(a.object, "status") != want || a.object["message_count"] != float64(messages) {
		d.Errorf("status %s, want %s after %d", encoded(a.object), want, messages)
	}
}

// reaches waits until a session has this status.
func (d desk) reaches(want string) (id string) {
	d.Helper()
	d.eventually("a session is "+want, func() bool {
		list, _ := d.use("mpm_session_list", object{"status": want}).object["sessions"].([]any)
		if len(list) > 0 {
			id = text(list[0].(object), "session_id")
		}
		return id != ""
	})
	return id
}

// find is a session of the engine.
func (l *lab) find(id string) *engine.Session {
	l.Helper()
	s, err := l.engine.Find(id)
	if err != nil {
		l.Fatal(err)
	}
	return s
}

// prompted is what the newest request to the model holds.
func (l *lab) prompted() string {
	l.Helper()
	requests := l.api.Requests()
	for _, r := range slices.Backward(requests) {
		if r.Lane == "main" {
			return string(r.Body)
		}
	}
	l.Fatal("the model got no request")
	return ""
}

// remembers wants the newest request to hold some texts, and none of the others.
func (l *lab) remembers(held []string, others ...string) {
	l.Helper()
	body := l.prompted()
	for _, text := range held {
		if !strings.Contains(body, text) {
			l.Errorf("the model was not sent %q", text)
		}
	}
	for _, text := range others {
		if strings.Contains(body, text) {
			l.Errorf("the model was sent %q of another conversation", text)
		}
	}
}

// storing keeps sessions on disk, as the program does.
func (l *lab) storing(o *engine.Options) {
	store, err := journal.Open(journal.Options{Folder: filepath.Join(l.home, "journal")})
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		if err := store.Close(); err != nil {
			l.Error(err)
		}
	})
	o.Store, o.StateDir = store, filepath.Join(l.home, "state")
}

func text(o object, name string) string {
	s, _ := o[name].(string)
	return s
}

func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
