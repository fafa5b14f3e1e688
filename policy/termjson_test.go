package policy

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestWrittenTerm(t *testing.T) {
	const text = `{"a":[1,-2.5,1e400,9007199254740993,true,false,null,"",[],{}],"é\u0000\"\\<>&\u2028":"\n😀","z":{"b":"x","a":{}}}`
	value, err := decodeValue(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	term := toTerm(map[string]any{"v": value})
	got, err := writtenTerm(term.Value)
	if err != nil {
		t.Fatal(err)
	}
	again, err := decodeValue(got)
	if err != nil || !reflect.DeepEqual(again, map[string]any{"v": value}) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := writtenTerm(ast.NewSet(ast.StringTerm("a"))); err == nil {
		t.Error("a set was written")
	}
}
