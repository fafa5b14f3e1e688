package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// asker is a CLI that calls a tool, waits for the answer and calls it again.
type asker struct {
	line   json.RawMessage
	left   int
	before func() // each call
	answer chan json.RawMessage
	asked  time.Time
	took   []time.Duration
}

func (a *asker) Read() (json.RawMessage, error) {
	if !a.asked.IsZero() {
		<-a.answer
		a.took = append(a.took, time.Since(a.asked))
	}
	if a.left--; a.left < 0 {
		return nil, io.EOF
	}
	a.before()
	a.asked = time.Now()
	return a.line, nil
}

func (a *asker) Write(line json.RawMessage) error {
	a.answer <- line
	return nil
}

// noLog takes records at once.
type noLog struct{}

func (noLog) Record(context.Context, audit.Record) error { return nil }
func (noLog) Note(audit.Record)                          {}

type findInput struct {
	Text string `json:"text"`
}

// findServer is a server of the go-sdk with one tool.
func findServer() *inproc.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "desk"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "find"}, func(context.Context, *mcp.CallToolRequest, findInput) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strings.Repeat("All tests pass; the parser keeps its table. ", 4)}}}, nil, nil
	})
	return inproc.Serve(server, nil)
}

// BenchmarkGovernedCall is the way of a call of a tool: from the CLI's line to the
// line of the answer.
func BenchmarkGovernedCall(b *testing.B) {
	stub := []permission.InprocDecider{ruling(permission.Allow)}
	set, err := policy.Load(b.Context(), policy.Options{})
	if err != nil {
		b.Fatal(err)
	}
	live := policy.NewLive(set)
	for _, c := range []struct {
		name   string
		server ToolServer
		log    audit.Recorder
		change func(*Options)
	}{
		{"stub/off", &fakeTools{}, nil, func(*Options) {}},
		{"stub/on", &fakeTools{}, noLog{}, func(o *Options) { withPlanted(false)(o); o.Inproc = stub }},
		{"go-sdk/off", findServer(), nil, func(*Options) {}},
		{"go-sdk/on", findServer(), nil, func(o *Options) {
			o.Redactors = []event.Redactor{policy.NewRedactor(live, policy.RedactorOptions{})}
			o.Inproc = []permission.InprocDecider{live}
		}},
		{"go-sdk/audited", findServer(), noLog{}, func(o *Options) {
			o.Redactors = []event.Redactor{policy.NewRedactor(live, policy.RedactorOptions{})}
			o.Inproc = []permission.InprocDecider{live}
		}},
	} {
		b.Run(c.name, func(b *testing.B) { benchmarkGoverned(b, c.server, c.log, c.change) })
	}
}

func benchmarkGoverned(b *testing.B, server ToolServer, log audit.Recorder, change func(*Options)) {
	p := aSession(b, log, func(o *Options) {
		o.Deciders = []permission.Decider{deskGate{}}
		change(o)
	})
	p.session.toolServers = []offeredServer{{"desk", sourceGatehouse, server}}
	input := json.RawMessage(`{"text":"parser"}`)
	message := func(rpc string) json.RawMessage {
		return json.RawMessage(`{"type":"control_request","request_id":"0b54a1a2","request":{"subtype":"mcp_message","server_name":"desk","message":` + rpc + `}}`)
	}
	passed := pass{decision: permission.Decision{Effect: permission.Allow, Rule: "gate.rule"}, agent: ""}
	a := &asker{left: 1, answer: make(chan json.RawMessage, 1), before: func() {}}
	a.line = message(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"2"}}}`)
	serve := func() {
		p.conn = control.NewConn(a, p)
		if err := p.conn.Serve(p.ctx); err != io.EOF {
			b.Fatal(err)
		}
	}
	serve()
	a.line, a.left, a.took, a.asked = message(callMessage(7, "find", string(input), "toolu_1")), b.N, make([]time.Duration, 0, b.N), time.Time{}
	a.before = func() { p.governing.passes.add("toolu_1", "mcp__desk__find", input, passed) }
	b.ReportAllocs()
	b.ResetTimer()
	serve()
	b.StopTimer()
	slices.Sort(a.took)
	b.ReportMetric(float64(a.took[len(a.took)/2].Nanoseconds()), "median-ns")
	if len(p.governing.calls) != 0 || strings.Contains(dumpOf(p.session), "refused") {
		b.Fatal(fmt.Sprint(len(p.governing.calls)), dumpOf(p.session))
	}
	p.end(ended{"process"})
	p.governing.close()
	p.closeLinks()()
}
