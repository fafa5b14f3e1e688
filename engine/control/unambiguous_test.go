package control

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
)

// tokenCheck is Check in another way, slower and easier to see through: what a
// decoder finds token by token.
func tokenCheck(raw []byte) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []*tokens
	for {
		tok, err := dec.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		}
		if err != nil {
			return err
		}
		if open, err = step(open, tok); err != nil {
			return err
		}
	}
}

// tokens is one open object or array while checking.
type tokens struct {
	keys  map[string]bool // nil for an array
	value bool            // the next token of an object is a value
}

func step(open []*tokens, tok json.Token) ([]*tokens, error) {
	var top *tokens
	if len(open) > 0 {
		top = open[len(open)-1]
	}
	if d, ok := tok.(json.Delim); ok && (d == '}' || d == ']') {
		return open[:len(open)-1], nil
	}
	if top != nil && top.keys != nil {
		if !top.value {
			key := tok.(string) // the decoder lets nothing else stand here
			if top.keys[key] {
				return nil, fmt.Errorf("key %q stands twice in one object", key)
			}
			top.keys[key], top.value = true, true
			return open, nil
		}
		top.value = false
	}
	d, ok := tok.(json.Delim)
	if !ok {
		return open, nil
	}
	if len(open) == MaxDepth {
		return nil, fmt.Errorf("nested deeper than %d levels", MaxDepth)
	}
	next := &tokens{}
	if d == '{' {
		next.keys = make(map[string]bool)
	}
	return append(open, next), nil
}

// checkTexts are documents whose keys are easy to mistake.
var checkTexts = []string{
	`{}`, `[]`, `1`, `"x"`, `{"a":1,"b":[{"a":1},{"a":1}],"c":{"a":{"a":1}}}`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"\u0061":1,"a":2}`,
	`{"a":"a","b":"a"}`, `{"a":["a","a"],"b":1}`, `{"a":{"b":1},"b":2}`, `{"x":[1,{"k":1,"k":2}]}`, `{"":1,"":2}`, `{"a\\":1,"a\\":2}`,
	`{"a\"":1,"a":2,"a\\\"":3}`, `{"a":"\\\"","a\\":"}","b":"{\"a\":1,\"a\":2}"}`, `{"é":1,"\u00e9":2}`, `{"\ud83d\ude00":1,"😀":2}`,
	`{"\/":1,"/":2}`, `{"\ud800":1,"\ud801":2}`, "{\"\xff\":1,\"\xfe\":2}", "{\"\xff\":1,\"\ufffd\":2}", ` { "a" : 1 , "b" : { } , "c" : [ ] } `,
	`{"a":1`, `{"a":1}}`, `{"a":1}{}`, `{"a" 1}`, `{a:1}`, ``, `[,]`, `[1,]`, `{"a":1,}`, `nul`, "\"\n\"",
}

// sameVerdict compares the two ways; where there is more than one document, or
// none, only Check says so.
func sameVerdict(t *testing.T, raw string) {
	t.Helper()
	got, want := Check([]byte(raw)), tokenCheck([]byte(raw))
	if want == nil && !json.Valid([]byte(raw)) {
		want = io.ErrUnexpectedEOF
	}
	if (got == nil) != (want == nil) {
		t.Fatalf("%.300q: %v, want %v", raw, got, want)
	}
	if got != nil && strings.Contains(want.Error(), "stands twice") && json.Valid([]byte(raw)) && got.Error() != want.Error() {
		t.Fatalf("%.300q: %v, want %v", raw, got, want)
	}
}

func TestCheck(t *testing.T) {
	var many []string
	for i := range 3 * fewKeys {
		many = append(many, fmt.Sprintf(`"k%d":{"k%d":1}`, i, i))
		sameVerdict(t, "{"+strings.Join(many, ",")+"}")
		for _, again := range []string{`"k0":1`, fmt.Sprintf(`"k%d":1`, i), fmt.Sprintf(`"\u006b%d":1`, i)} {
			raw := "{" + strings.Join(many, ",") + "," + again + "}"
			if sameVerdict(t, raw); Check([]byte(raw)) == nil {
				t.Fatalf("%s passed", raw)
			}
		}
	}
	for _, n := range []int{MaxDepth - 1, MaxDepth, MaxDepth + 1, 10_000, 10_001} {
		sameVerdict(t, strings.Repeat("[", n)+strings.Repeat("]", n))
		sameVerdict(t, strings.Repeat(`{"a":`, n)+"1"+strings.Repeat("}", n))
	}
	for _, raw := range checkTexts {
		sameVerdict(t, raw)
	}
}

func FuzzCheck(f *testing.F) {
	for _, raw := range checkTexts {
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw string) { sameVerdict(t, raw) })
}
