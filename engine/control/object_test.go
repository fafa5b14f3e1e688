package control

import (
	"encoding/json"
	"reflect"
	"testing"
)

// objectTexts are documents whose members are easy to miss.
var objectTexts = []string{
	`{}`, ` { } `, `{"a":1}`, `{"a":1,"b":"x"}`, "{\n\t\"a\" : [ 1 , 2 ] ,\r\n \"b\" : { \"c\" : null } }\n",
	`{"a":"}","b":"\"}","c":"\\","d":"[{"}`, `{"a":{"b":["}","]"]},"c":[[{}],"\\\""]}`,
	`{"a":1,"a":2}`, `{"\u0061":1,"é":2,"a\/b":3,"\"":4,"":5}`, `{"A":1,"a":2}`, `{"a":-1.5e+3,"b":true ,"c":false,"d":null}`,
	`null`, `[]`, `"x"`, `1`, ``, ` `, `{`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1}x`, `{a:1}`, `{"a":"` + "\n" + `"}`, `nul`,
}

// agrees compares object with what encoding/json makes of a text.
func agrees(t *testing.T, raw string) {
	t.Helper()
	var want map[string]json.RawMessage
	wantErr := json.Unmarshal([]byte(raw), &want) != nil || want == nil
	got, err := object(json.RawMessage(raw))
	if (err != nil) != wantErr {
		t.Fatalf("%q: error %v, want one: %t", raw, err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: got %q, want %q", raw, got, want)
	}
}

func TestObject(t *testing.T) {
	for _, raw := range objectTexts {
		agrees(t, raw)
	}
}

func FuzzObject(f *testing.F) {
	for _, raw := range objectTexts {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) { agrees(t, raw) })
}

func TestObjectMembersCannotGrowIntoEachOther(t *testing.T) {
	m, err := object(json.RawMessage(`{"a":1,"b":2}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = append(m["a"], "9999999"...)
	if string(m["b"]) != "2" {
		t.Errorf("b became %s", m["b"])
	}
}
