package plugins

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

func TestDecodeEditsRefuses(t *testing.T) {
	one := func(edit string) string { return `{"edits":[` + edit + `]}` }
	for name, c := range map[string]struct{ output, want string }{
		"no object":                    {`[]`, "is an array, want an object"},
		"no edits":                     {`{}`, "edits is nothing, want an array"},
		"edits is an object":           {`{"edits":{}}`, "edits is an object, want an array"},
		"another member":               {`{"edits":[],"verdict":1}`, `unknown member "verdict"`},
		"a member of two cases":        {`{"Edits":[]}`, `unknown member "Edits"`},
		"a member twice":               {`{"edits":[],"edits":[]}`, `key "edits" twice`},
		"a member twice, once escaped": {`{"edits":[],"\u0065dits":[]}`, `key "edits" twice`},
		"trailing bytes":               {`{"edits":[]} x`, "is no JSON"},
		"no UTF-8":                     {"{\"edits\":[\"\xff\"]}", "is no UTF-8"},
		"too deep":                     {`{"edits":[` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `]}`, "nested deeper than 64"},
		"an edit is a text":            {one(`"x"`), "edits[0]: is a string, want an object"},
		"too many":                     {one(strings.Repeat(`{},`, MaxEdits) + `{}`), "1001 elements, at most 1000"},
		"unknown op":                   {one(`{"path":"","op":"upsert"}`), `op "upsert" is unknown`},
		"no op":                        {one(`{"path":""}`), "op is nothing, want a string"},
		"no path":                      {one(`{"op":"remove"}`), "path is nothing, want a string"},
		"no pointer":                   {one(`{"path":"a","op":"remove"}`), `path "a" is no JSON pointer`},
		"half an escape":               {one(`{"path":"/a~","op":"remove"}`), "is no JSON pointer"},
		"path too long":                {one(`{"path":"/` + strings.Repeat("a", MaxPath) + `","op":"remove"}`), "path has 4097 bytes"},
		"path too deep":                {one(`{"path":"` + strings.Repeat("/", 700) + `","op":"remove"}`), "more than 640 steps"},
		"path is null":                 {one(`{"path":null,"op":"remove"}`), "path is null, want a string"},
		"start of replace":             {one(`{"path":"","op":"replace","start":1}`), "start and end belong to op mask"},
		"mask without end":             {one(`{"path":"","op":"mask","start":1}`), "end is nothing, want a number"},
		"mask from a fraction":         {one(`{"path":"","op":"mask","start":0.5,"end":2}`), "start is a number out of range"},
		"mask from a text":             {one(`{"path":"","op":"mask","start":"0","end":2}`), "start is a string, want a number"},
		"with of remove":               {one(`{"path":"","op":"remove","with":""}`), "with does not belong to op remove"},
		"with is an object":            {one(`{"path":"","op":"replace","with":{}}`), "with is an object, want a string"},
		"with too long":                {one(`{"path":"","op":"replace","with":"` + strings.Repeat("a", MaxWith+1) + `"}`), "with has 4097 bytes"},
		"with a placeholder":           {one(`{"path":"","op":"replace","with":"[REDACTED:aws]"}`), "placeholders of Gatehouse begin"},
		"an escaped one":               {one(`{"path":"","op":"replace","with":"\u005bREDACTED:aws]"}`), "placeholders of Gatehouse begin"},
		"rule with a blank":            {one(`{"path":"","op":"remove","rule":"a b"}`), `rule "a b" does not match`},
		"empty rule":                   {one(`{"path":"","op":"remove","rule":""}`), `rule "" does not match`},
		"long rule":                    {one(`{"path":"","op":"remove","rule":"` + strings.Repeat("r", 33) + `"}`), "does not match"},
		"unknown member":               {one(`{"path":"","op":"remove","value":1}`), `edits[0]: unknown member "value"`},
	} {
		if _, err := decodeEdits(json.RawMessage(c.output)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// edited applies an output to a payload.
func edited(d *editing, payload, output string) (string, error) {
	edits, err := decodeEdits(json.RawMessage(output))
	if err != nil {
		return "", err
	}
	out, err := d.apply(json.RawMessage(payload), edits)
	d.sort()
	return string(out), err
}

func TestEdits(t *testing.T) {
	const own = "[REDACTED:plugin.hosts]"
	for name, c := range map[string]struct {
		payload, edits, want string
		marked, shaped       bool
		found                string
	}{
		"none":                        {payload: ` {"b":1,"a":2} `, edits: ``, want: ` {"b":1,"a":2} `},
		"replace":                     {payload: `{"a":"x","b":"y"}`, edits: `{"path":"/a","op":"replace","with":"z","rule":"r"}`, want: `{"a":"z","b":"y"}`, found: "/a plugin.hosts.r 1"},
		"replace without with":        {payload: `{"a":"x"}`, edits: `{"path":"/a","op":"replace"}`, want: `{"a":"` + own + `"}`, found: "/a plugin.hosts 1"},
		"replace by nothing":          {payload: `{"a":"x"}`, edits: `{"path":"/a","op":"replace","with":""}`, want: `{"a":""}`, found: "/a plugin.hosts 1"},
		"replace an object":           {payload: `{"a":{"b":1}}`, edits: `{"path":"/a","op":"replace","with":"z"}`, want: `{"a":"z"}`, found: "/a plugin.hosts 1"},
		"numbers stay as written":     {payload: `{"a":"x","n":12345678901234567890.10,"s":"<&>"}`, edits: `{"path":"/a","op":"remove"}`, want: `{"n":12345678901234567890.10,"s":"<&>"}`, found: "/a plugin.hosts 1"},
		"a whole text":                {payload: `"x"`, edits: `{"path":"","op":"replace","with":"z"}`, want: `"z"`, found: " plugin.hosts 1"},
		"remove a whole text":         {payload: `"x"`, edits: `{"path":"","op":"remove"}`, want: `""`, found: " plugin.hosts 1"},
		"mask":                        {payload: `"at db1.corp now"`, edits: `{"path":"","op":"mask","start":3,"end":11}`, want: `"at ` + own + ` now"`, found: " plugin.hosts 1"},
		"mask with":                   {payload: `"at db1.corp now"`, edits: `{"path":"","op":"mask","start":3,"end":11,"with":"[host]"}`, want: `"at [host] now"`, found: " plugin.hosts 1"},
		"masks of one text":           {payload: `"abcdef"`, edits: `{"path":"","op":"mask","start":4,"end":5,"with":"-"},{"path":"","op":"mask","start":0,"end":2,"with":"+"}`, want: `"+cd-f"`, found: " plugin.hosts 2"},
		"masks that overlap":          {payload: `"abcdef"`, edits: `{"path":"","op":"mask","start":1,"end":3,"with":"+"},{"path":"","op":"mask","start":2,"end":5,"with":"-"}`, want: `"a+f"`, found: " plugin.hosts 2"},
		"a mask within one":           {payload: `"abcdef"`, edits: `{"path":"","op":"mask","start":0,"end":5,"with":"+"},{"path":"","op":"mask","start":2,"end":3,"with":"-"}`, want: `"+f"`, found: " plugin.hosts 2"},
		"bytes of the decoded text":   {payload: `"\u00e9\nx"`, edits: `{"path":"","op":"mask","start":0,"end":2,"with":"e"}`, want: `"e\nx"`, found: " plugin.hosts 1"},
		"escaped names":               {payload: `{"a/b":{"~":"x"}}`, edits: `{"path":"/a~1b/~0","op":"replace","with":"z"}`, want: `{"a/b":{"~":"z"}}`, found: "/a~1b/~0 plugin.hosts 1"},
		"remove an element":           {payload: `["x","y"]`, edits: `{"path":"/0","op":"remove"},{"path":"/1","op":"mask","start":0,"end":1,"with":"z"}`, want: `[null,"z"]`, found: "/0 plugin.hosts 1|/1 plugin.hosts 1"},
		"remove beats replace":        {payload: `{"a":"x"}`, edits: `{"path":"/a","op":"replace","with":"z"},{"path":"/a","op":"remove"}`, want: `{}`, found: "/a plugin.hosts 1"},
		"a whole beats what is below": {payload: `{"a":{"b":"x"}}`, edits: `{"path":"/a/b","op":"replace","with":"z"},{"path":"/a","op":"remove"}`, want: `{}`, found: "/a plugin.hosts 1"},
		"the empty name":              {payload: `{"":"x"}`, edits: `{"path":"/","op":"replace","with":"z"}`, want: `{"":"z"}`, found: "/ plugin.hosts 1"},
		"shaped: removed is null":     {shaped: true, payload: `{"a":"x","b":["y"]}`, edits: `{"path":"/a","op":"remove"},{"path":"/b/0","op":"remove"}`, want: `{"a":null,"b":[null]}`, found: "/a plugin.hosts 1|/b/0 plugin.hosts 1"},
		"marked: no text of its own":  {marked: true, payload: `{"a":"rm -rf /"}`, edits: `{"path":"/a","op":"replace","with":"ls"}`, want: `{"a":"` + own + `"}`, found: "/a plugin.hosts 1"},
		"marked: nothing goes unseen": {marked: true, payload: `{"a":"rm -rf /"}`, edits: `{"path":"/a","op":"remove"}`, want: `{"a":"` + own + `"}`, found: "/a plugin.hosts 1"},
		"marked: of a mask neither":   {marked: true, payload: `"rm -rf /"`, edits: `{"path":"","op":"mask","start":2,"end":6,"with":""}`, want: `"rm` + own + ` /"`, found: " plugin.hosts 1"},
		"a placeholder goes whole":    {payload: `"a [REDACTED:aws] b"`, edits: `{"path":"","op":"mask","start":4,"end":6,"with":"+"}`, want: `"a + b"`, found: " plugin.hosts 1"},
		"or stays":                    {payload: `"a [REDACTED:aws] b"`, edits: `{"path":"","op":"mask","start":0,"end":2,"with":"+"}`, want: `"+[REDACTED:aws] b"`, found: " plugin.hosts 1"},
	} {
		d := &editing{plugin: "hosts", marked: c.marked, shaped: c.shaped}
		got, err := edited(d, c.payload, `{"edits":[`+c.edits+`]}`)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", name, got, err, c.want)
		}
		if found := foundText(d.found); found != c.found {
			t.Errorf("%s: found %q, want %q", name, found, c.found)
		}
	}
}

func foundText(found []event.Redaction) string {
	var parts []string
	for _, f := range found {
		parts = append(parts, fmt.Sprint(f.Pointer, " ", f.Detector, " ", f.Count))
	}
	return strings.Join(parts, "|")
}

func TestEditsRefused(t *testing.T) {
	for name, c := range map[string]struct{ payload, edit, want string }{
		"no such member":                 {`{"a":1}`, `{"path":"/b","op":"remove"}`, `"/b": the payload has no such member`},
		"no such element":                {`["x"]`, `{"path":"/1","op":"remove"}`, `"/1": the payload has no such element`},
		"behind the last":                {`["x"]`, `{"path":"/-","op":"remove"}`, "no such element"},
		"index with a zero":              {`["x","y"]`, `{"path":"/01","op":"remove"}`, "no such element"},
		"below a text":                   {`{"a":"x"}`, `{"path":"/a/0","op":"remove"}`, `below "/a": there is nothing`},
		"mask of a number":               {`{"a":12}`, `{"path":"/a","op":"mask","start":0,"end":1}`, "op mask is for a text"},
		"mask of an object":              {`{"a":{}}`, `{"path":"/a","op":"mask","start":0,"end":1}`, "op mask is for a text"},
		"the whole":                      {`{"a":1}`, `{"path":"","op":"replace","with":"x"}`, "the payload is no text"},
		"the whole, removed":             {`[1]`, `{"path":"","op":"remove"}`, "the payload is no text"},
		"mask behind the end":            {`"abc"`, `{"path":"","op":"mask","start":0,"end":4}`, "bytes 0 to 4 are no part of the text, which has 3"},
		"mask of nothing":                {`"abc"`, `{"path":"","op":"mask","start":1,"end":1}`, "are no part"},
		"mask backwards":                 {`"abc"`, `{"path":"","op":"mask","start":2,"end":1}`, "are no part"},
		"mask before the text":           {`"abc"`, `{"path":"","op":"mask","start":-1,"end":1}`, "are no part"},
		"half a character":               {`"é"`, `{"path":"","op":"mask","start":0,"end":1}`, "cut a character"},
		"a placeholder made of two ends": {`"[REDA--CTED:aws]"`, `{"path":"","op":"mask","start":5,"end":7,"with":""}`, "looks like a placeholder"},
		"a placeholder begun":            {`"-ED:aws]"`, `{"path":"","op":"mask","start":0,"end":1,"with":"[REDACT"}`, "looks like a placeholder"},
		"a placeholder ended":            {`"[REDACTED:aws-"`, `{"path":"","op":"mask","start":13,"end":14,"with":"]"}`, "looks like a placeholder"},
	} {
		if got, err := edited(&editing{plugin: "hosts"}, c.payload, `{"edits":[`+c.edit+`]}`); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v, want %q", name, got, err, c.want)
		}
	}
}

// FuzzEdits: whatever a plugin says and sees, what comes of it is valid JSON, tells
// of each change, and holds no placeholder of another's that was not there before.
func FuzzEdits(f *testing.F) {
	f.Add(`{"a":["x",{"b":"[REDACTED:aws] é"}]}`, `{"edits":[{"path":"/a/1/b","op":"mask","start":3,"end":5},{"path":"/a/0","op":"remove"}]}`, true, false)
	f.Add(`"abc"`, `{"edits":[{"path":"","op":"mask","start":0,"end":1,"with":"[REDACTED"}]}`, false, true)
	f.Add(`{"~":{"/":1}}`, `{"edits":[{"path":"/~0/~1","op":"replace","with":"","rule":"r-1_"}]}`, false, false)
	f.Fuzz(func(t *testing.T, payload, output string, marked, shaped bool) {
		if !json.Valid([]byte(payload)) || !utf8.ValidString(payload) || rawjson.Deeper([]byte(payload), event.MaxDepth) {
			return
		}
		d := &editing{plugin: "p", marked: marked, shaped: shaped}
		before := strings.Clone(payload)
		out, err := edited(d, payload, output)
		if payload != before {
			t.Fatal("the payload was changed in place")
		}
		if err != nil {
			return
		}
		if !json.Valid([]byte(out)) || rawjson.Deeper([]byte(out), event.MaxDepth) {
			t.Fatalf("%q", out)
		}
		if len(d.found) == 0 && out != payload && !sameJSON(t, out, payload) {
			t.Fatalf("%q became %q, and nothing is told", payload, out)
		}
		known := placeholdersOf(payload)
		for _, p := range placeholdersOf(out) {
			if !slices.Contains(known, p) && !strings.HasPrefix(p, "[REDACTED:plugin.p") {
				t.Fatalf("%q became %q with %s", payload, out, p)
			}
		}
	})
}

// FuzzEditPointer: an edit reaches exactly the values that the plugin is shown under the
// same pointer, and changes nothing else.
func FuzzEditPointer(f *testing.F) {
	f.Add(`{"a":["x",{"b":"y","~/":""}]}`, `/a/1/b`)
	f.Add(`{"a":1,"a":["x"],"":{"":"z"}}`, `//`)
	f.Add(`["x"]`, `/00`)
	f.Fuzz(func(t *testing.T, payload, pointer string) {
		if !json.Valid([]byte(payload)) || !utf8.ValidString(payload) || !utf8.ValidString(pointer) || rawjson.Deeper([]byte(payload), event.MaxDepth) {
			return
		}
		e := edit{path: pointer, op: opReplace, with: new("fuzzed")}
		if e.split("edit") != nil {
			return
		}
		shown := newTape([]byte(payload))
		if shown.make() != nil {
			return
		}
		at := shown.find(pointer)
		there := at >= 0 && (pointer != "" || shown.nodes[at].kind == 's' || shown.nodes[at].kind == '"')
		out, err := (&editing{plugin: "p"}).apply(json.RawMessage(payload), []edit{e})
		if (err == nil) != there {
			t.Fatalf("%q in %q: shown %v, edited %v", pointer, payload, there, err)
		}
		if err != nil {
			return
		}
		after := newTape(out)
		if err := after.make(); err != nil {
			t.Fatal(err)
		}
		if at := after.find(pointer); at < 0 || string(after.text(at)) != "fuzzed" {
			t.Fatalf("%q in %q became %q", pointer, payload, out)
		}
	})
}

func sameJSON(t *testing.T, a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		t.Fatal("no JSON")
	}
	return fmt.Sprint(x) == fmt.Sprint(y)
}

// placeholdersOf are those in the texts and names of a document.
func placeholdersOf(doc string) (all []string) {
	var v any
	_ = json.Unmarshal([]byte(doc), &v)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, placeholder.FindAllString(v, -1)...)
		case []any:
			for _, item := range v {
				walk(item)
			}
		case map[string]any:
			for name, item := range v {
				walk(name)
				walk(item)
			}
		}
	}
	walk(v)
	return all
}
