package policy

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What policies are told of a payload is what is in it, however it is written.
func TestOddPayloadsAreTold(t *testing.T) {
	s := load(t, Options{})
	for _, row := range []struct{ name, data, want string }{
		{"escaped names", `{"\u0074ype":"assistant","m\u0065ssage":{"c\u006fntent":[{"t\u0079pe":"tool_use","n\u0061me":"Bash"}]}}`, "assistant tool_use/Bash"},
		{"escaped values", `{"type":"assistant","message":{"content":[{"type":"tool\u005fuse","name":"\u0042ash"}]}}`, "assistant tool_use/Bash"},
		{"a second type that is no text", `{"message":{"content":[{"type":"tool_use","name":"Bash","type":5,"name":null}]}}`, " tool_use/Bash"},
		{"a second type", `{"message":{"content":[{"type":"text","type":"tool_use","name":"Bash"}]}}`, " tool_use/Bash"},
		{"content that is a text", `{"type":"user","message":{"content":"all of it"}}`, "user text/"},
		{"a message that is a text", `{"message":"all of it"}`, " text/"},
		{"text and a list", `{"message":{"content":"all","content":[{"type":"tool_use","name":"Bash"}]}}`, " tool_use/Bash text/"},
		{"blocks within blocks", `{"message":{"content":[{"type":"tool_result","content":[{"type":"image"}]}]}}`, " tool_result/"},
		{"words for blocks", `{"message":{"content":["a",1,null]}}`, " /"},
	} {
		t.Run(row.name, func(t *testing.T) {
			sort := payloadSort{p: event.Payload{Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(row.data)}}
			sort.look()
			doc, err := sort.document(s)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{doc.Event.Subtype}
			for _, b := range doc.Event.Blocks {
				got = append(got, b.Type+"/"+b.Tool)
			}
			if text := strings.Join(got, " "); text != row.want {
				t.Errorf("told %q, want %q", text, row.want)
			}
		})
	}
}

// No two sorts that policies can tell apart have one key.
func TestSortsHaveKeysOfTheirOwn(t *testing.T) {
	block := func(kind, tool string) string {
		b, _ := json.Marshal(map[string]string{"type": kind, "name": tool})
		return string(b)
	}
	message := func(blocks ...string) json.RawMessage {
		return json.RawMessage(`{"message":{"content":[` + strings.Join(blocks, ",") + `]}}`)
	}
	origin := func(taint ...string) *event.Origin { return &event.Origin{SessionID: "s", Taint: taint} }
	keys := map[string]int{}
	for i, p := range []event.Payload{
		{Data: message(block("a", "b"))}, {Data: message(block("a\x00b", ""))}, {Data: message(block("", "a\x00b"))},
		{Data: message(block("a", ""), block("b", ""))}, {Data: message(block("a", "\x001\x00b"))}, {Data: message(block("a", "0"), block("", ""))},
		{Tool: "a"}, {Tool: "a\x00"}, {Kind: event.ToolResult, Tool: "a"}, {Kind: event.ToolResult, Tool: "a", IsError: true},
		{Origin: origin("a:b", "c:d")}, {Origin: origin("a:b\x003\x00c:d")}, {Origin: origin("a:b"), Tool: "c:d"},
		{Origin: &event.Origin{SessionID: "s", Client: "x"}}, {Origin: &event.Origin{SessionID: "s", Subject: "x"}}, {Origin: &event.Origin{SessionID: "s", Transport: "x"}},
		{Origin: &event.Origin{SessionID: "s", Groups: []string{"x"}}}, {Origin: origin("x")}, {Origin: &event.Origin{SessionID: "sx"}}, {Origin: origin()}, {},
	} {
		p.Sink = event.SinkEvent
		if p.Data == nil {
			p.Data = json.RawMessage(`{}`)
		}
		s := payloadSort{p: p}
		s.look()
		key := string(s.key(nil))
		if other, taken := keys[key]; taken {
			t.Errorf("payloads %d and %d have the key %q", other, i, key)
		}
		keys[key] = i
	}
}

// A sort with a long name, such as one with many taints, is remembered as well.
func TestLongSortsAreRemembered(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}})
	ask := func(taint string) int64 {
		before := s.planEvaluations.Load()
		p := event.Payload{Origin: &event.Origin{Taint: []string{strings.Repeat("x", maxSortKey), taint}}, Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{}`)}
		if _, err := s.RedactionPlan(context.Background(), p); err != nil {
			t.Error(err)
		}
		return s.planEvaluations.Load() - before
	}
	if first, again, other := ask("a"), ask("a"), ask("b"); first != 1 || again != 0 || other != 1 {
		t.Errorf("asked %d, %d and %d times, want 1, 0, 1", first, again, other)
	}
}

// One that is late again and again is not waited for at each payload.
func TestLatePlansAreNotAskedAllTheTime(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}, Deadline: time.Nanosecond})
	pl, now := newPlanner(s, RedactorOptions{}), time.Unix(0, 0)
	pl.now = func() time.Time { return now }
	ask := func() (asked int64) {
		before := s.planEvaluations.Load()
		p := event.Payload{Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{}`)}
		if _, _, err := pl.plan(context.Background(), &p); err == nil || !strings.Contains(err.Error(), "took too long") {
			t.Errorf("got %v", err)
		}
		return s.planEvaluations.Load() - before
	}
	for i, step := range []struct {
		after time.Duration
		want  int64
	}{{0, 1}, {0, 1}, {0, 0}, {time.Second / 2, 0}, {time.Second, 1}, {time.Second, 0}, {2 * time.Second, 1}, {time.Hour, 1}, {maxPlanWait - 1, 0}} {
		if now = now.Add(step.after); i == 7 {
			for range 20 { // however often
				now = now.Add(time.Hour)
				ask()
			}
			now = now.Add(time.Hour)
		}
		if got := ask(); got != step.want {
			t.Errorf("step %d: asked %d times, want %d", i, got, step.want)
		}
	}
}

// When others hold the evaluations up, a payload is withheld now, not for good.
func TestStuckPlansComeBack(t *testing.T) {
	s := load(t, Options{Paths: []string{planPolicy(t, edit("a.b", "", `input.event.type == "output"`))}})
	p := event.Payload{Sink: event.SinkEvent, Kind: event.Output, Data: json.RawMessage(`{}`)}
	s.planGuard.stuck.Add(maxStuck)
	if _, err := s.RedactionPlan(context.Background(), p); err == nil || !strings.Contains(err.Error(), "ignore their deadline") {
		t.Errorf("got %v", err)
	}
	s.planGuard.stuck.Add(-maxStuck)
	if _, err := s.RedactionPlan(context.Background(), p); err != nil {
		t.Errorf("got %v", err)
	}
}

// Both names of the tool that starts agents mean it, whichever the CLI uses.
func TestToolsByEitherName(t *testing.T) {
	for _, row := range []struct {
		glob, tool string
		want       bool
	}{{"Task", "Agent", true}, {"Agent", "Task", true}, {"Ta*", "Agent", true}, {"Ag?nt", "Task", true}, {"Task", "Task", true}, {"TaskStop", "Agent", false}, {"Bash", "Agent", false}} {
		s := load(t, Options{Paths: []string{planPolicy(t, `plan contains {"action": "redact", "rule": "a.b", "select": {"tools": ["`+row.glob+`"]}}`)}})
		r := NewRedactor(NewLive(s), RedactorOptions{})
		out, _, err := r.Redact(context.Background(), event.Payload{Sink: event.SinkModel, Kind: event.ToolResult, Tool: row.tool, Data: json.RawMessage(`["said"]`)})
		if covered := string(out) == `["[REDACTED:a.b]"]`; err != nil || covered != row.want {
			t.Errorf("%s for %s: %s, %v", row.glob, row.tool, out, err)
		}
	}
}

// Detectors of the data count without any policy beside them.
func TestDetectorsOfDataAlone(t *testing.T) {
	data := map[string]any{"redaction": map[string]any{"detectors": map[string]any{"ticket": map[string]any{"pattern": "REF-[0-9]{8}"}}}}
	for name, o := range map[string]Options{"user": {Data: data}, "organisation": {OrgData: data}} {
		r := NewRedactor(NewLive(load(t, o)), RedactorOptions{})
		out, _, err := r.Redact(context.Background(), event.Payload{Sink: event.SinkLog, Kind: event.Notice, Data: json.RawMessage(`["REF-12345678"]`)})
		if err != nil || string(out) != `["[REDACTED:ticket]"]` {
			t.Errorf("%s: %s, %v", name, out, err)
		}
	}
	for _, o := range []Options{{Data: map[string]any{"redaction": map[string]any{"detector": []any{}}}}} {
		if _, err := Load(context.Background(), o); err == nil || !strings.Contains(err.Error(), `write "detectors"`) {
			t.Errorf("got %v", err)
		}
	}
	data["redaction"].(map[string]any)["detectors"].(map[string]any)["ticket"] = map[string]any{"patern": "x"}
	for name, o := range map[string]Options{"user": {Data: data}, "organisation": {OrgData: data}} {
		if _, err := Load(context.Background(), o); err == nil || !strings.Contains(err.Error(), `the nearest is "pattern"`) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
