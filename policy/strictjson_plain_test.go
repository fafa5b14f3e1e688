package policy

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

var plainSeeds = []string{
	`{"command":"npm test"}`, ` { "a" : "b" , "c" : true,"d":false , "e":null } `, `{}`, `{"a":1}`, `{"a":{}}`, `{"a":[]}`, `{"a":"b","a":"c"}`,
	`{"a":"b",}`, `{,"a":"b"}`, `{"a" "b"}`, `{"a":"b"} x`, `{"a":"b"}{}`, `{"a":truex}`, `{"a":tru}`, `{"a":true`, `{"a":"\u0041"}`, `{"a":"ä"}`,
	"{\"a\":\"b\x01\"}", "{\"a\":\"b\x7f\"}", `"a"`, `[]`, ``, `{`, `{"`, `{"a`, `{"a":"`, "{\"a\":\"\xff\"}", `{"":""}`, `{"a":nullnull}`, `{"a":null "b":null}`,
	`{"a":"` + strings.Repeat("x", maxStringBytes+1) + `"}`,
}

// samePlain holds the quick reader against the careful one: what it takes, the
// other takes with the same result.
func samePlain(t *testing.T, raw string) (taken bool) {
	t.Helper()
	got, ok := plainObject(json.RawMessage(raw))
	if !ok {
		return false
	}
	want, err := decodeValue(json.RawMessage(raw))
	if err != nil || !reflect.DeepEqual(any(got), want) {
		t.Errorf("%.80q: got %v, want %v (%v)", raw, got, want, err)
	}
	return true
}

func TestPlainObject(t *testing.T) {
	taken := 0
	for _, raw := range plainSeeds {
		if samePlain(t, raw) {
			taken++
		}
	}
	if taken != 4 {
		t.Errorf("%d of the texts are plain, want 4", taken)
	}
}

func FuzzPlainObject(f *testing.F) {
	for _, raw := range plainSeeds[:len(plainSeeds)-1] {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) { samePlain(t, raw) })
}
