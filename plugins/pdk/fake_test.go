package pdk

import (
	"fmt"
	"strings"
	"testing"
)

// What the host would not count is an error here too.
func TestDoesNotCount(t *testing.T) {
	tests := []struct {
		name, document, message string
		hook                    func() int32
	}{
		{"a code", `{}`, "returned 7", func() int32 { return 7 }},
		{"Fail", `{}`, "returned 1", func() int32 { return Fail("why") }},
		{"a panic", `{}`, "panic: oops", func() int32 { panic("oops") }},
		{"kv not enabled", `{}`, "kv is not enabled", func() int32 { KVDelete("a"); return 0 }},
		{"no object", `[]`, "want a JSON object", func() int32 { return 0 }},
		{"a long reason", `{}`, "at most 4096", func() int32 { return Deny(strings.Repeat("x", 4097)) }},
		{"a reason of bytes", `{}`, "no UTF-8", func() int32 { return Deny("\xff") }},
		{"a verdict on output", `{"hook": "redact"}`, "redact has none", func() int32 { return Deny("x") }},
		{"an annotation on output", `{"hook": "post_tool"}`, "no annotations", func() int32 { AnnotateInt("a", 1); return 0 }},
		{"an annotation that is no JSON", `{}`, "no JSON", func() int32 { Annotate("a", "x"); return 0 }},
		{"an annotation without a key", `{}`, "want keys", func() int32 { Annotate("", "1"); return 0 }},
		{"many annotations", `{}`, "65536 bytes together", func() int32 { AnnotateStr("a", strings.Repeat("x", 65536)); return 0 }},
		{"an output of an event", `{"hook": "session_event"}`, "session_event has none", func() int32 { return Text("x") }},
		{"two outputs", `{}`, "one of at most", func() int32 { Text("x"); return Text("y") }},
		{"an output that is no JSON", `{}`, "no JSON", func() int32 { return Output("x") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := new(Fake).Call(tt.document, tt.hook)
			if call.Err == nil || !strings.Contains(call.Err.Error(), tt.message) {
				t.Errorf("error %v, want one with %q", call.Err, tt.message)
			}
		})
	}
}

func TestTestEndsTheTest(t *testing.T) {
	var tb fatal
	Test(&tb, `{}`, func() int32 { return 1 })
	if !strings.Contains(tb.text, "returned 1") {
		t.Errorf("the test ended with %q", tb.text)
	}
}

type fatal struct{ text string }

func (*fatal) Helper()             {}
func (f *fatal) Fatal(args ...any) { f.text = fmt.Sprint(args...) }

func TestLog(t *testing.T) {
	call := Test(t, `{}`, func() int32 {
		Debug("a")
		Info("b")
		Warn("c")
		Error("d")
		for range maxLogLines {
			Info("more")
		}
		return 0
	})
	if got := strings.Join(call.Log[:4], "|"); got != "debug: a|info: b|warn: c|error: d" || len(call.Log) != maxLogLines {
		t.Errorf("%d lines, the first ones %s", len(call.Log), got)
	}
}

func TestOutsideOfACall(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a document was there outside of a call")
		}
	}()
	Str("/tool_name")
}
