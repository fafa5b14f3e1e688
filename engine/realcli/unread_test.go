package realcli

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// What the CLI asks its hooks in a line that is too long ends the process, before
// the CLI takes the silence for leave and hands the model the output as it is.
func TestOutputTooLongForALineIsNotRead(t *testing.T) {
	l := newLab(t)
	const secret = "MARK-SECRET"
	l.file("long.txt", strings.Repeat("words of a long file\n", 3500)+secret+"\n")
	l.serve(fakeapi.Use("Read", object{"file_path": l.path("long.txt")}), fakeapi.Say("read"))
	l.open(func(o *engine.Options) {
		o.Redactors = []event.Redactor{cover{secret}}
		o.MaxLineBytes = 64 << 10
	})
	s := l.start("go")
	l.turns(s, 1, allow)
	if l.conversed(secret) { // the CLI had the tokens of the file counted before
		t.Errorf("the model saw the secret:\n%s", dump(s))
	}
	if told := dump(s); !strings.Contains(told, "over 65536 bytes") {
		t.Errorf("no line was too long, so nothing was tested:\n%s", told)
	}
}

// A call that parsers could read in several ways is denied: an error would be
// leave for the CLI.
func TestCallNobodyCanReadIsDenied(t *testing.T) {
	l := newLab(t)
	const secret = "MARK-SECRET"
	l.file("~/.claude.json", object{"mcpServers": object{"web": l.webServer(secret)}})
	var deep any = "x"
	for range 600 {
		deep = []any{deep}
	}
	l.serve(fakeapi.Use("mcp__web__tell", object{"deep": deep}), fakeapi.Say("done"))
	l.open(func(o *engine.Options) { o.Redactors = []event.Redactor{cover{secret}} })
	s := l.start("go")
	l.turns(s, 1, allow)
	if l.api.Saw(secret) || !l.api.Saw("engine.decode") {
		t.Errorf("the model saw the secret: %v, the denial: %v\n%s", l.api.Saw(secret), l.api.Saw("engine.decode"), dump(s))
	}
}
