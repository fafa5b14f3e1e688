package mpmserver

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/script"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMain makes the test binary the CLI too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "scripted-cli" {
		os.Exit(script.Main(os.Args[2:], os.Stdin, os.Stdout, os.Stderr))
	}
	// The developer's own MCP servers are not a test's.
	os.Setenv("CLAUDE_CONFIG_DIR", filepath.Join(os.TempDir(), "gatehouse-test-no-config"))
	os.Exit(testleak.Run(m, "cli.init.func"))
}

// patience is how long a test waits for what has to happen.
const patience = 2 * time.Minute

// deciders ask for Bash commands that do not begin with "ok".
type deciders struct{}

func (deciders) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	var in struct{ Command string }
	_ = json.Unmarshal(r.Input, &in)
	if r.Tool != "Bash" || strings.HasPrefix(in.Command, "ok") {
		return permission.Decision{Effect: permission.Allow, Rule: "test.ok", By: "policy"}, nil
	}
	return permission.Decision{Effect: permission.Ask, Rule: "test.ask", Reason: "not known", By: "policy"}, nil
}

func (deciders) Revision() string { return "1" }

// admitter keeps what it is asked, and refuses the actions it names.
type admitter struct {
	mu     sync.Mutex
	deny   map[admission.Action]bool
	plain  bool // what is sensitive is denied
	hooks  map[admission.Action]func()
	starts []admission.Request
}

func (a *admitter) Admit(_ context.Context, r admission.Request) (permission.Decision, error) {
	a.mu.Lock()
	hook := a.hooks[r.Action]
	a.mu.Unlock()
	if hook != nil {
		hook()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Action == admission.Start {
		a.starts = append(a.starts, r)
	}
	if a.deny[r.Action] || a.plain && r.Sensitive {
		return permission.Decision{Effect: permission.Deny, Rule: "test.refused", Reason: "not here"}, nil
	}
	return permission.Decision{Effect: permission.Allow, Rule: "test.admit"}, nil
}

// when runs f at each decision on an action, before it.
func (a *admitter) when(action admission.Action, f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hooks = map[admission.Action]func(){action: f}
}

func (a *admitter) refuse(actions ...admission.Action) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deny = map[admission.Action]bool{}
	for _, action := range actions {
		a.deny[action] = true
	}
}

func (a *admitter) started() []admission.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]admission.Request{}, a.starts...)
}

const secret = "UNSHOWN-VALUE"

// cover covers one value everywhere.
type cover struct{}

func (cover) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	n := strings.Count(string(p.Data), secret)
	if n == 0 {
		return p.Data, nil, nil
	}
	return json.RawMessage(strings.ReplaceAll(string(p.Data), secret, "[x]")), []event.Redaction{{Pointer: "/p", Detector: "d", Count: n}}, nil
}

// rig is a server with both families over an engine whose CLI plays a scenario.
type rig struct {
	t      *testing.T
	engine *engine.Engine
	server *mcp.Server
	admit  *admitter
	root   string
	*client
}

// client is one connection.
type client struct {
	*mcp.ClientSession
	t *testing.T

	mu       sync.Mutex
	progress []string
	totals   []float64
}

type setup struct {
	scenario string
	engine   func(*engine.Options)
	tools    Options
}

func serve(t *testing.T, s setup) *rig {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "scenario.json")
	if err := os.WriteFile(file, []byte(s.scenario), 0o600); err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, admit: &admitter{}, root: root}
	o := engine.Options{
		Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file},
		Roots: []string{root}, TempDir: t.TempDir(),
		Deciders: []permission.Decider{deciders{}}, Admission: []admission.Decider{r.admit}, Redactors: []event.Redactor{cover{}},
	}
	if s.engine != nil {
		s.engine(&o)
	}
	if r.engine, err = engine.New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	r.server = mcpserver.New(r.engine, &mcpserver.Options{Further: Tools(s.tools)})
	r.client = r.connect()
	return r
}

func (r *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.engine.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
}

func (r *rig) connect() *client {
	r.t.Helper()
	there, here := mcp.NewInMemoryTransports()
	return r.connectOver(there, here)
}

func (r *rig) connectOver(there, here mcp.Transport) *client {
	r.t.Helper()
	c := &client{t: r.t}
	server, err := r.server.Connect(r.t.Context(), there, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	c.ClientSession, err = mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, p *mcp.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress, c.totals = append(c.progress, p.Params.Message), append(c.totals, p.Params.Total)
		},
	}).Connect(r.t.Context(), here, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close(); server.Wait() })
	return c
}

// use calls a tool and returns its answer, which is one text block of JSON.
func (c *client) use(tool, args string) (map[string]any, bool) {
	c.t.Helper()
	m, isError, err := c.call(c.t.Context(), tool, args)
	if err != nil {
		c.t.Fatalf("%s %s: %v", tool, args, err)
	}
	return m, isError
}

func (c *client) call(ctx context.Context, tool, args string) (map[string]any, bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	p := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	p.SetProgressToken("token")
	res, err := c.CallTool(ctx, p)
	if err != nil {
		return nil, false, err
	}
	if len(res.Content) != 1 || res.StructuredContent != nil && strings.HasPrefix(tool, "mpm_") {
		c.t.Errorf("%s: %d blocks, structured %v", tool, len(res.Content), res.StructuredContent)
	}
	text := res.Content[0].(*mcp.TextContent).Text
	if strings.Contains(text, secret) {
		c.t.Errorf("%s: the answer holds the secret", tool)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		c.t.Errorf("%s: %v in %.300s", tool, err, text)
	}
	return m, res.IsError, nil
}

// must calls a tool that has to succeed.
func (c *client) must(tool, args string) map[string]any {
	c.t.Helper()
	m, isError := c.use(tool, args)
	if isError {
		c.t.Fatalf("%s %s: %v", tool, args, m)
	}
	return m
}

// later is a call in the background.
type later struct {
	m       map[string]any
	isError bool
	err     error
	done    chan struct{}
}

func (c *client) background(ctx context.Context, tool, args string) *later {
	l := &later{done: make(chan struct{})}
	go func() { // ends with the call
		defer close(l.done)
		l.m, l.isError, l.err = c.call(ctx, tool, args)
	}()
	return l
}

func (l *later) wait(t *testing.T) (map[string]any, bool) {
	t.Helper()
	<-l.done
	if l.err != nil {
		t.Fatal(l.err)
	}
	return l.m, l.isError
}

// until waits for what has to become true.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still not: %s", what)
		}
	}
}

// one waits for n sessions of a status and returns the first one's id.
func (r *rig) one(status string, n int) string {
	r.t.Helper()
	id := ""
	until(r.t, status, func() bool {
		list := r.must("mpm_session_list", `{"status":"`+status+`"}`)["sessions"].([]any)
		if len(list) != n {
			return false
		}
		id = list[0].(map[string]any)["session_id"].(string)
		return true
	})
	return id
}

// status is what mpm_session_status says.
func (r *rig) status(id string) map[string]any {
	r.t.Helper()
	return r.must("mpm_session_status", `{"session_id":"`+id+`"}`)
}

// serveTools connects to a server over the same engine with other options.
func (r *rig) serveTools(o Options) {
	r.server = mcpserver.New(r.engine, &mcpserver.Options{Further: Tools(o)})
	r.client = r.connect()
}

func mkdirs(t *testing.T, root string, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}
