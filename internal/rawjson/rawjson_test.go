package rawjson

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEach(t *testing.T) {
	for doc, want := range map[string]string{
		`{}`: "", ` { "a" : 1 } `: `a=1`, `{"a":{"b":["}","]"]},"c":[[{}],"\\\""]}`: `a={"b":["}","]"]} c=[[{}],"\\\""]`,
		"{\"\\u0061\":\"x\\\"}\" ,\r\n\t\"a\":-1e+3,\"\":null}": `a="x\"}" a=-1e+3 =null`,
	} {
		var got []string
		if !Each([]byte(doc), func(literal, value []byte) {
			name, err := Name(literal)
			if err != nil {
				t.Error(err)
			}
			got = append(got, name+"="+string(value))
			_ = append(literal, "9999"...)
			_ = append(value, "9999"...)
		}) {
			t.Errorf("%s: no object", doc)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", doc, got, want)
		}
	}
	for _, doc := range []string{`[]`, `"{}"`, `1`, `null`, ``, ` `} {
		if Each([]byte(doc), func(_, _ []byte) { t.Errorf("%s has a member", doc) }) {
			t.Errorf("%s is an object", doc)
		}
	}
}

func TestKind(t *testing.T) {
	for doc, want := range map[string]string{
		` {}`: "an object", `[1]`: "an array", "\n\"x\"": "a string", `-1`: "a number", `true`: "a boolean", `false`: "a boolean", `null`: "null", ` `: "nothing",
	} {
		if got := Kind([]byte(doc)); got != want {
			t.Errorf("%q is %s, want %s", doc, got, want)
		}
	}
}

// FuzzEach: the members of a valid object put together again are the object.
func FuzzEach(f *testing.F) {
	f.Add(`{"a":[1,{"b":"}"}],"c":"\\"}`)
	f.Fuzz(func(t *testing.T, doc string) {
		if !json.Valid([]byte(doc)) {
			return
		}
		parts := []string{}
		if !Each([]byte(doc), func(literal, value []byte) { parts = append(parts, string(literal)+":"+string(value)) }) {
			return
		}
		again := "{" + strings.Join(parts, ",") + "}"
		var want, got any
		if json.Unmarshal([]byte(doc), &want) != nil || json.Unmarshal([]byte(again), &got) != nil {
			t.Fatalf("%q became %q", doc, again)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("%q became %q", doc, again)
		}
	})
}

func TestItems(t *testing.T) {
	for doc, want := range map[string]string{
		`[]`: "", ` [ 1 , "a]\\" ,{"b":["\"]"]} , null ] `: `1|"a]\\"|{"b":["\"]"]}|null|`, `["\\\\\"x","\\"]`: `"\\\\\"x"|"\\"|`,
	} {
		var got strings.Builder
		if !Items([]byte(doc), func(value []byte) { got.WriteString(string(value) + "|") }) {
			t.Errorf("%s: no array", doc)
		}
		if got.String() != want {
			t.Errorf("%s: %q, want %q", doc, got.String(), want)
		}
	}
	for _, doc := range []string{`{}`, `"[]"`, ``, `1`} {
		if Items([]byte(doc), func([]byte) { t.Errorf("%s has an element", doc) }) {
			t.Errorf("%s is an array", doc)
		}
	}
}
