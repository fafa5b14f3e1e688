package pdk

import (
	"encoding/json"
	"strings"
	"testing"
)

const document = `{
	"hook": "pre_permission", "tool_name": "Bash", "yes": true, "no": false, "nothing": null, "n": -12, "f": 2.5, "digits": "42",
	"a/b": {"m~n": "escaped"}, "list": ["x", 1, {"k": "v"}], "empty": "", "quoted": "a\"\u00e4", "none": []
}`

func TestGet(t *testing.T) {
	Test(t, document, func() int32 {
		for pointer, want := range map[string]string{
			"/tool_name": "Bash", "/n": "-12", "/yes": "true", "/nothing": "null", "/list": `["x",1,{"k":"v"}]`, "/list/2/k": "v",
			"/quoted": `a"ä`, "/missing": "", "/list/3": "", "/list/01": "", "/list/-": "", "/a~1b/m~0n": "escaped", "no pointer": "", "/a~2": "",
		} {
			if got := Raw(pointer); got != want {
				t.Errorf("%s is %q, want %q", pointer, got, want)
			}
		}
		return 0
	})
}

func TestKinds(t *testing.T) {
	Test(t, document, func() int32 {
		for what, ok := range map[string]bool{
			"Int":                Int("/n") == -12 && Int("/digits") == 42 && Int("/f") == 2 && Int("/missing") == 0,
			"Num":                Num("/f") == 2.5 && Num("/n") == -12 && Num("/tool_name") == 0,
			"Bool":               Bool("/yes") && !Bool("/no") && !Bool("/missing"),
			"Has":                Has("/nothing") && Has("/empty") && Has("") && !Has("/missing"),
			"Child":              Str(Child(Child("", "a/b"), "m~n")) == "escaped",
			"Items":              strings.Join(Items("/list"), "|") == `x|1|{"k":"v"}` && Items("/none") == nil && Items("/n") == nil,
			"the whole document": json.Valid([]byte(Raw(""))) && strings.Contains(Raw(""), `"abi":"gatehouse.hook.v1"`),
		} {
			if !ok {
				t.Errorf("%s is wrong", what)
			}
		}
		return 0
	})
}

// A part that is larger than the buffer is asked for again.
func TestLarge(t *testing.T) {
	for _, size := range []int{0, firstScratch - 1, firstScratch, firstScratch + 1, maxScratch + 1, 3 << 20} {
		text := strings.Repeat("x", size)
		Test(t, `{"text": "`+text+`", "small": "y"}`, func() int32 {
			if Str("/text") != text || Str("/small") != "y" {
				t.Errorf("a text of %d bytes came as one of %d", size, len(Str("/text")))
			}
			return 0
		})
	}
	if len(scratch) > maxScratch {
		t.Errorf("%d bytes are kept, want at most %d", len(scratch), maxScratch)
	}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name, verdict, reason string
		hook                  func() int32
	}{
		{"none", "pass", "", func() int32 { return 0 }},
		{"allow", "allow", "fine", func() int32 { return Allow("fine") }},
		{"ask over allow", "ask", "why", func() int32 { Allow("fine"); return Ask("why") }},
		{"deny over ask", "deny", "no", func() int32 { Deny("no"); return Ask("why") }},
		{"pass changes nothing", "deny", "no", func() int32 { Deny("no"); return Pass() }},
		{"the first of equals", "deny", "no", func() int32 { Deny("no"); return Deny("never") }},
	}
	for _, tt := range tests {
		call := Test(t, `{}`, tt.hook)
		if call.Verdict != tt.verdict || call.Reason != tt.reason {
			t.Errorf("%s: %s %q, want %s %q", tt.name, call.Verdict, call.Reason, tt.verdict, tt.reason)
		}
	}
}

func TestAnnotations(t *testing.T) {
	call := Test(t, `{}`, func() int32 {
		Annotate("raw", `{"a": 1}`)
		AnnotateStr("text", `"`)
		AnnotateInt("n", -3)
		AnnotateBool("b", true)
		AnnotateInt("n", 4)
		return 0
	})
	for key, want := range map[string]string{"raw": `{"a": 1}`, "text": `"\""`, "n": "4", "b": "true"} {
		if call.Annotations[key] != want {
			t.Errorf("%s is %s, want %s", key, call.Annotations[key], want)
		}
	}
}

func TestResults(t *testing.T) {
	tests := []struct {
		name, output string
		hook         func() int32
	}{
		{"no edits", "", func() int32 { return new(Edits).Done() }},
		{"edits", `{"edits":[{"path":"/a","op":"mask","rule":"r","start":1,"end":3},{"path":"/\"","op":"replace","with":"x"},{"path":"/b","op":"replace"},{"path":"/c","op":"remove"}]}`,
			func() int32 {
				var e Edits
				e.Mask("/a", 1, 3, "r")
				e.Replace(`/"`, "x", "")
				e.Replace("/b", "", "")
				e.Remove("/c", "")
				return e.Done()
			}},
		{"no tools", `{"tools":[]}`, func() int32 { return Tools() }},
		{"tools", `{"tools":[{"name":"a","description":"","inputSchema":{"type":"object"}},{"name":"b","description":"d\"","inputSchema":{},"annotations":{"readOnlyHint":true}}]}`,
			func() int32 {
				return Tools(Tool{Name: "a"}, Tool{Name: "b", Description: `d"`, Schema: "{}", Annotations: `{"readOnlyHint":true}`})
			}},
		{"text", `{"content":[{"type":"text","text":"a\nb"}]}`, func() int32 { return Text("a\nb") }},
		{"error", `{"content":[{"type":"text","text":"no"}],"isError":true}`, func() int32 { return TextError("no") }},
	}
	for _, tt := range tests {
		if call := Test(t, `{}`, tt.hook); call.Output != tt.output {
			t.Errorf("%s: %s, want %s", tt.name, call.Output, tt.output)
		}
	}
}

func TestKV(t *testing.T) {
	fake := Fake{KV: map[string]string{"a": "1"}}
	call := fake.Call(`{}`, func() int32 {
		if KVAdd("a", 2) != 3 || KVInt("missing") != 0 || KVSet(strings.Repeat("k", maxKVKey+1), "") || KVSet("b", strings.Repeat("x", maxKVBytes)) {
			return 1
		}
		KVSet("c", strings.Repeat("x", firstScratch+1))
		if value, ok := KVGet("c"); !ok || len(value) != firstScratch+1 {
			return 2
		}
		KVDelete("c")
		KVDelete("c")
		_, ok := KVGet("c")
		if ok {
			return 3
		}
		return 0
	})
	if call.Err != nil || len(fake.KV) != 1 || fake.KV["a"] != "3" {
		t.Errorf("%v, kept %v", call.Err, fake.KV)
	}
}
