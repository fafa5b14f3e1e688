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

func TestPlaceholders(t *testing.T) {
	in := `{"a":"x [REDACTED:aws] [REDACTED:aws]","b":["[REDACTED:hash:0123456789ab]",{"[REDACTED:jwt]":1}],"c":"[REDACTED:]","d":"[REDACTED: a"}`
	want := []Finding{{"/a", "aws", 2}, {"/b/0", "hash:0123456789ab", 1}, {"/b/1/[REDACTED:jwt]", "jwt", 1}}
	if got := Placeholders(json.RawMessage(in)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, in := range []string{`{"a":1}`, `{`, `[REDACTED:aws]`} {
		if got := Placeholders(json.RawMessage(in)); got != nil {
			t.Errorf("%s: got %v, want nil", in, got)
		}
	}
}

// A clean document is the very same slice.
func TestJSONKeepsCleanDocuments(t *testing.T) {
	for name, text := range cleanTexts(2 << 10) {
		raw, err := json.Marshal(map[string]any{"text": text, "n": []any{1, nil, "\u00e9\n"}})
		if err != nil {
			t.Fatal(err)
		}
		got, found := Scanner{}.JSON(raw)
		if found != nil || len(got) != len(raw) || &got[0] != &raw[0] {
			t.Errorf("%s: a clean document was copied: %v", name, found)
		}
	}
	event := json.RawMessage(`{"type":"assistant","message":{"content":[{"type":"text","text":"a \"task-1\"\nof some lists"}]}}`)
	if n := testing.AllocsPerRun(10, func() { Scanner{}.JSON(event) }); n != 0 {
		t.Errorf("a clean event costs %v allocations", n)
	}
}

// walked is what JSON does without looking at the raw bytes first.
func walked(sc Scanner, raw json.RawMessage) string {
	r := sc.rules()
	w := walker{in: string(raw)}
	w.text = func(key, s string, isKey bool) (string, []Hit) {
		if isKey {
			key = ""
		}
		return r.string(key, s)
	}
	w.value("")
	return string(append(w.out, w.in[w.kept:]...))
}

// The look at the raw bytes must not take for clean what decoding shows.
func TestJSONOfEverySample(t *testing.T) {
	for _, kind := range kinds() {
		for _, s := range samples(kind) {
			for _, text := range []string{s, "line\n" + s + "\n", "\x1b[31m" + s, `"` + s + `"`, "\t" + s + "\x00é", nested(t, s, 1), nested(t, "\n"+s, 2)} {
				raw, err := json.Marshal([]any{text, map[string]string{"k": text}})
				if err != nil {
					t.Fatal(err)
				}
				got, found := Scanner{}.JSON(raw)
				if want := walked(Scanner{}, raw); string(got) != want || found == nil {
					t.Errorf("%s: %q became %q with %v, want %q", kind, raw, got, found, want)
				}
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	for _, s := range secrets {
		doc, err := json.Marshal(map[string]any{s.token: []string{s.token, "x\n" + s.token}, "password": "hunter2hunter2"})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	f.Add([]byte(`{"a":{"b":[1,"\ud800",true]}} `))
	f.Add([]byte(`{"a":"\u0073k-ant-\/%41\n","b":-1.5e+3,"c":[[],{}]}`))
	all := wide(f)
	f.Fuzz(func(t *testing.T, in []byte) {
		if valid(in) != json.Valid(in) {
			t.Fatalf("%q: valid = %v", in, valid(in))
		}
		for _, sc := range []Scanner{{}, all} {
			once, findings := sc.JSON(in)
			if !json.Valid(once) {
				t.Fatalf("%q became %q, which is not JSON", in, once)
			}
			if findings == nil && !bytes.Equal(in, once) {
				t.Errorf("clean %q changed to %q", in, once)
			}
			if json.Valid(in) && walked(sc, in) != string(once) {
				t.Errorf("%q became %q, but walked %q", in, once, walked(sc, in))
			}
			if twice, _ := sc.JSON(once); !bytes.Equal(once, twice) {
				t.Errorf("second pass changed %q to %q", once, twice)
			}
			if shape := sc.Shape(in); !json.Valid(shape) {
				t.Errorf("shape of %q is %q", in, shape)
			}
		}
	})
}
