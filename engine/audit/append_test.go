package audit

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

// filled sets every field of a struct to something that is not empty.
func filled(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		filled(v.Elem(), text)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			filled(v.Field(i), text)
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(` {"a": [1, "<&>"]} `))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		filled(v.Index(0), text)
		filled(v.Index(1), text+"2")
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(-7)
	case reflect.Bool:
		v.SetBool(true)
	}
}

// byJSON is the body of a record as encoding/json has it.
func byJSON(t *testing.T, r Record) string {
	t.Helper()
	r.Seq, r.Time, r.Boot, r.Prev, r.Hash = 0, time.Time{}, "", "", ""
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		t.Fatal(err)
	}
	body := strings.TrimPrefix(b.String(), `{"seq":0,"time":"0001-01-01T00:00:00Z","boot":"",`)
	return strings.TrimSuffix(body, `,"prev":"","h":""}`+"\n")
}

func TestBodyIsThatOfEncodingJSON(t *testing.T) {
	for _, text := range []string{"", "plain", "a\"b\\c\n<&>", "é\u2028\u2029\x7f", "bad\xffutf\xc3", "\x00\x1f\t", "😀"} {
		var full Record
		filled(reflect.ValueOf(&full).Elem(), text)
		for _, r := range []Record{full, {Kind: Kind(text)}, {Kind: Limit, Principal: &Principal{}, CLI: &CLI{}, Input: &Input{}, Verdict: &Verdict{}, By: &By{}, Policy: &Policy{}}} {
			got, err := appendBody(nil, &r)
			if err != nil {
				t.Fatal(err)
			}
			var a, b any
			if err := json.Unmarshal([]byte("{"+string(got)+"}"), &a); err != nil {
				t.Fatalf("%q: %v: %s", text, err, got)
			}
			want := byJSON(t, r)
			if err := json.Unmarshal([]byte("{"+want+"}"), &b); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(a, b) {
				t.Errorf("%q:\n got %s\nwant %s", text, got, want)
			}
			if text == "plain" && string(got) != want {
				t.Errorf("order:\n got %s\nwant %s", got, want)
			}
		}
	}
	if _, err := appendBody(nil, &Record{Kind: Limit, Detail: json.RawMessage(`{"a":`)}); err == nil {
		t.Error("a detail that is no JSON was taken")
	}
}

// Whatever is in a record, its line is short enough to be read, and says what was cut.
func TestBounds(t *testing.T) {
	r := newRig(t)
	l := r.open(t)
	var huge Record
	filled(reflect.ValueOf(&huge).Elem(), strings.Repeat("\x01", 5000))
	huge.Detail = json.RawMessage(`"` + strings.Repeat("x", 50_000) + `"`)
	huge.Verdict.Rules = make([]string, 1000)
	huge.Principal.Groups, huge.Plugins = make([]string, 1000), make([]Plugin, 1000)
	record(t, l, huge)
	long := decision("Bash", strings.Repeat("é", 3000))
	long.Detail = huge.Detail
	record(t, l, long)
	if huge.Verdict.Rules[999] != "" || len(huge.Verdict.Rules) != 1000 || len(long.Input.Excerpt) != 6000 {
		t.Error("the caller's record was changed")
	}
	closeLog(t, l)
	_, texts := r.read(t)
	for line := range strings.Lines(texts[0]) {
		if len(line) > maxRecord {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	got := r.records(t)[3]
	if len(got.Input.Excerpt) > 2100 || !strings.HasSuffix(got.Input.Excerpt, "… (3952 bytes more)") || string(got.Detail) != `{"cut":50002}` {
		t.Errorf("%q %s", got.Input.Excerpt, got.Detail)
	}
	if report := r.verified(t, VerifyOptions{Keys: r.keys()}); report.Bad != nil {
		t.Error(report.Bad)
	}
}
