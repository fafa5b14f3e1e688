package pdk

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// edited is a document of redact.
const edited = `{"hook": "redact", "payload": {"a": "üb", "n": 12}}`

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
		{"an annotation with a key of its own", `{}`, "want a key of letters", func() int32 { AnnotateInt("a b", 1); return 0 }},
		{"an annotation with a key twice", `{}`, "twice in one object", func() int32 { Annotate("a", `[{"k":{},"k":1}]`); return 0 }},
		{"an annotation too deep", `{}`, "deeper than 64", func() int32 {
			Annotate("a", strings.Repeat("[", 65)+strings.Repeat("]", 65))
			return 0
		}},
		{"65 annotations", `{}`, "more than 64", func() int32 {
			for i := range 65 {
				AnnotateInt("k"+itoa(int64(i)), 1)
			}
			return 0
		}},
		{"kv before there is a session", `{"hook": "session_admit", "action": "start"}`, "of no session", func() int32 { KVInt("a"); return 0 }},
		{"null", `null`, "got null", func() int32 { return 0 }},
		{"an edit of what is not there", edited, `no "/b"`, func() int32 { var e Edits; e.Remove("/b", ""); return e.Done() }},
		{"an edit by the document's pointer", edited, `no "/payload/a"`, func() int32 { var e Edits; e.Remove("/payload/a", ""); return e.Done() }},
		{"an edit of everything", edited, "hide its members", func() int32 { var e Edits; e.Replace("", "x", ""); return e.Done() }},
		{"an edit with a placeholder", edited, "may not be", func() int32 { var e Edits; e.Replace("/a", "[REDACTED:x]", ""); return e.Done() }},
		{"an edit with a rule's title", edited, "does not match", func() int32 { var e Edits; e.Remove("/a", "My Rule"); return e.Done() }},
		{"a mask of half a character", edited, "cut a character", func() int32 { var e Edits; e.Mask("/a", 0, 1, ""); return e.Done() }},
		{"a mask behind the end", edited, "no part of the text", func() int32 { var e Edits; e.Mask("/a", 0, 9, ""); return e.Done() }},
		{"a mask of a number", edited, "want a text", func() int32 { var e Edits; e.Mask("/n", 0, 1, ""); return e.Done() }},
		{"another output", edited, "want {", func() int32 { return Text("x") }},
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

func TestEditsThatCount(t *testing.T) {
	Test(t, edited, func() int32 {
		var e Edits
		e.Mask("/a", 0, 2, "r")
		e.Replace("/n", "x", "")
		return e.Done()
	})
}

// A bound is not to be passed by a number that is too large to be one.
func TestLargeNumbers(t *testing.T) {
	Test(t, `{"a": 1e21, "b": -1e999, "c": 9223372036854775808, "d": 9007199254740993, "e": "NaN", "f": "0x1p9", "g": 2.5e2}`, func() int32 {
		for pointer, want := range map[string]int64{"/a": math.MaxInt64, "/b": math.MinInt64, "/c": math.MaxInt64, "/d": 9007199254740993, "/e": 0, "/f": 0, "/g": 250} {
			if got := Int(pointer); got != want {
				t.Errorf("Int(%s) = %d, want %d", pointer, got, want)
			}
		}
		if !math.IsInf(Num("/b"), -1) || Num("/e") != 0 || Num("/f") != 0 || Num("/a") != 1e21 {
			t.Error("Num", Num("/b"), Num("/e"), Num("/f"), Num("/a"))
		}
		return 0
	})
	fake := Fake{KV: map[string]string{}}
	if c := fake.Call(`{}`, func() int32 { KVAdd("n", math.MaxInt64); KVAdd("n", 5); return 0 }); c.Err != nil || fake.KV["n"] != "9223372036854775807" {
		t.Error(c.Err, fake.KV)
	}
}
