package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// eventPayload is an event of 400 bytes in a session as they are.
func eventPayload() event.Payload {
	text := strings.Repeat("All tests pass; the parser keeps its table. ", 7)[:280]
	return event.Payload{
		Origin: &event.Origin{
			SessionID: "0b54a1a2-6f0a-4a76-9f3c-3f0e6c1d2b11", Cwd: "/srv/project", Mode: "default", Model: "sonnet",
			Taint: []string{"read:private"}, Client: "editor", Transport: "stdio",
		},
		Sink: event.SinkEvent, Kind: event.Output,
		Data: json.RawMessage(`{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"` + text + `"}],"stop_reason":null},"parent_tool_use_id":null}`),
	}
}

// redactors are one whose policies have a say, and one whose have none.
func redactors(t testing.TB) map[string]*Redactor {
	rules := edit("team.crm", `, "select": {"tools": ["mcp__crm__*"]}`, `some b in input.event.blocks; startswith(b.tool, "mcp__crm__")`)
	return map[string]*Redactor{
		"dev":    NewRedactor(NewLive(load(t, Options{})), RedactorOptions{}),
		"locked": NewRedactor(NewLive(load(t, Options{Profile: "locked", Paths: []string{planPolicy(t, rules)}})), RedactorOptions{}),
	}
}

func TestCleanEventsAllocateNothing(t *testing.T) {
	p := eventPayload()
	for name, r := range redactors(t) {
		n := testing.AllocsPerRun(200, func() {
			if out, found, err := r.Redact(context.Background(), p); err != nil || found != nil || len(out) != len(p.Data) {
				t.Fatalf("%s: %s, %v, %v", name, out, found, err)
			}
		})
		if n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// BenchmarkRedactionClean is the way of a clean event of 400 bytes whose plan is
// remembered.
func BenchmarkRedactionClean(b *testing.B) {
	p := eventPayload()
	for name, r := range redactors(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(p.Data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, found, err := r.Redact(context.Background(), p); err != nil || found != nil {
					b.Fatal(found, err)
				}
			}
		})
	}
}

// BenchmarkRedactionMiss asks the policies about sorts that are not remembered.
func BenchmarkRedactionMiss(b *testing.B) {
	r, p := redactors(b)["locked"], eventPayload()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		o := *p.Origin
		o.SessionID = fmt.Sprint(i)
		p.Origin = &o
		if _, err := r.Spec(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
}
