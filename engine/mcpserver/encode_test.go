package mcpserver

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func events(list ...event.Event) *[]event.Event {
	list = append([]event.Event{}, list...) // an empty list is no null
	return &list
}

// TestBodyIsTheSameDocument compares the encoding by hand with encoding/json.
func TestBodyIsTheSameDocument(t *testing.T) {
	at := time.Date(2026, 2, 3, 4, 5, 6, 7_000_000, time.UTC)
	next := int64(3)
	several := []event.Event{
		{ID: 1, Type: event.Output, Data: json.RawMessage(`{"a":"<b>&","c":[1,2.50,null]}`), Timestamp: at},
		{ID: 2, Type: event.Notice, Data: json.RawMessage("{\n\t\"a\" : 1\r\n}"), Timestamp: at.Add(time.Nanosecond)},
		{ID: 3, Type: event.Result, Data: json.RawMessage(`{}`), Timestamp: time.Time{}, Redactions: []event.Redaction{{Pointer: "/a<b", Detector: "d", Count: 2}}},
	}
	for name, a := range map[string]answer{
		"no list":    {SessionID: "s", Status: "idle"},
		"empty list": {SessionID: "s", Status: "idle", Events: events(), NextCursor: &next},
		"one":        {SessionID: "s", Status: "running", Events: events(several[0])},
		"several":    {SessionID: "s", Status: "idle", Events: &several, NextCursor: &next, Result: &engine.Result{SessionID: "s", Result: `"events":[]`}},
		"texts before the list that look like it": {
			SessionID: `"events":[]`, Status: `\"events\":[]`, cancellation: cancellation{CancelledReason: `x"events":[]`},
			Events: events(several[2]),
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := encode(a)
			if err != nil {
				t.Fatal(err)
			}
			got, err := body(a)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if a.Events != nil && name == "several" && len(*a.Events) != 3 {
				t.Error("the answer itself was changed")
			}
		})
	}
}

func TestBodyRefusesBrokenPayload(t *testing.T) {
	_, err := body(answer{Events: events(event.Event{Data: json.RawMessage("{\"a\":\n")})})
	if err == nil {
		t.Error("a payload that would break the line is sent")
	}
}

func TestRewrite(t *testing.T) {
	drop := func(name string, value json.RawMessage) (json.RawMessage, bool) {
		if name == "double" {
			return json.RawMessage(`2`), true
		}
		return value, name != "drop"
	}
	for in, want := range map[string]string{
		`{}`:                     `{}`,
		` { "drop" : 1 } `:       `{}`,
		`{"a":1,"drop":2,"b":3}`: `{"a":1,"b":3}`,
		`{"drop":{"a":["}"]},"b":"\"}","double":[1,{"x":"]"}]}`:     `{"b":"\"}","double":2}`,
		"{\"a\" : -1.5e3 ,\n\"b\": [ ] , \"c\":true,\"drop\":null}": `{"a":-1.5e3,"b":[ ],"c":true}`,
		`{"dr\u006fp":1,"a":"\\"}`:                                  `{"a":"\\"}`,
		`[1]`:                                                       `[1]`,
		`null`:                                                      `null`,
	} {
		if got := string(rewrite(json.RawMessage(in), drop)); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

func TestSlimMessage(t *testing.T) {
	in := `{"message":{"id":"m","role":"assistant","usage":{"a":1},"content":[{"type":"thinking","thinking":"x","signature":"` +
		strings.Repeat("s", 100) + `"},{"type":"text","text":"signature","cache_control":{"type":"x"}}],"stop_reason":null},"error":"e"}`
	var got, want any
	if err := json.Unmarshal(slimMessage(json.RawMessage(in)), &got); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal([]byte(`{"message":{"role":"assistant","content":[{"type":"thinking","thinking":"x"},{"type":"text","text":"signature"}],"stop_reason":null},"error":"e"}`), &want)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, odd := range []string{`{}`, `{"message":null}`, `{"message":"text"}`, `{"message":[1]}`, `[]`, `"x"`} {
		if out := string(slimMessage(json.RawMessage(odd))); out != odd {
			t.Errorf("%s became %s", odd, out)
		}
	}
}
