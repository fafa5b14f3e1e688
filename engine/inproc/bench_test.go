package inproc

import (
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func benchLink(b *testing.B, unchecked bool) Link {
	s := NewToolSet("set", "1", "", nil)
	err := s.Replace([]Tool{{
		Name: "echo", Unchecked: unchecked,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string","maxLength":1000},"times":{"type":"integer","minimum":1}},"required":["text"]}`),
		Call: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(`{"content":[{"type":"text","text":"a result of one line"}]}`), nil
		},
	}})
	if err != nil {
		b.Fatal(err)
	}
	return dialForBench(b, s)
}

func dialForBench(b *testing.B, s interface {
	Connect(string, func(json.RawMessage) error) (Link, error)
}) Link {
	return dial(b, s, "s").handshake().link
}

// bench calls once after the other.
func bench(b *testing.B, link Link, tool string) {
	answer := make(chan struct{})
	reply := func(json.RawMessage) { answer <- struct{}{} }
	message := json.RawMessage(toolCall(1, tool, `{"text":"a few words","times":3}`))
	median(b, func() {
		link.Deliver(message, reply)
		<-answer
	})
}

// median leaves out what the collector and other programs take.
func median(b *testing.B, call func()) {
	var took []time.Duration
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		call()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "median-ns")
}

// BenchmarkCall is the way of a message through a server: from Deliver to reply.
func BenchmarkCall(b *testing.B) {
	b.Run("typed", func(b *testing.B) { bench(b, dialForBench(b, Serve(benchServer(), nil)), "bench") })
	b.Run("toolset", func(b *testing.B) { bench(b, benchLink(b, false), "echo") })
	b.Run("unchecked", func(b *testing.B) { bench(b, benchLink(b, true), "echo") })
}

// BenchmarkCallParallel has several calls under way on one link.
func BenchmarkCallParallel(b *testing.B) {
	link := benchLink(b, true)
	ids := make(chan int, 32)
	for id := range cap(ids) {
		ids <- id + 1
	}
	b.ReportAllocs()
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		answer := make(chan struct{})
		reply := func(json.RawMessage) { answer <- struct{}{} }
		id := <-ids
		message := json.RawMessage(toolCall(strconv.Itoa(id), "echo", `{"text":"a few words","times":3}`))
		for pb.Next() {
			link.Deliver(message, reply)
			<-answer
		}
		ids <- id
	})
}

type benchArgs struct {
	Text  string `json:"text"`
	Times int    `json:"times"`
}

func benchServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "b", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "bench"}, func(context.Context, *mcp.CallToolRequest, benchArgs) (*mcp.CallToolResult, any, error) {
		return say("a result of one line"), nil, nil
	})
	return server
}

// bare is a transport that does nothing else.
type bare struct {
	in  chan jsonrpc.Message
	out chan struct{}
}

func (b *bare) Connect(context.Context) (mcp.Connection, error)  { return b, nil }
func (b *bare) Write(_ context.Context, m jsonrpc.Message) error { b.out <- struct{}{}; return nil }
func (b *bare) Close() error                                     { return nil }
func (b *bare) SessionID() string                                { return "" }
func (b *bare) Read(context.Context) (jsonrpc.Message, error) {
	if m, ok := <-b.in; ok {
		return m, nil
	}
	return nil, io.EOF
}

// BenchmarkBare is the part of BenchmarkCall/typed that is the go-sdk's own.
func BenchmarkBare(b *testing.B) {
	wire := &bare{make(chan jsonrpc.Message, 1), make(chan struct{}, 1)}
	session, err := benchServer().Connect(b.Context(), wire, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { close(wire.in); session.Wait() }()
	call := func(text string) {
		m, err := jsonrpc.DecodeMessage([]byte(text))
		if err != nil {
			b.Fatal(err)
		}
		wire.in <- m
		<-wire.out
	}
	call(hello)
	message := toolCall(1, "bench", `{"text":"a few words","times":3}`)
	median(b, func() { call(message) })
}
