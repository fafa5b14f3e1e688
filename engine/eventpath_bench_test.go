package engine

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/control"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// lines is a CLI that says the same line n times.
type lines struct {
	line json.RawMessage
	n    int
}

func (l *lines) Read() (json.RawMessage, error) {
	if l.n--; l.n < 0 {
		return nil, io.EOF
	}
	return l.line, nil
}

func (*lines) Write(json.RawMessage) error { return nil }

// deaf takes messages and does nothing: what is left is the decoding.
type deaf struct{}

func (deaf) HandleRequest(context.Context, control.Request) (any, error) {
	return nil, nil
}
func (deaf) HandleInOrder(context.Context, control.Request, func(any, error)) bool {
	return false
}
func (deaf) HandleMessage(context.Context, string, map[string]json.RawMessage) {}
func (deaf) HandleNoise(context.Context, string)                               {}
func (deaf) HandleUnanswered(context.Context, string)                          {}

// assistantLine is a clean message of about 400 bytes as the CLI writes it.
func assistantLine() json.RawMessage {
	text := strings.Repeat("All tests pass; the parser keeps its table. ", 4)
	return json.RawMessage(`{"type":"assistant","message":{"id":"msg_01","type":"message","role":"assistant","model":"sonnet","content":[{"type":"text","text":"` +
		text + `"}],"stop_reason":null},"parent_tool_use_id":null,"session_id":"0b54a1a2-6f0a-4a76-9f3c-3f0e6c1d2b11"}`)
}

// BenchmarkEventPath is the whole way of an event of 400 bytes on one session:
// decoded, its plan looked up, searched, appended; beside it the decoding alone.
func BenchmarkEventPath(b *testing.B) {
	set, err := policy.Load(b.Context(), policy.Options{})
	if err != nil {
		b.Fatal(err)
	}
	e, err := New(Options{Roots: []string{b.TempDir()}, Redactors: []event.Redactor{policy.NewRedactor(policy.NewLive(set), policy.RedactorOptions{})}})
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.Background())
	p := &process{session: e.newSession(StartParams{}, ""), tasks: map[string]struct{}{}, inited: make(chan struct{})}
	for name, h := range map[string]control.Handler{"whole": p, "decode": deaf{}} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(assistantLine())))
			if err := control.NewConn(&lines{assistantLine(), b.N}, h).Serve(b.Context()); err != io.EOF {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
	if page := p.session.Events(nil, 1); len(page.Events) != 1 || len(page.Events[0].Data) < 300 {
		b.Fatalf("nothing was appended: %+v", page)
	}
}
