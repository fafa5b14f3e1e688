package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// The CLI takes an error for a hook's question as leave to go on, with the output
// of a call uncovered. So there is none, and the handler is told.
func TestHooksGetNoError(t *testing.T) {
	hook := func(id, input string) string {
		return `{"type":"control_request","request_id":"` + id + `","request":{"subtype":"hook_callback","callback_id":"PostToolUse","input":` + input + `}}`
	}
	for name, line := range map[string]string{
		"key twice":          hook("a", `{"c":1,"c":2}`),
		"key twice, escaped": hook("a", `{"c\ud800":1,"c\ud801":2}`),
		"nested":             hook("a", strings.Repeat("[", MaxDepth)+strings.Repeat("]", MaxDepth)),
		"nested beyond JSON": hook("a", strings.Repeat("[", 10_001)+strings.Repeat("]", 10_001)),
		"no JSON":            `{"type":"control_request","request_id":"a","request":{"subtype":"hook_callback",`,
		"subtype twice":      `{"type":"control_request","request_id":"a","request":{"subtype":"hook_callback","subtype":"x"}}`,
		"no id":              `{"type":"control_request","request":{"subtype":"hook_callback"}}`,
		"its handler fails":  hook("a", `"fail"`),
		"its handler panics": hook("a", `"panic"`),
	} {
		p, h, _, _ := serve(t, func(_ context.Context, r Request) (any, error) {
			if r.Unclear != nil {
				return nil, fmt.Errorf("a hook's question: %w", r.Unclear)
			}
			if strings.Contains(string(r.Fields["input"]), "panic") {
				panic("test")
			}
			return nil, errors.New("no answer")
		})
		p.in <- json.RawMessage(line)
		if got := <-h.lost; !strings.Contains(got, "hook's question") {
			t.Errorf("%s: told %q", name, got)
		}
		close(p.in)
		if len(p.out) != 0 {
			t.Errorf("%s: sent %s", name, <-p.out)
		}
	}
}

// Where the envelope of a hook's question is clear, the handler may answer it.
func TestUnclearHookIsAnswered(t *testing.T) {
	line := `{"type":"control_request","request_id":"a","request":{"subtype":"hook_callback","callback_id":"PreToolUse","input":` +
		strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + `}}`
	p, _, _, _ := serve(t, func(_ context.Context, r Request) (any, error) {
		if r.Unclear == nil || r.Fields["input"] != nil || r.String("callback_id") != "PreToolUse" {
			return nil, fmt.Errorf("got %+v", r)
		}
		return map[string]string{"decision": "deny"}, nil
	})
	p.in <- json.RawMessage(line)
	if got := <-p.out; !strings.Contains(string(got), `"decision":"deny"`) {
		t.Errorf("answered %s", got)
	}
	close(p.in)
}
