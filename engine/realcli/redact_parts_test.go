package realcli

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// parting hides parts of outputs as plugins may: whole members, whatever their kind.
type parting struct {
	hide func(v any, depth int) (any, bool)
}

// Redact implements event.Redactor.
func (p parting) Redact(_ context.Context, given event.Payload) (json.RawMessage, []event.Redaction, error) {
	if given.Sink != event.SinkModel {
		return given.Data, nil, nil
	}
	var v any
	if err := json.Unmarshal(given.Data, &v); err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(p.walk(v, 0))
	return raw, nil, err
}

func (p parting) walk(v any, depth int) any {
	if hidden, ok := p.hide(v, depth); ok {
		return hidden
	}
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = p.walk(v[name], depth+1)
		}
	case []any:
		for i := range v {
			v[i] = p.walk(v[i], depth+1)
		}
	}
	return v
}

func leaf(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// Whatever kind of a member is hidden, and by what, the CLI takes the answer: else the
// model would read the original.
func TestPartsOfOutputsMayBeHidden(t *testing.T) {
	for name, hide := range map[string]func(v any, depth int) (any, bool){
		"leaves removed":   func(v any, _ int) (any, bool) { return nil, leaf(v) },
		"leaves replaced":  func(v any, _ int) (any, bool) { return "COVERED", leaf(v) },
		"leaves emptied":   func(v any, _ int) (any, bool) { return "", leaf(v) },
		"members removed":  func(v any, depth int) (any, bool) { return nil, depth == 1 || leaf(v) },
		"members replaced": func(v any, depth int) (any, bool) { return "COVERED", depth == 1 || leaf(v) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.file("notes.txt", "a line\n"+kept+"\n")
			l.file("old.txt", "first\n"+kept+"\nlast\n")
			l.file("folder/"+kept+".name", "x")
			l.file("~/.claude.json", object{"mcpServers": object{"web": l.webServer(kept)}})
			l.serve(bash("cat notes.txt"), bash("cat notes.txt >&2"),
				fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}),
				fakeapi.Use("Grep", object{"pattern": "MARK", "output_mode": "content"}),
				fakeapi.Use("Glob", object{"pattern": "folder/*.name"}),
				fakeapi.Use("Read", object{"file_path": l.path("old.txt")}),
				fakeapi.Use("Edit", object{"file_path": l.path("old.txt"), "old_string": "first", "new_string": "second"}),
				fakeapi.Use("Write", object{"file_path": l.path("old.txt"), "content": "all new"}),
				web("tell"), web("shape"), fakeapi.Say("done"))
			l.open(covering(l), func(o *engine.Options) { o.Redactors = []event.Redactor{parting{hide}} })
			s := l.start("go")
			events := l.turns(s, 1, allow)
			if l.conversed(kept) {
				t.Errorf("the model saw what was hidden:\n%s", dump(s))
			}
			results := 0
			for _, e := range events {
				if e.Type == event.ToolResult {
					results++
				}
			}
			if results < 10 {
				t.Errorf("%d results:\n%s", results, dump(s))
			}
			l.ended(s)
		})
	}
}
