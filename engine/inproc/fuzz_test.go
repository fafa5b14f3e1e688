package inproc

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzDeliver takes lines of anything as messages: each is answered exactly once, in
// JSON, and Close leaves nothing.
func FuzzDeliver(f *testing.F) {
	for _, seed := range []string{
		hello, hello + "\n" + helloed + "\n" + listThem, hello + "\n" + toolCall(1, "echo", `{"text":"x"}`),
		hello + "\n" + toolCall(1, "wait", `{}`) + "\n" + cancellation(1) + "\n" + toolCall(1, "panic", `{}`),
		hello + "\n" + toolCall(1, "wait", `{}`) + "\n" + hello + "\n" + toolCall(1, "wait", `{}`) + "\n" + toolCall(1, "fail", `{}`),
		hello + "\n" + toolCall(1, "talk", `{}`) + "\n" + `{"jsonrpc":"2.0","id":1,"result":{"roots":[]}}`,
		hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		hello + "\n" + `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"x"}}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"debug"}}`,
		`{"jsonrpc":"2.0","id":"` + "\xff" + `","method":"ping"}`, `{}`, `[]`, `null`, `{"jsonrpc":"2.0","id":-0,"method":"initialize","params":null}`,
	} {
		f.Add([]byte(seed))
	}
	server := testServer()
	addTalker(server)
	s := Serve(server, nil)
	f.Fuzz(func(t *testing.T, lines []byte) {
		link, err := s.Connect("s", func(json.RawMessage) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		c := &cli{t: t, link: link}
		var answers []<-chan string
		for line := range bytes.Lines(lines) {
			if len(answers) == 100 {
				break
			}
			answers = append(answers, c.send(string(line)))
		}
		c.close()
		for i, answer := range answers {
			if got := c.answer(answer); !json.Valid([]byte(got)) {
				t.Errorf("answer %d is not JSON: %q", i, got)
			}
			if len(answer) > 0 {
				t.Errorf("message %d is answered twice", i)
			}
		}
	})
}

// FuzzSchema compiles anything, and checks anything with what it takes.
func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"type":["string","null"],"minLength":1}},"required":["a"]}`), []byte(`{"a":"x"}`))
	f.Add([]byte(`{"type":"object","$defs":{"n":{"anyOf":[{"items":{"$ref":"#/$defs/n"}},{"not":{"enum":[1]}}]}},"additionalProperties":{"$ref":"#/$defs/n"}}`), []byte(`{"a":[[1],2]}`))
	f.Add([]byte(`{"type":"object","$schema":"http://json-schema.org/draft-07/schema#","properties":{"l":{"items":[{},{"const":null}],"additionalItems":false}},"dependencies":{"l":["m"],"m":{"if":true,"then":false}}}`), []byte(`{"l":[1,null,2],"m":1}`))
	f.Fuzz(func(t *testing.T, text, arguments []byte) {
		s, err := compile(text)
		if err != nil {
			return
		}
		if err := s.check(arguments); err != nil && len(err.Error()) > 2*maxErrorText {
			t.Errorf("error of %d bytes", len(err.Error()))
		}
	})
}
