package realcli

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// cover is a redactor that knows one secret.
type cover struct{ secret string }

// Redact implements event.Redactor.
func (c cover) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	data := p.Data
	n := bytes.Count(data, []byte(c.secret))
	if n == 0 {
		return data, nil, nil
	}
	return bytes.ReplaceAll(data, []byte(c.secret), []byte("COVERED")), []event.Redaction{{Detector: "test", Count: n}}, nil
}

func TestToolOutputIsCoveredBeforeTheModelReadsIt(t *testing.T) {
	l := newLab(t)
	const secret = "MARK-SECRET"
	l.file("notes.txt", "a line\n"+secret+"\n")
	l.file("show.sh", "cat notes.txt")
	l.serve(bash("sh show.sh"), fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}), fakeapi.Say("read"))
	l.open(func(o *engine.Options) { o.Redactors = []event.Redactor{cover{secret}} })
	s := l.start("go")
	events := l.turns(s, 1, allow)
	if l.api.Saw(secret) || !l.api.Saw("COVERED") {
		t.Errorf("the model saw the secret: %v, the cover: %v", l.api.Saw(secret), l.api.Saw("COVERED"))
	}
	if saw(events, event.ToolResult, secret) || !saw(events, event.ToolResult, "COVERED") {
		t.Errorf("events are not covered:\n%s", dump(s))
	}
}

func TestToolOutputIsWithheldWhenRedactionFails(t *testing.T) {
	l := newLab(t)
	l.file("notes.txt", "MARK-SECRET\n")
	l.serve(fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}), fakeapi.Say("read"))
	l.open(func(o *engine.Options) { o.Redactors = []event.Redactor{broken{}} })
	s := l.start("go")
	events := l.turns(s, 1, allow)
	if l.api.Saw("MARK-SECRET") || saw(events, event.ToolResult, "MARK-SECRET") {
		t.Errorf("the output passed a failing redactor:\n%s", dump(s))
	}
}

// broken fails on tool results.
type broken struct{}

// Redact implements event.Redactor.
func (broken) Redact(_ context.Context, p event.Payload) (json.RawMessage, []event.Redaction, error) {
	if p.Kind == event.ToolResult {
		return nil, nil, context.DeadlineExceeded
	}
	return p.Data, nil, nil
}
