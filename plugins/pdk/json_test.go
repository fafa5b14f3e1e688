package pdk

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

var texts = []string{
	"", "a", `say "no"`, `back\slash`, "line\nreturn\rtab\t", "\x00\x01\x1f\x7f", "ü€😀", "bad \xff\xc3 bytes", "\u2028</script>",
	`{"a":"b"}`, "[]", `{"`, `["x"`, "12", "true", "~/~1",
}

func FuzzQuote(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal([]byte(Quote(s)), &back); err != nil {
			t.Fatalf("%q: %s: %v", s, Quote(s), err)
		}
		want := strings.Map(func(r rune) rune { return r }, s) // ill-formed bytes as U+FFFD, each
		if back != want {
			t.Errorf("%q became %q", s, back)
		}
	})
}

// FuzzStrings compares with encoding/json, which the host uses.
func FuzzStrings(f *testing.F) {
	for _, s := range append(texts, `{"a":[1,true,null,"x",{"b/c":"y","~":"\ud83d\ude00\ud800 \u00e4\/"}],"":"z","e":{},"l":[]}`,
		`[[["deep"]]]`, ` { "a" : [ "b" , 1 ] } `, `{"a\"b":"c"}`, `"\uD800A"`, `"\uDC00😀"`, "[\"\xff\xc3\",\"\\n\\b\\f\"]", `[1e5,"x"]`) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, payload string) {
		var tree any
		if json.Unmarshal([]byte(payload), &tree) != nil || twice(payload) {
			return
		}
		want := map[string]string{}
		collect(tree, "", want)
		got := map[string]string{}
		Test(t, `{"payload":`+payload+`}`, func() int32 {
			Strings("/payload", func(at, text string) { got[at] = text })
			return 0
		})
		if len(want) == 0 && len(got) == 1 { // a number or a word alone
			delete(got, "")
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	})
}

func collect(v any, at string, to map[string]string) {
	switch v := v.(type) {
	case string:
		to[at] = v
	case []any:
		for i, item := range v {
			collect(item, at+"/"+strconv.Itoa(i), to)
		}
	case map[string]any:
		for name, value := range v {
			collect(value, at+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name), to)
		}
	}
}

// twice says whether an object has a name twice: all of its values are told, and
// encoding/json knows the last one only.
func twice(payload string) bool {
	var v any
	_ = json.Unmarshal([]byte(payload), &v) // it did before
	once, _ := json.Marshal(v)
	return tokens(payload) != tokens(string(once))
}

func tokens(text string) (n int) {
	for dec := json.NewDecoder(strings.NewReader(text)); ; n++ {
		if _, err := dec.Token(); err != nil {
			return n
		}
	}
}
