package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestKeepShape(t *testing.T) {
	cases := []struct{ name, tool, before, after, want string }{
		{"a text", "Read", `{"type":"text","file":{"content":"s","numLines":3}}`, `{"type":"text","file":{"content":"[x]","numLines":3}}`, `{"file":{"content":"[x]","numLines":3},"type":"text"}`},
		{"a word of the shape", "Grep", `{"mode":"content","content":"s"}`, `{"mode":"[x]","content":"[x]"}`, `{"content":"[x]","mode":"content"}`},
		{"a word of a server is none", "mcp__s__t", `[{"type":"text","status":"ready"}]`, `[{"type":"[x]","status":"[x]"}]`, `[{"status":"[x]","type":"text"}]`},
		{"a number", "Grep", `{"pin":1234,"on":true}`, `{"pin":"[x]","on":"[x]"}`, `{"on":false,"pin":0}`},
		{"a whole member", "Edit", `{"patch":[{"lines":["s"],"n":1}]}`, `{"patch":"[x]"}`, `{"patch":[{"lines":["[withheld]"],"n":1}]}`},
		{"null stays", "Write", `{"originalFile":null,"content":"s"}`, `{"originalFile":null,"content":"[x]"}`, `{"content":"[x]","originalFile":null}`},
		{"a large number", "Read", `{"n":123456789012345678901,"c":"s"}`, `{"n":123456789012345678901,"c":""}`, `{"c":"","n":123456789012345678901}`},
		{"an image of a shell", "Bash", `{"stdout":"data:s","isImage":true}`, `{"stdout":"data:[x]","isImage":true}`, `{"isImage":false,"stdout":"data:[x]"}`},
		{"an image", "Read", `{"type":"image","file":{"base64":"s","type":"image/png"}}`, `{"type":"image","file":{"base64":"[x]","type":"image/png"}}`, `{"file":{"content":"[withheld]","filePath":"","numLines":1,"startLine":1,"totalLines":1},"type":"text"}`},
		{"a block of a server", "mcp__s__t", `[{"type":"image","source":{"data":"s"}}]`, `[{"type":"image","source":{"data":"[x]"}}]`, ""},
		{"a picture in what is covered as a whole", "Read", `{"type":"image","file":{"base64":"s","type":"image/png","filePath":"/a"}}`, `{"type":"image","file":"[x]"}`, `{"file":{"content":"[withheld]","filePath":"[withheld]","numLines":1,"startLine":1,"totalLines":1},"type":"text"}`},
		{"a block of a server that is covered as a whole", "mcp__s__t", `[{"type":"image","source":{"data":"s"}}]`, `["[x]"]`, ""},
		{"a member gone", "Read", `{"a":"s","b":"t"}`, `{"a":"[x]"}`, ""},
		{"another member", "Read", `{"a":"s"}`, `{"b":"s"}`, ""},
		{"an element gone", "Glob", `{"filenames":["a","b"]}`, `{"filenames":["a"]}`, ""},
		{"a name that is covered", "AskUserQuestion", `{"answers":{"is it s?":"yes","on?":"no"}}`, `{"answers":{"is it [x]?":"yes","on?":"no"}}`, `{"answers":{"is it [x]?":"[withheld]","on?":"no"}}`},
		{"what may not be empty", "TodoWrite", `{"newTodos":[{"content":"s","activeForm":"s","status":"pending"}]}`, `{"newTodos":[{"content":"","activeForm":"","status":"pending"}]}`, `{"newTodos":[{"activeForm":"[withheld]","content":"[withheld]","status":"pending"}]}`},
		{"a word of the shape that is taken away", "Read", `{"type":"text","file":{"content":"s"}}`, `{"type":null,"file":{"content":null}}`, `{"file":{"content":"[withheld]"},"type":"text"}`},
		{"a picture that is taken away", "Read", `{"type":"image","file":{"base64":"s","type":"image/png"}}`, `{"type":"image","file":{"base64":null,"type":"image/png"}}`, `{"file":{"content":"[withheld]","filePath":"","numLines":1,"startLine":1,"totalLines":1},"type":"text"}`},
		{"a block's picture that is taken away", "mcp__s__t", `[{"type":"image","source":{"data":"s"}}]`, `[{"type":"image","source":{"data":null}}]`, ""},
		{"an output of a server that is emptied", "mcp__s__t", `"s"`, `""`, `"[withheld]"`},
		{"one that was empty", "mcp__s__t", `""`, `""`, `""`},
		{"a block of a server that is emptied", "mcp__s__t", `[{"type":"text","text":"s"}]`, `[{"type":"text","text":""}]`, `[{"text":"[withheld]","type":"text"}]`},
		{"null becomes no text", "Write", `{"originalFile":null}`, `{"originalFile":"[x]"}`, `{"originalFile":null}`},
		{"a plain text", "TaskOutput", `"s"`, `"[x]"`, `"[x]"`},
	}
	for _, c := range cases {
		got, ok := keepShape(c.tool, json.RawMessage(c.before), json.RawMessage(c.after))
		if ok != (c.want != "") || string(got) != c.want {
			t.Errorf("%s: %s, %v\nwant %s", c.name, got, ok, c.want)
		}
	}
}

func TestWithheldOutput(t *testing.T) {
	cases := []struct{ tool, in, want string }{
		{"Bash", `{"stdout":"s","stderr":"","isImage":true,"gitOperation":{"commit":{"sha":"s","kind":"cherry-picked"}}}`, `{"gitOperation":{"commit":{"kind":"cherry-picked","sha":"[withheld]"}},"isImage":false,"stderr":"","stdout":"[withheld]"}`},
		{"Read", `{"type":"notebook","file":{"filePath":"/a","cells":[{"source":"s"}]}}`, `{"file":{"content":"[withheld]","filePath":"[withheld]","numLines":1,"startLine":1,"totalLines":1},"type":"text"}`},
		{"Agent", `{"status":"completed","usage":{"service_tier":"standard"},"content":[{"type":"text","text":"s"}]}`, `{"content":[{"text":"[withheld]","type":"text"}],"status":"completed","usage":{"service_tier":"standard"}}`},
		{"mcp__s__t", `[{"type":"image","source":{"data":"s"}},{"type":"text","text":"s"}]`, `[{"type":"text","text":"[withheld]"}]`},
		{"mcp__s__t", `"{\"key\":\"s\"}"`, `"[withheld]"`},
		{"AskUserQuestion", `{"answers":{"is it s?":"yes"}}`, `{"answers":{"[withheld]":"[withheld]"}}`},
		{"New", `not json`, `"[withheld]"`},
	}
	for _, c := range cases {
		if got := string(withheldOutput(c.tool, json.RawMessage(c.in))); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.tool, got, c.want)
		}
	}
}

func TestHalfAWordBeforeTheCutIsLeftOut(t *testing.T) {
	long := strings.Repeat("words and ", 3000)
	out := func(stdout, more string) json.RawMessage {
		raw, _ := json.Marshal(stdout)
		return json.RawMessage(`{"stdout":` + string(raw) + more + `}`)
	}
	const spilled = `,"persistedOutputPath":"/x"`
	cases := []struct {
		name, tool string
		output     json.RawMessage
		end        string
	}{
		{"half a word", "Bash", out(long+"HALF", spilled), `words and [cut]"}`},
		{"a whole one", "Bash", out(long, spilled), `words and "}`},
		{"nothing cut", "Bash", out(long+"WHOLE", ""), `WHOLE"}`},
		{"another tool", "Read", out(long+"WHOLE", spilled), spilled + "}"},
	}
	for _, c := range cases {
		if got := string(withoutHalf(c.tool, c.output)); !strings.HasSuffix(got, c.end) {
			t.Errorf("%s: …%s, want …%s", c.name, got[len(got)-60:], c.end)
		}
	}
	if got := beforeLastWord(strings.Repeat("x", 2000)); got != strings.Repeat("x", 2000-maxHalf)+halfOut {
		t.Errorf("a word without an end leaves %d bytes", len(got))
	}
}

func TestClipCutsBetweenWords(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("x", clipped):                       strings.Repeat("x", clipped),
		strings.Repeat("x", clipped+1):                     "…",
		strings.Repeat("a ", clipped/2-2) + "0123456789":   strings.Repeat("a ", clipped/2-2) + "…",
		strings.Repeat("a", clipped-1) + " " + "following": strings.Repeat("a", clipped-1) + " …",
	} {
		if got := clip(in); got != want {
			t.Errorf("clip(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCallsAreBounded(t *testing.T) {
	var c calls
	for i := range maxCalls + 10 {
		c.learn("id"+rune2(i), "Tool"+rune2(i))
	}
	c.learn("id"+rune2(maxCalls), "Later")
	if len(c.tools) != maxCalls || len(c.order) != maxCalls || c.tool("id0") != "" || c.tool("id"+rune2(maxCalls)) != "Later" {
		t.Errorf("%d calls are known, the first as %q", len(c.tools), c.tool("id0"))
	}
}
