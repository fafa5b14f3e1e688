package plugins

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
)

func TestDocumentGet(t *testing.T) {
	d := newDocument(PrePermission, map[string]json.RawMessage{
		"now":  json.RawMessage(`"2026-01-02T03:04:05Z"`),
		"text": json.RawMessage(`"plain ü"`), "escaped": json.RawMessage(`"a\n\"b\" \ud83d\ude00 \ud800"`),
		"number": json.RawMessage(`1.50e+300`), "odd/~name": json.RawMessage(`{"a/b":{"m~n":1},"":{"":"empty"},"a/b ":2}`),
		"list": json.RawMessage(` [ 10 , {"x":[true,null]} , "two" ] `), "twice": json.RawMessage(`{"k":1,"k":{"z":2},"\u006b":3}`),
	})
	v := &view{document: d, config: newTape([]byte(`{"level":3}`)), data: func() *tape { return newTape([]byte(`{"a":{"b":[1]}}`)) }}
	for path, want := range map[string]string{
		"/abi": ABI, "/hook": "pre_permission", "/now": "2026-01-02T03:04:05Z",
		"/text": "plain ü", "/escaped": "a\n\"b\" 😀 \ufffd", "/number": "1.50e+300",
		"/odd~1~0name/a~1b/m~0n": "1", "/odd~1~0name//": "empty", "/odd~1~0name/a~1b ": "2",
		"/list/0": "10", "/list/1/x": "[true,null]", "/list/1/x/1": "null", "/list/2": "two",
		"/twice/k": "3", "/config/level": "3", "/data/a/b": "[1]",
	} {
		if got, found, err := v.get(path); string(got) != want || !found || err != nil {
			t.Errorf("%s is %q, %v, %v, want %q", path, got, found, err, want)
		}
	}
	for _, path := range []string{"/", "/none", "/text/x", "/list/-", "/list/3", "/list/01", "/list/1x", "/list/99999999999999999999", "/list/", "/number/0", "/TEXT", "/config/x"} {
		if got, found, err := v.get(path); found || err != nil {
			t.Errorf("%s is %q, %v, want nothing", path, got, err)
		}
	}
	for path, valid := range map[string]bool{"": true, "/": true, "/a~0~1": true, "a": false, "/~": false, "/a~2": false, "/~0~": false} {
		if validPointer(path) != valid {
			t.Errorf("%q: valid is %v", path, !valid)
		}
	}
}

func TestDocumentWhole(t *testing.T) {
	d := newDocument(PrePermission, map[string]json.RawMessage{"a": json.RawMessage(`[1]`), "now": json.RawMessage(`"n"`)})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() { // ends by itself
			v := &view{document: d, config: newTape(fmt.Appendf(nil, `{"i":%d}`, i))}
			got, _, err := v.get("")
			want := fmt.Sprintf(`{"a":[1],"abi":%q,"hook":"pre_permission","now":"n","config":{"i":%d}}`, ABI, i)
			if string(got) != want || err != nil {
				t.Errorf("got %s, %v, want %s", got, err, want)
			}
		})
	}
	all.Wait()
}

func TestDocumentBounds(t *testing.T) {
	deep := json.RawMessage(strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth))
	v := &view{document: newDocument(PrePermission, map[string]json.RawMessage{
		"deep": deep, "deeper": json.RawMessage(`[` + string(deep) + `]`), "broken": json.RawMessage(`{"a":[1,}`),
	})}
	if _, found, err := v.get("/deep" + strings.Repeat("/0", MaxDepth-1)); !found || err != nil {
		t.Errorf("as deep as may be: %v, %v", found, err)
	}
	for _, name := range []string{"deeper", "broken"} {
		if _, found, err := v.get("/" + name); found || err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	large := &view{document: newDocument(PrePermission, map[string]json.RawMessage{"a": make([]byte, MaxDocument)})}
	if _, _, err := large.get("/hook"); err == nil || !strings.Contains(err.Error(), "more than 67108864") {
		t.Errorf("too large: %v", err)
	}
}

func TestSelectData(t *testing.T) {
	data := map[string]any{"a": map[string]any{"b": 1, "c": map[string]any{"d": []any{2}}}, "x": nil, "a.b": 9}
	for want, paths := range map[string][]string{
		`{}`:                                   nil,
		`{"a":{"b":1}}`:                        {"a.b", "a.none", "none.b", "a.b.c"},
		`{"a":{"b":1,"c":{"d":[2]}}}`:          {"a.c.d", "a", "a.b"},
		`{"a":{"b":1,"c":{"d":[2]}},"x":null}`: {"a.c.d", "a.b", "x"},
	} {
		got, err := selectData(data, paths)
		if string(got) != want || err != nil {
			t.Errorf("%v gives %s, %v, want %s", paths, got, err, want)
		}
	}
	if len(data["a"].(map[string]any)) != 2 {
		t.Errorf("the data was changed: %v", data)
	}
}

// FuzzDocument looks up what encoding/json has decoded.
func FuzzDocument(f *testing.F) {
	f.Add(`{"a":[1,{"b\n":"x\u0000"}],"":{"~":null,"/":[[]]}}`)
	f.Add(` [ "\ud800" , 1e5 , -0 , {"a":1,"a":2} ] `)
	f.Add(`{"a":`)
	f.Fuzz(func(t *testing.T, text string) {
		made := newTape([]byte(text))
		err := made.make()
		var whole any
		decoder := json.NewDecoder(strings.NewReader(text))
		decoder.UseNumber()
		if !json.Valid([]byte(text)) || decoder.Decode(&whole) != nil {
			if err == nil { // it trusts that JSON is valid, but must not run out of it
				made.find("/a/0/b")
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		compare(t, made, "", whole)
	})
}

func compare(t *testing.T, made *tape, path string, want any) {
	at := made.find(path)
	if at < 0 {
		t.Fatalf("%q: %q is missing", made.raw, path)
	}
	text := made.text(at)
	switch want := want.(type) {
	case string:
		if string(text) != want {
			t.Fatalf("%q: %q is %q, want %q", made.raw, path, text, want)
		}
		return
	case map[string]any:
		for name, value := range want {
			compare(t, made, path+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), value)
		}
	case []any:
		for i, value := range want {
			compare(t, made, path+"/"+strconv.Itoa(i), value)
		}
	}
	var got any
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	if err := decoder.Decode(&got); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: %q is %q (%v), want %v", made.raw, path, text, err, want)
	}
}
