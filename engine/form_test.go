package engine

import (
	"encoding/json"
	"strings"
	"testing"
)

const everyKind = `{"type":"object","properties":{
	"name":{"type":"string","title":"Name","minLength":2,"maxLength":4},
	"mail":{"type":"string","format":"email"},
	"age":{"type":"integer","minimum":0,"maximum":150},
	"ratio":{"type":"number","maximum":1.5},
	"sure":{"type":"boolean","default":true},
	"size":{"type":"string","enum":["s","m"],"enumNames":["Small"]},
	"colour":{"type":"string","oneOf":[{"const":"r","title":"Red"},{"const":"g","title":"Green"}]},
	"days":{"type":"array","minItems":1,"maxItems":2,"items":{"type":"string","enum":["mo","tu","we"]}},
	"tags":{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}
},"required":["name"]}`

func TestFormCheck(t *testing.T) {
	cases := []struct{ content, wrong string }{
		{`{"name":"Ada"}`, ""},
		{`{"name":"Ada","mail":"x","age":3.0,"ratio":-1e3,"sure":false,"size":"m","colour":"r","days":["mo","we"],"tags":[]}`, ""},
		{`{"name":"äöüß"}`, ""},
		{`{}`, "content.name: is required"},
		{`null`, "content: want an object, got null"},
		{`[]`, "content: want an object, got an array"},
		{`{"name":"A"}`, "content.name: want at least 2 characters"},
		{`{"name":"Adaaa"}`, "content.name: want at most 4 characters"},
		{`{"name":7}`, "content.name: want a string, got a number"},
		{`{"name":null}`, "content.name: want a string, got null"},
		{`{"name":"Ada","mail":null}`, "content.mail: want a string, got null"},
		{`{"name":"Ada","age":1.5}`, "content.age: want a whole number, got a fraction"},
		{`{"name":"Ada","age":"5"}`, "content.age: want a whole number, got a string"},
		{`{"name":"Ada","age":-1}`, "content.age: want at least 0"},
		{`{"name":"Ada","age":151}`, "content.age: want at most 150"},
		{`{"name":"Ada","ratio":1e999}`, "content.ratio: want a number, got one that is too large"},
		{`{"name":"Ada","ratio":1.51}`, "content.ratio: want at most 1.5"},
		{`{"name":"Ada","sure":"yes"}`, "content.sure: want true or false, got a string"},
		{`{"name":"Ada","size":"Small"}`, `content.size: want one of "s", "m"`},
		{`{"name":"Ada","colour":"Red"}`, `content.colour: want one of "r", "g"`},
		{`{"name":"Ada","days":"mo"}`, "content.days: want an array, got a string"},
		{`{"name":"Ada","days":[]}`, "content.days: want at least 1 choices"},
		{`{"name":"Ada","days":["mo","tu","we"]}`, "content.days: want at most 2 choices"},
		{`{"name":"Ada","days":["mo",1]}`, `content.days: want an array of "mo", "tu", "we"`},
		{`{"name":"Ada","tags":["b"]}`, `content.tags: want an array of "a"`},
		{`{"name":"Ada","more":1}`, "content.more: the form has no such property"},
		{`{"name":"Ada","Age":1}`, "content.Age: the form has no such property"},
		{`{"name":"` + strings.Repeat("a", maxFormContent) + `"}`, "bytes, at most"},
	}
	f := &Form{Mode: "form", Schema: json.RawMessage(everyKind)}
	for _, c := range cases {
		err := f.Check(json.RawMessage(c.content))
		if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
			t.Errorf("%.60s: %v, want %q", c.content, err, c.wrong)
		}
	}
}

func TestFormErrorsNameNoValue(t *testing.T) {
	f := &Form{Mode: "form", Schema: json.RawMessage(everyKind)}
	for _, content := range []string{`{"name":"SECRET-VALUE"}`, `{"name":"Ada","size":"SECRET-VALUE"}`, `{"name":"Ada","age":"SECRET-VALUE"}`, `{"name":"Ada","days":["SECRET-VALUE"]}`} {
		if err := f.Check(json.RawMessage(content)); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestFormFields(t *testing.T) {
	f := &Form{Mode: "form", Schema: json.RawMessage(everyKind)}
	fields, err := f.Fields()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range fields {
		names = append(names, one.Name)
	}
	if got := strings.Join(names, " "); got != "name mail age ratio sure size colour days tags" {
		t.Errorf("order = %s", got)
	}
	if !fields[0].Required || fields[1].Required || fields[0].Title != "Name" || string(fields[4].Default) != "true" {
		t.Errorf("fields = %+v", fields)
	}
	if o := fields[5].Options; len(o) != 2 || o[0] != (FormOption{"s", "Small"}) || o[1] != (FormOption{"m", ""}) {
		t.Errorf("size offers %+v", o)
	}
	if fields, err := (&Form{Mode: "url"}).Fields(); err != nil || fields != nil {
		t.Errorf("mode url asks for %v, %v", fields, err)
	}
}

func TestFormSchemasThatMCPDoesNotAllow(t *testing.T) {
	var many []string
	for i := range maxFormFields + 1 {
		many = append(many, `"p`+rune2(i)+`":{"type":"string"}`)
	}
	for schema, wrong := range map[string]string{
		`[]`:                                     "no object schema",
		`{"type":"array"}`:                       "no object schema",
		`{"type":"object","properties":{"a":7}}`: `property "a"`,
		`{"type":"object","properties":{"a":{"type":"object"}}}`:                          `property "a": type "object"`,
		`{"type":"object","properties":{"a":{}}}`:                                         `property "a": type ""`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`:                 `property "a"`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`: "a list must be of choices",
		`{"type":"object","properties":{"a":{"type":"array"}}}`:                           "a list must be of choices",
		`{"type":"object","properties":{"a":{"type":"integer","enum":["1"]}}}`:            "only texts can be choices",
		`{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`:              `property "a"`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`:         `"b" is required but not described`,
		`{"type":"object","properties":{` + strings.Join(many, ",") + `}}`:                "at most 64",
	} {
		f := &Form{Mode: "form", Schema: json.RawMessage(schema)}
		if _, err := f.Fields(); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%.80s: %v, want %q", schema, err, wrong)
		}
		if f.Check(json.RawMessage(`{}`)) == nil {
			t.Errorf("%.80s: an unusable form takes content", schema)
		}
	}
}
