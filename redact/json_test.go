package redact

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestJSON(t *testing.T) {
	key := secrets[0].token
	escaped := `\u0073` + key[1:] // the first letter as an escape
	tests := []struct {
		name, in, want string
		findings       []Finding
	}{
		{"clean stays byte for byte", " { \"a\" : [1, \"b\\u0020\"] }\n", " { \"a\" : [1, \"b\\u0020\"] }\n", nil},
		{"member", `{"a":"` + key + `","b":1}`, `{"a":"[REDACTED:anthropic]","b":1}`, []Finding{{"/a", "anthropic", 1}}},
		{"escaped", `{"a":"` + escaped + `"}`, `{"a":"[REDACTED:anthropic]"}`, []Finding{{"/a", "anthropic", 1}}},
		{"array, twice", `["x",["` + key + " " + key + `"]]`, `["x",["[REDACTED:anthropic] [REDACTED:anthropic]"]]`, []Finding{{"/1/0", "anthropic", 2}}},
		{"key", `{"` + key + `":{"b":2}}`, `{"[REDACTED:anthropic]":{"b":2}}`, []Finding{{"/[REDACTED:anthropic]", "anthropic", 1}}},
		{"pointer is escaped", `{"a/b~c":"` + key + `"}`, `{"a/b~c":"[REDACTED:anthropic]"}`, []Finding{{"/a~1b~0c", "anthropic", 1}}},
		{"document in a string", `{"a":"{\"b\":\"` + key + `\\n\"}"}`, `{"a":"{\"b\":\"[REDACTED:anthropic]\\n\"}"}`, []Finding{{"/a", "anthropic", 1}}},
		{"a string alone", `"` + key + `"`, `"[REDACTED:anthropic]"`, []Finding{{"", "anthropic", 1}}},
		{"shell text stays readable", `"a && b > ` + key + `"`, `"a && b > [REDACTED:anthropic]"`, []Finding{{"", "anthropic", 1}}},
		{"not JSON", `{"a":"` + key, `"[REDACTED:invalid-json]"`, []Finding{{"", "invalid-json", 1}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, findings := Scanner{}.JSON(json.RawMessage(tt.in))
			if string(got) != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !reflect.DeepEqual(findings, tt.findings) {
				t.Errorf("findings = %v, want %v", findings, tt.findings)
			}
		})
	}
}

func TestHasPlaceholder(t *testing.T) {
	for text, want := range map[string]bool{
		`{"a":"[REDACTED:aws]"}`:      true,
		`{"a":"\u005bREDACTED:aws]"}`: true,
		`{"[REDACTED:aws]":1}`:        true,
		`plain [REDACTED:aws]`:        true,
		`{"a":"REDACTED"}`:            false,
		`not json`:                    false,
	} {
		if got := HasPlaceholder([]byte(text)); got != want {
			t.Errorf("HasPlaceholder(%s) = %v, want %v", text, got, want)
		}
	}
}

func TestShape(t *testing.T) {
	key := secrets[0].token
	in := `{"type":"text","stdout":"` + key + `","stderr":"","n":3,"ok":true,"list":["a",null],"` + key + `":1}`
	want := `{"type":"text","stdout":"[REDACTED:output]","stderr":"","n":3,"ok":true,"list":["[REDACTED:output]",null],"[REDACTED:anthropic]":1}`
	if got := (Scanner{}).Shape(json.RawMessage(in)); string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := (Scanner{}).Shape(json.RawMessage(`{`)); string(got) != `"[REDACTED:output]"` {
		t.Errorf("broken input gives %s", got)
	}
	if got := (Scanner{}).Shape(json.RawMessage(`{"type":"` + strings.ToUpper(key) + `"}`)); bytes.Contains(got, []byte("SK-")) {
		t.Errorf("a secret under type stays: %s", got)
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range secrets {
		doc, err := json.Marshal(map[string]any{s.token: []string{s.token, "x"}})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	f.Add([]byte(`{"a":{"b":[1,"\ud800",true]}} `))
	f.Fuzz(func(t *testing.T, in []byte) {
		once, findings := Scanner{}.JSON(in)
		if !json.Valid(once) {
			t.Fatalf("%q became %q, which is not JSON", in, once)
		}
		if findings == nil && !bytes.Equal(in, once) {
			t.Errorf("clean %q changed to %q", in, once)
		}
		twice, _ := Scanner{}.JSON(once)
		if !bytes.Equal(once, twice) {
			t.Errorf("second pass changed %q to %q", once, twice)
		}
		if shape := (Scanner{}).Shape(in); !json.Valid(shape) {
			t.Errorf("shape of %q is %q", in, shape)
		}
	})
}

func BenchmarkJSON64KiB(b *testing.B) {
	doc, err := json.Marshal(map[string]string{"text": strings.Repeat("some ordinary words, a path/to/file\n", 1820)})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(doc)))
	for b.Loop() {
		Scanner{}.JSON(doc)
	}
}
