package redact

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// planSecret is a token of a vendor format, made when the test runs.
var planSecret = "ghp_" + strings.Repeat("aB3x", 9)

// plan makes a plan of edits written as JSON.
func plan(t testing.TB, edits string) *Plan {
	t.Helper()
	s := Spec{HashKey: []byte("key")}
	if err := json.Unmarshal([]byte(edits), &s.Edits); err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlanApply(t *testing.T) {
	message := func(blocks string) string {
		return `{"type":"assistant","message":{"role":"assistant","content":[` + blocks + `]}}`
	}
	const use = `{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"name":"n","command":"ls","n":7}}`
	for _, row := range []struct {
		name, edits string
		whole       Block
		in, want    string
		rules       string // of the findings
	}{
		{"no edit", `[]`, Block{}, `{"a":"` + planSecret + `"}`, `{"a":"[REDACTED:github]"}`, "/a github 1"},
		{"nothing to do", `[{"action":"redact","rule":"a.b","select":{"tools":["Read"]}}]`, Block{Type: "tool_result", Tool: "Bash"}, ` {"a" : "x"} `, ` {"a" : "x"} `, ""},
		{"whole text", `[{"action":"redact","rule":"a.b"}]`, Block{}, `{"a":"x","n":1,"t":true,"z":null,"e":""}`, `{"a":"[REDACTED:a.b]","n":1,"t":true,"z":null,"e":""}`, "/a a.b 1"},
		{"replaced", `[{"action":"replace","with":"—","rule":"a.b"}]`, Block{}, `["x",["y"]]`, `["—",["—"]]`, "/0 a.b 1,/1/0 a.b 1"},
		{"dropped", `[{"action":"drop","rule":"a.b"}]`, Block{}, `{"a":"` + planSecret + `"}`, `{"a":""}`, "/a a.b 1"},
		{"hashed", `[{"action":"hash","rule":"a.b"}]`, Block{}, `["x","x","y"]`, `["H","H","I"]`, "/0 a.b 1,/1 a.b 1,/2 a.b 1"},
		{"the strictest counts", `[{"action":"hash","rule":"a.h"},{"action":"replace","with":"-","rule":"a.r"},{"action":"redact","rule":"a.c"},{"action":"drop","rule":"a.d","select":{"pointer":"/b"}}]`,
			Block{}, `{"a":"x","b":"y"}`, `{"a":"[REDACTED:a.c]","b":""}`, "/a a.c 1,/b a.d 1"},
		{"pointer", `[{"action":"redact","rule":"a.b","select":{"pointer":"/l/*/a~1b"}}]`, Block{}, `{"l":[{"a/b":"x","c":"y"},{"a/b":{"d":"z"}}]}`, `{"l":[{"a/b":"[REDACTED:a.b]","c":"y"},{"a/b":{"d":"[REDACTED:a.b]"}}]}`, "/l/0/a~1b a.b 1,/l/1/a~1b/d a.b 1"},
		{"a block", `[{"action":"redact","rule":"a.b","select":{"blocks":["text"]}}]`, Block{}, message(`{"type":"text","text":"x"},` + use), message(`{"type":"text","text":"[REDACTED:a.b]"},` + use), "/message/content/0/text a.b 1"},
		{"a tool's input", `[{"action":"redact","rule":"a.b","select":{"tools":["Ba*"]}}]`, Block{}, message(`{"type":"text","text":"x"},` + use),
			message(`{"type":"text","text":"x"},{"type":"tool_use","id":"toolu_1","name":"Bash","input":{"name":"[REDACTED:a.b]","command":"[REDACTED:a.b]","n":7}}`), "/message/content/1/input/name a.b 1,/message/content/1/input/command a.b 1"},
		{"of a tool nobody knows", `[{"action":"drop","rule":"a.b","select":{"tools":["mcp__*"]}}]`, Block{Type: "tool_result"}, `{"output":"x"}`, `{"output":""}`, "/output a.b 1"},
		{"what poses as a message", `[{"action":"drop","rule":"a.b","select":{"blocks":["tool_result"]}}]`, Block{Type: "tool_result", Tool: "Bash"}, message(`{"type":"text","id":"x","text":"y"}`),
			`{"type":"assistant","message":{"role":"","content":[{"type":"text","id":"","text":""}]}}`, "/message/role a.b 1,/message/content/0/id a.b 1,/message/content/0/text a.b 1"},
		{"shape words stay", `[{"action":"drop","rule":"a.b"}]`, Block{Type: "tool_result"}, `{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"x"},{"type":"A secret","text":"x"}]}`,
			`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":""},{"type":"","text":""}]}`, "/content/0/text a.b 1,/content/1/type a.b 1,/content/1/text a.b 1"},
		{"but not for detectors", `[{"action":"drop","rule":"a.b","select":{"pointer":"/x"}}]`, Block{}, `{"type":"` + planSecret + `"}`, `{"type":"[REDACTED:github]"}`, "/type github 1"},
		{"keys", `[{"action":"mask_json_key","keys":["SSN"],"rule":"a.b"}]`, Block{}, `{"ssn":"1","a":[{"Ssn":{"x":"y","n":5,"t":true,"f":false,"z":null,"l":["q",0]}}]}`,
			`{"ssn":"[REDACTED:key]","a":[{"Ssn":{"x":"[REDACTED:key]","n":0,"t":false,"f":false,"z":null,"l":["[REDACTED:key]",0]}}]}`,
			"/ssn a.b 1,/a/0/Ssn/x a.b 1,/a/0/Ssn/n a.b 1,/a/0/Ssn/t a.b 1,/a/0/Ssn/l/0 a.b 1"},
		{"escaped key", `[{"action":"drop","keys":["ssn"],"rule":"a.b"}]`, Block{}, `{"\u0073sn":"1"}`, `{"\u0073sn":""}`, "/ssn a.b 1"},
		{"keys in a text", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, `{"text":" {\"ssn\": 12, \"b\": \"<\"}\n"}`, `{"text":" {\"ssn\": 0, \"b\": \"<\"}\n"}`, "/text a.b 1"},
		{"keys in a text of a text", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, `["{\"a\":\"[{\\\"ssn\\\":\\\"1\\\"}]\"}"]`, `["{\"a\":\"[{\\\"ssn\\\":\\\"[REDACTED:key]\\\"}]\"}"]`, "/0 a.b 1"},
		{"keys in lines", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, `["{\"ssn\":\"1\"}\n{\"ssn\":\"2\"}\n"]`, `["{\"ssn\":\"[REDACTED:key]\"}\n{\"ssn\":\"[REDACTED:key]\"}\n"]`, "/0 a.b 2"},
		{"keys in what was cut off", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, `["{\"a\":1, \"ssn\" : \"12"]`, `["{\"a\":1, \"ssn\" : \"[REDACTED:key]\""]`, "/0 a.b 1"},
		{"keys in the middle", `[{"action":"mask_json_key","keys":["ssn"],"rule":"a.b"}]`, Block{}, `["so: {\"ssn\": {\"x\": \"}\"}, \"b\":1}"]`, `["so: {\"ssn\": \"[REDACTED:key]\", \"b\":1}"]`, "/0 a.b 1"},
		{"a hashed key", `[{"action":"hash","keys":["mail"],"rule":"a.b"}]`, Block{}, `{"mail":"x","n":[{"mail":"x"}]}`, `{"mail":"H","n":[{"mail":"H"}]}`, "/mail a.b 1,/n/0/mail a.b 1"},
		{"finds replaced", `[{"action":"replace","with":"TOKEN","detectors":["github"],"rule":"a.b"}]`, Block{}, `{"a":"x ` + planSecret + ` y"}`, `{"a":"x TOKEN y"}`, "/a github 1"},
		{"finds dropped", `[{"action":"drop","detectors":["vendor"],"rule":"a.b"},{"action":"hash","detectors":["github"],"rule":"a.c"}]`, Block{}, `{"a":"x ` + planSecret + ` y"}`, `{"a":"x  y"}`, "/a github 1"},
		{"finds of others", `[{"action":"drop","detectors":["slack"],"rule":"a.b"}]`, Block{}, `{"a":"` + planSecret + `"}`, `{"a":"[REDACTED:github]"}`, "/a github 1"},
		{"cut", `[{"action":"truncate","max_bytes":4,"rule":"a.b"},{"action":"truncate","max_bytes":9,"rule":"a.c"}]`, Block{}, `["abc€def","abcd"]`, `["abc…[cut at 4 bytes by rule a.b]","abcd"]`, "/0 a.b 1"},
		{"not through a placeholder", `[{"action":"truncate","max_bytes":12,"rule":"a.b"}]`, Block{}, `["ab ` + planSecret + `"]`, `["ab …[cut at 12 bytes by rule a.b]"]`, "/0 github 1,/0 a.b 1"},
		{"a covered name", `[{"action":"drop","rule":"a.b"}]`, Block{}, `{"` + planSecret + `":"x"}`, `{"[REDACTED:github]":""}`, "/[REDACTED:github] github 1,/[REDACTED:github] a.b 1"},
		{"no JSON", `[{"action":"drop","rule":"a.b"}]`, Block{}, `{"a":`, `"[REDACTED:invalid-json]"`, " invalid-json 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := plan(t, row.edits)
			want := strings.NewReplacer(`"H"`, `"`+hashed([]byte("key"), "x")+`"`, `"I"`, `"`+hashed([]byte("key"), "y")+`"`).Replace(row.want)
			out, findings := p.Apply(row.whole, json.RawMessage(row.in))
			if string(out) != want {
				t.Errorf("got  %s\nwant %s", out, want)
			}
			var told []string
			for _, f := range findings {
				told = append(told, f.Pointer+" "+f.Detector+" "+string(rune('0'+f.Count)))
			}
			if got := strings.Join(told, ","); got != row.rules {
				t.Errorf("found %s, want %s", got, row.rules)
			}
			if again, more := p.Apply(row.whole, out); string(again) != string(out) || more != nil {
				t.Errorf("a second time: %s, %v", again, more)
			}
		})
	}
}

func TestNewPlanRefuses(t *testing.T) {
	many := `[` + strings.Repeat(`{"action":"drop","rule":"a.b"},`, maxEdits) + `{"action":"drop","rule":"a.b"}]`
	for _, row := range []struct{ name, edits, fail string }{
		{"action", `[{"action":"mask","rule":"a.b"}]`, `edit 0 (rule "a.b"): action "mask": unknown, the nearest is "hash"`},
		{"rule", `[{"action":"drop","rule":"a b"}]`, "rule: want 2 to 64"},
		{"with for another", `[{"action":"drop","rule":"a.b"},{"action":"drop","rule":"a.c","with":"x"}]`, `edit 1 (rule "a.c"): with: action drop takes none`},
		{"replace without", `[{"action":"replace","rule":"a.b"}]`, "with: action replace needs it"},
		{"with a secret", `[{"action":"replace","with":"` + planSecret + `","rule":"a.b"}]`, "with: a detector (github) finds a secret in it"},
		{"no keys", `[{"action":"mask_json_key","keys":[],"rule":"a.b"}]`, "keys: empty"},
		{"keys missing", `[{"action":"mask_json_key","rule":"a.b"}]`, "keys: action mask_json_key needs it"},
		{"blank key", `[{"action":"mask_json_key","keys":[""],"rule":"a.b"}]`, "keys: want names of 1 to"},
		{"keys and detectors", `[{"action":"drop","keys":["a"],"detectors":["vendor"],"rule":"a.b"}]`, "write two edits"},
		{"keys of truncate", `[{"action":"truncate","keys":["a"],"max_bytes":3,"rule":"a.b"}]`, "keys: action truncate takes none"},
		{"no bound", `[{"action":"truncate","rule":"a.b"}]`, "max_bytes: action truncate needs it"},
		{"negative", `[{"action":"truncate","max_bytes":-1,"rule":"a.b"}]`, "max_bytes: -1, want 1 or more"},
		{"detector", `[{"action":"drop","detectors":["githab"],"rule":"a.b"}]`, `detectors: "githab" is unknown, the nearest is "github"`},
		{"no detector", `[{"action":"drop","detectors":[],"rule":"a.b"}]`, "detectors: empty"},
		{"pointer", `[{"action":"drop","rule":"a.b","select":{"pointer":"a/b"}}]`, "select.pointer: \"a/b\" is no JSON pointer"},
		{"escape", `[{"action":"drop","rule":"a.b","select":{"pointer":"/a~2"}}]`, "write ~0 for ~"},
		{"glob", `[{"action":"drop","rule":"a.b","select":{"tools":["[a"]}}]`, `select.tools: "[a" is no glob`},
		{"many", many, "plan has 1001 edits"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var s Spec
			if err := json.Unmarshal([]byte(row.edits), &s.Edits); err != nil {
				t.Fatal(err)
			}
			if _, err := NewPlan(s); err == nil || !strings.Contains(err.Error(), row.fail) {
				t.Errorf("got %v, want an error with %s", err, row.fail)
			}
		})
	}
}

func TestSpecSurvivesJSON(t *testing.T) {
	s := Spec{
		Options: Options{Context: true, Custom: []Custom{{Name: "ticket", Pattern: `REF-\d+`, Keywords: []string{"ref"}}}},
		Edits: []Edit{{
			Select: Select{Blocks: []string{"text"}, Tools: []string{"mcp__*"}, Pointer: "/a/*"}, Action: Replace, Detectors: []string{"ticket"}, With: "<x>", Rule: "a.b", Reason: "r",
		}, {Action: Truncate, MaxBytes: 9, Rule: "a.c"}, {Action: MaskJSONKey, Keys: []string{"a"}, Rule: "a.d"}},
		HashKey: []byte{0, 1, 255},
	}
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var back Spec
	if err := json.Unmarshal(raw, &back); err != nil || !reflect.DeepEqual(s, back) {
		t.Errorf("%s became %+v, %v", raw, back, err)
	}
	if _, err := NewPlan(back); err != nil {
		t.Error(err)
	}
}

func TestContextOfEdits(t *testing.T) {
	weak := "pass" + "word = \"Tr0ub4dor&3xQ9!\""
	in, _ := json.Marshal(map[string]string{"a": weak})
	everywhere := plan(t, `[{"action":"redact","detectors":["context"],"rule":"a.b"}]`)
	if len(everywhere.edits) != 0 {
		t.Errorf("an edit that a scanner does by itself is kept: %v", everywhere.edits)
	}
	for _, row := range []struct {
		name string
		p    *Plan
		want bool
	}{
		{"vendor only", plan(t, `[]`), false},
		{"everywhere", everywhere, true},
		{"there", plan(t, `[{"action":"redact","detectors":["context"],"rule":"a.b","select":{"pointer":"/a"}}]`), true},
		{"elsewhere", plan(t, `[{"action":"redact","detectors":["context"],"rule":"a.b","select":{"pointer":"/b"}}]`), false},
	} {
		if out, _ := row.p.Apply(Block{}, in); strings.Contains(string(out), "[REDACTED:context]") != row.want {
			t.Errorf("%s: got %s", row.name, out)
		}
	}
}

func TestCleanPlanAllocatesNothing(t *testing.T) {
	p := plan(t, `[{"action":"redact","detectors":["context"],"rule":"a.b"}]`)
	doc := json.RawMessage(`{"type":"assistant","message":{"content":[{"type":"text","text":"` + strings.Repeat("plain words ", 30) + `"}]}}`)
	if n := testing.AllocsPerRun(100, func() { p.Apply(Block{}, doc) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzPlan: applying a plan twice changes nothing more, and what was JSON is.
func FuzzPlan(f *testing.F) {
	plans := []*Plan{
		plan(f, `[{"action":"truncate","max_bytes":20,"rule":"a.b"},{"action":"mask_json_key","keys":["a","k"],"rule":"a.c"}]`),
		plan(f, `[{"action":"hash","detectors":["vendor"],"rule":"a.b"},{"action":"drop","detectors":["context"],"rule":"a.c"},{"action":"hash","keys":["k"],"rule":"a.d"}]`),
		plan(f, `[{"action":"replace","with":"ghp_","detectors":["vendor"],"rule":"a.b"},{"action":"truncate","max_bytes":45,"rule":"a.c"}]`),
		plan(f, `[{"action":"hash","rule":"a.b","select":{"pointer":"/a"}},{"action":"redact","rule":"a.c","select":{"blocks":["text"]}}]`),
	}
	f.Add(`{"a":"`+planSecret+`","k":{"x":1}}`, "k")
	f.Add("{\"a\":\"ghp_aB3xaB3xaB3xaB3xaB3xaB3xaB3xaB3xaB\xd7\xd7\xd7\xd7\xd7\xd7\xd7\xd73x\"}", "\xff")
	f.Add(`{"message":{"content":[{"type":"text","text":"{\"k\":1"}]}}`, "{\"k\": \"x")
	f.Add(`["a \"k\": [1,{\"a\":2}] `+planSecret+planSecret+`"]`, "\"a\":")
	f.Fuzz(func(t *testing.T, doc, text string) {
		if quoted, err := json.Marshal(map[string]string{"a": text, "b": text + planSecret + text}); err == nil {
			twice(t, plans, quoted)
		}
		if json.Valid([]byte(doc)) {
			twice(t, plans, json.RawMessage(doc))
		}
	})
}

func twice(t *testing.T, plans []*Plan, doc json.RawMessage) {
	t.Helper()
	for i, p := range plans {
		once, _ := p.Apply(Block{}, doc)
		if !json.Valid(once) {
			t.Fatalf("plan %d: %q became %q", i, doc, once)
		}
		if again, more := p.Apply(Block{}, once); string(again) != string(once) || more != nil {
			t.Fatalf("plan %d: %q became %q and then %q, %v", i, doc, once, again, more)
		}
	}
}
