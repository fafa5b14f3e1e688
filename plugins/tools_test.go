package plugins

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestDecodeTools(t *testing.T) {
	out := `{"tools":[
		{"name":"add","description":"Adds.\nTwo lines.","inputSchema":{"type":"object","properties":{"a":{"type":"number"}}}},
		{"name":"sub_2-x","description":"","inputSchema":{"type":"object"},"annotations":{"title":"Sub","readOnlyHint":true}}]}`
	tools, err := decodeTools("calc", json.RawMessage(out))
	if err != nil || len(tools) != 2 {
		t.Fatalf("%v, %v", tools, err)
	}
	if a, b := tools[0], tools[1]; a.Plugin != "calc" || a.Name != "add" || a.Description != "Adds.\nTwo lines." || a.Annotations != nil ||
		string(b.InputSchema) != `{"type":"object"}` || string(b.Annotations) != `{"title":"Sub","readOnlyHint":true}` {
		t.Errorf("%+v", tools)
	}
	if tools, err := decodeTools("calc", json.RawMessage(`{"tools":[]}`)); err != nil || len(tools) != 0 {
		t.Errorf("no tools: %v, %v", tools, err)
	}
}

func TestDecodeToolsRefuses(t *testing.T) {
	tool := func(more string) string {
		return `{"tools":[{"name":"add","description":"d","inputSchema":{"type":"object"}` + more + `}]}`
	}
	for name, c := range map[string]struct{ output, want string }{
		"no output":                 {"", `no output, want {"tools": […]}`},
		"no list":                   {`{}`, "tools is nothing, want an array"},
		"too many":                  {`{"tools":[` + strings.Repeat(`{},`, MaxTools) + `{}]}`, "65 elements, at most 64"},
		"unknown member":            {tool(`,"outputSchema":{}`), `tools[0]: unknown member "outputSchema"`},
		"a key twice":               {tool(`,"name":"x"`), `key "name" twice`},
		"a key twice far below":     {tool(`,"annotations":{"title":"a","title":"b"}`), `key "title" twice`},
		"name with a blank":         {`{"tools":[{"name":"a b","description":"","inputSchema":{"type":"object"}}]}`, `name "a b" does not match`},
		"name with two lines":       {`{"tools":[{"name":"a\n","description":"","inputSchema":{"type":"object"}}]}`, `does not match`},
		"no name":                   {`{"tools":[{"description":"","inputSchema":{"type":"object"}}]}`, "name is nothing"},
		"no description":            {`{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`, "description is nothing"},
		"long description":          {`{"tools":[{"name":"a","description":"` + strings.Repeat("d", MaxDescription+1) + `","inputSchema":{"type":"object"}}]}`, "description has 4097 bytes"},
		"invisible description":     {`{"tools":[{"name":"a","description":"ab\u200bc","inputSchema":{"type":"object"}}]}`, "invisible character at byte 2"},
		"description of a terminal": {`{"tools":[{"name":"a","description":"\u001b[2J","inputSchema":{"type":"object"}}]}`, "invisible character at byte 0"},
		"no schema":                 {`{"tools":[{"name":"a","description":""}]}`, "inputSchema is missing"},
		"schema of another type":    {`{"tools":[{"name":"a","description":"","inputSchema":{"type":"array"}}]}`, `no object with "type": "object"`},
		"schema without a type":     {`{"tools":[{"name":"a","description":"","inputSchema":{"Type":"object"}}]}`, `no object with "type": "object"`},
		"schema is a boolean":       {`{"tools":[{"name":"a","description":"","inputSchema":true}]}`, `no object with "type": "object"`},
		"large schema":              {`{"tools":[{"name":"a","description":"","inputSchema":{"type":"object","x":"` + strings.Repeat("x", MaxSchema) + `"}}]}`, "at most 65536 may be"},
		"one name twice":            {`{"tools":[{"name":"a","description":"","inputSchema":{"type":"object"}},{"name":"a","description":"","inputSchema":{"type":"object"}}]}`, "two tools are called a"},
		"annotations is null":       {tool(`,"annotations":null`), "annotations: is null, want an object"},
		"unknown annotation":        {tool(`,"annotations":{"safe":true}`), `unknown member "safe"`},
		"annotation of a text":      {tool(`,"annotations":{"readOnlyHint":"true"}`), "readOnlyHint is a string, want a boolean"},
		"invisible title":           {tool(`,"annotations":{"title":"a\u202eb"}`), "title has an invisible character"},
	} {
		if _, err := decodeTools("calc", json.RawMessage(c.output)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestToolResults(t *testing.T) {
	for _, blocks := range []string{
		``,
		`{"type":"text","text":""}`,
		`{"type":"text","text":"x","annotations":{"audience":["user"],"priority":0.5,"lastModified":"2026-01-01"}}`,
		`{"type":"image","data":"aGk=","mimeType":"image/png"},{"type":"audio","data":"","mimeType":"audio/wav"}`,
		`{"type":"resource","resource":{"uri":"a://b","text":"x"}},{"type":"resource","resource":{"uri":"a://b","mimeType":"x/y","blob":"aGk="}}`,
		`{"type":"resource_link","uri":"a://b","name":"n","title":"t","description":"d","mimeType":"x/y","size":3}`,
	} {
		for _, end := range []string{`}`, `,"isError":true}`} {
			if err := checkToolResult(json.RawMessage(`{"content":[` + blocks + `]` + end)); err != nil {
				t.Errorf("%s: %v", blocks, err)
			}
		}
	}
}

func TestToolResultsRefused(t *testing.T) {
	for block, want := range map[string]string{
		`"x"`:                                  `type "" is unknown`,
		`{"type":"video"}`:                     `content[0]: type "video" is unknown`,
		`{"Type":"text","text":"x"}`:           `unknown member "Type"`,
		`{"type":"text"}`:                      "text is nothing, want a string",
		`{"type":"text","text":1}`:             "text is a number, want a string",
		`{"type":"text","text":"x","data":""}`: `unknown member "data"`,
		`{"type":"image","data":"%","mimeType":"image/png"}`:                           "data is no base64",
		`{"type":"image","data":"aGk="}`:                                               "mimeType is nothing",
		`{"type":"resource"}`:                                                          "resource is missing",
		`{"type":"resource","resource":{"uri":"a"}}`:                                   "want either text or blob",
		`{"type":"resource","resource":{"uri":"a","text":"","blob":""}}`:               "want either text or blob",
		`{"type":"resource","resource":{"uri":"a","blob":"!"}}`:                        "blob is no base64",
		`{"type":"resource","resource":{"text":"a"}}`:                                  "uri is nothing",
		`{"type":"resource_link","uri":"a"}`:                                           "name is nothing",
		`{"type":"resource_link","uri":"a","name":"n","size":-1}`:                      "size is negative",
		`{"type":"resource_link","uri":"a","name":"n","size":1.5}`:                     "out of range",
		`{"type":"text","text":"x","annotations":[]}`:                                  "annotations: is an array",
		`{"type":"text","text":"x","annotations":{"audience":["root"]}}`:               "for user and assistant",
		`{"type":"text","text":"x","annotations":{"audience":["user","user","user"]}}`: "3 elements, at most 2",
		`{"type":"text","text":"x","annotations":{"priority":2}}`:                      "not from 0 to 1",
		`{"type":"text","text":"x","annotations":{"priority":1e999}}`:                  "out of range",
	} {
		if err := checkToolResult(json.RawMessage(`{"content":[` + block + `]}`)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", block, err, want)
		}
	}
	for output, want := range map[string]string{
		``:                                      "no output",
		`{"content":"x"}`:                       "content is a string, want an array",
		`{"isError":true}`:                      "content is nothing",
		`{"content":[],"isError":"no"}`:         "isError is a string",
		`{"content":[],"isError":null}`:         "isError is null",
		`{"content":[],"structuredContent":{}}`: `unknown member "structuredContent"`,
		`{"content":[` + strings.Repeat(`{"type":"text","text":""},`, MaxBlocks) + `{}]}`: "257 elements, at most 256",
	} {
		if err := checkToolResult(json.RawMessage(output)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", output, err, want)
		}
	}
}

func FuzzTools(f *testing.F) {
	f.Add(`{"tools":[{"name":"a","description":"","inputSchema":{"type":"object"},"annotations":{"title":"t"}}]}`)
	f.Fuzz(func(t *testing.T, output string) {
		tools, err := decodeTools("p", json.RawMessage(output))
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, tool := range tools {
			var schema map[string]any
			if json.Unmarshal(tool.InputSchema, &schema) != nil || schema["type"] != "object" || seen[tool.Name] || !toolName.MatchString(tool.Name) {
				t.Fatalf("%q: %+v", output, tool)
			}
			seen[tool.Name] = true
		}
	})
}

func FuzzToolResult(f *testing.F) {
	f.Add(`{"content":[{"type":"resource","resource":{"uri":"a","text":"x"},"annotations":{"priority":1}}],"isError":false}`)
	f.Fuzz(func(t *testing.T, output string) {
		if checkToolResult(json.RawMessage(output)) != nil {
			return
		}
		var result struct {
			Content []struct{ Type string } `json:"content"`
			IsError bool                    `json:"isError"`
		}
		if err := json.Unmarshal([]byte(output), &result); err != nil {
			t.Fatalf("%q: %v", output, err)
		}
		for _, b := range result.Content {
			if blockMembers[b.Type] == nil {
				t.Fatalf("%q: %s", output, fmt.Sprint(b))
			}
		}
	})
}
