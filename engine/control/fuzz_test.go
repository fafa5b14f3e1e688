package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// once is a Stream of one line; what is written to it is kept.
type once struct {
	line json.RawMessage
	out  []json.RawMessage
}

func (o *once) Read() (json.RawMessage, error) {
	if o.line == nil {
		return nil, io.EOF
	}
	line := o.line
	o.line = nil
	return line, nil
}

func (o *once) Write(line json.RawMessage) error {
	o.out = append(o.out, line)
	return nil
}

// seen is a Handler that keeps the request it was given.
type seen struct{ requests []Request }

func (s *seen) HandleRequest(_ context.Context, r Request) (any, error) {
	s.requests = append(s.requests, r)
	return r.Fields, nil
}
func (*seen) HandleInOrder(context.Context, Request, func(any, error)) bool     { return false }
func (*seen) HandleMessage(context.Context, string, map[string]json.RawMessage) {}
func (*seen) HandleNoise(context.Context, string)                               {}
func (*seen) HandleUnanswered(context.Context, string)                          {}

// FuzzControl feeds the decoder one line of the CLI. What reaches a handler has
// one meaning for every reader, and is what the line says.
func FuzzControl(f *testing.F) {
	for _, fields := range []string{
		`"subtype":"x","input":{"n":1e9999999,"m":9007199254740993,"z":1.0,"neg":-0}`,
		`"subtype":"x","input":{"t":"\ud800","u":"\ud83d\ude00","k\ud800":1}`,
		`"Subtype":"x"`, `"\u017fubtype":"x"`, `"subtype":"x","Input":{},"input":{"Command":"a","command":"b"}`,
		`"subtype":"x","input":{"c":1,"c":2}`, `"subtype":"x","input":{"c":1,"\u0063":2}`, `"subtype":"x","subtype":"y"`,
		`"subtype":"x","input":` + strings.Repeat("[", MaxDepth-2) + strings.Repeat("]", MaxDepth-2),
		`"subtype":"x","input":` + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth),
		"\"subtype\":\"x\",\"input\":{\"t\":\"\xff\xc0\"}", `"subtype\u0000":"x"`,
	} {
		f.Add([]byte(`{"type":"control_request","request_id":"a","request":{` + fields + `}}`))
	}
	f.Add([]byte(`{"type":"control_request","type":"x","request_id":"a","request":{"subtype":"x"}}`))
	f.Add([]byte(`{"type":"control_request","request_id":"a","request_id":"b","request":{"subtype":"x"}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, h := &once{line: line}, &seen{}
		if err := NewConn(s, h).Serve(t.Context()); err != io.EOF {
			t.Fatalf("serve: %v", err)
		}
		for _, out := range s.out {
			if !json.Valid(out) || !utf8.Valid(out) || bytes.ContainsRune(out, '\n') {
				t.Fatalf("%q was answered by a line that is none: %q", line, out)
			}
		}
		for _, r := range h.requests {
			checkRequest(t, line, r)
		}
	})
}

func checkRequest(t *testing.T, line []byte, r Request) {
	t.Helper()
	clean := Sanitize(bytes.Clone(line))
	if Check(clean) != nil || deepest(clean) > MaxDepth {
		t.Fatalf("%q reached a handler", line)
	}
	var envelope struct {
		Request map[string]json.RawMessage `json:"request"`
	}
	var exact map[string]json.RawMessage
	if json.Unmarshal(clean, &exact) != nil || json.Unmarshal(exact["request"], &envelope.Request) != nil {
		t.Fatalf("%q is no request, yet it reached a handler", line)
	}
	var kind, subtype string
	if json.Unmarshal(exact["type"], &kind) != nil || json.Unmarshal(envelope.Request["subtype"], &subtype) != nil || kind != typeRequest || subtype != r.Subtype {
		t.Fatalf("%q: type %q, subtype %q; the handler saw %q", line, kind, subtype, r.Subtype)
	}
	if !reflect.DeepEqual(envelope.Request, r.Fields) { // by exact key, and the very bytes: numbers as written
		t.Fatalf("%q: the handler saw %q", line, r.Fields)
	}
	for key, value := range r.Fields {
		if !utf8.Valid(value) || !utf8.ValidString(key) || holdsLoneSurrogate(value) {
			t.Fatalf("%q: %q: %q is no text every reader takes alike", line, key, value)
		}
	}
}

// deepest counts the levels of a document outside of its texts.
func deepest(doc []byte) (most int) {
	depth, text := 0, false
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c == '{' || c == '[':
			depth++
			most = max(most, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return most
}

var (
	escapedPair  = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	escapedLone  = regexp.MustCompile(`(?i)\\ud[89a-f][0-9a-f]{2}`)
	escapedSlash = regexp.MustCompile(`\\\\`)
)

// holdsLoneSurrogate looks for one in another way than Sanitize does.
func holdsLoneSurrogate(value []byte) bool {
	value = escapedSlash.ReplaceAll(value, []byte("/"))
	return escapedLone.Match(escapedPair.ReplaceAll(value, nil))
}
