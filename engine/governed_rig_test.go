package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// fakeTools is a tool server made by hand.
type fakeTools struct {
	answer func(id, message string) string // "" keeps the call waiting; nil: a plain result

	mu      sync.Mutex
	got     []string
	waiting map[string]func(json.RawMessage) // by id
}

const plainResult = `{"content":[{"type":"text","text":"done"}]}`

func (f *fakeTools) Connect(string, func(json.RawMessage) error) (ToolLink, error) { return f, nil }
func (f *fakeTools) Close(context.Context) error                                   { return nil }

func (f *fakeTools) Deliver(message json.RawMessage, reply func(json.RawMessage)) {
	id, _ := rpcHead(message)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, string(message))
	response := string(rpcResult(id, json.RawMessage(plainResult)))
	if f.answer != nil {
		response = f.answer(string(id), string(message))
	}
	if response == "" {
		if f.waiting == nil {
			f.waiting = make(map[string]func(json.RawMessage))
		}
		f.waiting[string(id)] = reply
		return
	}
	go reply(json.RawMessage(response)) // ends with what the engine does at once
}

func (f *fakeTools) delivered() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.got...)
}

func (f *fakeTools) ran(part string) bool {
	return strings.Contains(strings.Join(f.delivered(), "\n"), part)
}

// wire is what the engine writes to the CLI.
type wire struct {
	mu    sync.Mutex
	lines []string
}

func (*wire) Read() (json.RawMessage, error) { return nil, io.EOF }

func (w *wire) Write(line json.RawMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, string(line))
	return nil
}

func (w *wire) wrote(part string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Contains(strings.Join(w.lines, "\n"), part)
}

// inprocRig is a process with the tool server "desk", and a gate that lets its tools
// pass but those named ask….
type inprocRig struct {
	*process
	t     testing.TB
	tools *fakeTools
	log   *fakeLog
	wire  *wire
}

func newInprocRig(t testing.TB, change func(*Options)) inprocRig {
	r := inprocRig{t: t, tools: &fakeTools{}, log: &fakeLog{}, wire: &wire{}}
	r.process = aSession(t, r.log, func(o *Options) {
		o.Deciders = []permission.Decider{deskGate{}}
		if change != nil {
			change(o)
		}
	})
	r.session.toolServers = []offeredServer{{"desk", sourceGatehouse, r.tools}}
	r.conn = control.NewConn(r.wire, r.process)
	t.Cleanup(func() {
		r.end(ended{"process"})
		r.governing.close()
	})
	return r
}

// deskGate decides by the name of the tool.
type deskGate struct{}

func (deskGate) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Allow, Rule: "gate.rule", Revision: "g1"}
	_, tool, _ := strings.Cut(r.Tool, "mcp__desk__")
	switch {
	case strings.HasPrefix(tool, "ask"):
		d.Effect = permission.Ask
	case strings.HasPrefix(tool, "change") && !strings.Contains(string(r.Input), "changed"):
		d.Effect, d.UpdatedInput = permission.Modify, json.RawMessage(`{"a":"changed"}`)
	case strings.HasPrefix(tool, "withhold"):
		d.Obligations = []permission.Obligation{{Kind: "redact_result"}}
	case strings.HasPrefix(tool, "limit"):
		d.Obligations = []permission.Obligation{{Kind: "limit_output", Args: map[string]any{"bytes": 4}}}
	case strings.HasPrefix(tool, "plugin"):
		d.Obligations = []permission.Obligation{{Kind: "run_plugin", Args: map[string]any{"name": "scan"}}}
	}
	return d, nil
}

func (deskGate) Revision() string { return "g1" }

// gate has the CLI ask about a call, whose tool_use id is toolu_1.
func (r inprocRig) gate(tool, input string) string {
	r.t.Helper()
	return r.answered(r.t, askFor("mcp__desk__"+tool, input), nil)
}

func callMessage(id int, tool, input, toolUse string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"claudecode/toolUseId":%q,"progressToken":%d}}}`, id, tool, input, toolUse, id)
}

// send hands a message over; the answer comes once.
func (r inprocRig) send(message string) <-chan string {
	out := make(chan string, 16)
	r.governed(context.Background(), "desk", r.tools, json.RawMessage(message), func(response json.RawMessage) { out <- string(response) })
	return out
}

func (r inprocRig) wait(out <-chan string) string {
	r.t.Helper()
	select {
	case answer := <-out:
		return answer
	case <-time.After(2 * time.Minute):
		r.t.Fatalf("no answer:\n%s", dumpOf(r.session))
	}
	return ""
}

// call is a call with the id 7 of toolu_1.
func (r inprocRig) call(tool, input string) string {
	r.t.Helper()
	return r.wait(r.send(callMessage(7, tool, input, "toolu_1")))
}

// passing notes an allow of the gate for a call.
func (r inprocRig) passing(server, tool, input, toolUse string) {
	how := pass{decision: permission.Decision{Effect: permission.Allow, Rule: "gate.rule"}, agent: "a1"}
	r.governing.passes.add(toolUse, "mcp__"+server+"__"+tool, json.RawMessage(input), how)
}

// sendPassed sends a call of toolu_1 that passed the gate.
func (r inprocRig) sendPassed(id int, tool, input string) <-chan string {
	r.passing("desk", tool, input, "toolu_1")
	return r.send(callMessage(id, tool, input, "toolu_1"))
}

// callPassed is call after it passed the gate.
func (r inprocRig) callPassed(tool, input string) string {
	r.t.Helper()
	return r.wait(r.sendPassed(7, tool, input))
}

// judging is a decider made of a function.
type judging func(context.Context, permission.InprocRequest) permission.Decision

func (j judging) Inproc(ctx context.Context, r permission.InprocRequest) permission.Decision {
	return j(ctx, r)
}

// ruling decides calls, and lets all results pass.
func ruling(e permission.Effect) judging {
	return func(_ context.Context, r permission.InprocRequest) permission.Decision {
		if r.Phase == permission.PhaseResult {
			return permission.Decision{Effect: permission.Allow, Rule: "results"}
		}
		return permission.Decision{Effect: e, Rule: "own." + e.String(), Reason: "it was so decided", Revision: "i1"}
	}
}

// planted covers one made-up secret, wherever it stands.
type planted struct{ broken bool }

var plantedSecret = "sk-" + "planted" + strings.Repeat("7", 12)

func (c planted) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if c.broken && p.Sink == event.SinkModel {
		return nil, nil, io.ErrUnexpectedEOF
	}
	n := strings.Count(string(p.Data), plantedSecret)
	if n == 0 {
		return p.Data, nil, nil
	}
	return json.RawMessage(strings.ReplaceAll(string(p.Data), plantedSecret, "[REDACTED:planted]")), []event.Redaction{{Detector: "planted", Count: n}}, nil
}

func withPlanted(broken bool) func(*Options) {
	return func(o *Options) { o.Redactors = []event.Redactor{planted{broken}} }
}
