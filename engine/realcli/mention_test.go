package realcli

import (
	"os"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
)

func (l *lab) symlink(target, name string) {
	l.Helper()
	if err := os.Symlink(target, l.path(name)); err != nil {
		l.Skipf("symbolic links cannot be made here: %v", err)
	}
}

func TestMentionsOfSecretsAreRefusedBeforeSending(t *testing.T) {
	l := newLab(t)
	l.mentionFiles()
	l.file("notes.txt", "MARK-NOTES")
	l.scenario(fakeapi.Scenario{End: &fakeapi.Turn{Text: "fine"}})
	l.open()
	prompts := []string{
		"see @.env", "see @./sub/.env please", "see @sub/../.env.", `see @".env"`, "see @.env#L1-2", "line\n@.env",
		"see @~/.ssh/id_test", "see @" + l.outside + "/notes.txt", "see @../outside/notes.txt",
		"see @harmless.txt", "see @elsewhere/notes.txt", "/cost @.env",
	}
	for _, prompt := range prompts {
		if _, err := l.engine.Start(t.Context(), engine.StartParams{Prompt: prompt}); engine.CodeOf(err) != engine.PermissionDenied {
			t.Errorf("start %q: %v, want a refusal", prompt, err)
		}
	}
	if n := len(l.api.Requests()); n > 0 {
		t.Errorf("the model got %d requests", n)
	}
	s := l.start("see @notes.txt")
	l.turns(s, 1, refuse)
	if !l.api.Saw("MARK-NOTES") {
		t.Error("an allowed mention was not attached, so this proves nothing")
	}
	if _, err := s.Prompt(t.Context(), engine.ReplyParams{Prompt: "and @.env"}); engine.CodeOf(err) != engine.PermissionDenied {
		t.Errorf("reply: %v, want a refusal", err)
	}
	if l.api.Saw("MARK-SECRET") {
		t.Error("a secret reached the model")
	}
}

func TestMentionsInFilesDoNotReachTheModel(t *testing.T) {
	l := newLab(t)
	l.mentionFiles()
	l.file("CLAUDE.md", "MARK-MEMORY\n@.env\n@sub/.env\n")
	l.file(".claude/commands/project.md", "Look at @.env and @sub/.env\n")
	l.file("~/.claude/commands/mine.md", "Look at @.env and @sub/.env and @~/.ssh/id_test\n")
	l.scenario(fakeapi.Scenario{End: &fakeapi.Turn{Text: "fine"}})
	l.open()
	s := l.start("hello")
	l.turns(s, 1, refuse)
	for i, command := range []string{"/project", "/mine"} {
		l.reply(s, command)
		l.turns(s, 2+i, refuse)
	}
	if !l.api.Saw("MARK-MEMORY") {
		t.Error("the project's CLAUDE.md was not handed over")
	}
	if l.api.Saw("MARK-SECRET") {
		t.Errorf("a secret reached the model:\n%s", dump(s))
	}
}

// The user's own command mentions a file that the project made a link to a secret.
func TestCommandMentionThroughALinkIsBlocked(t *testing.T) {
	l := newLab(t)
	l.mentionFiles()
	l.symlink(".env", "README.md")
	l.file("~/.claude/commands/mine.md", "Look at @README.md\n")
	l.file("~/.claude/commands/plain.md", "MARK-PLAIN Say hello\n")
	l.scenario(fakeapi.Scenario{End: &fakeapi.Turn{Text: "fine"}})
	l.open()
	s := l.start("hello")
	l.turns(s, 1, refuse)
	l.reply(s, "/mine")
	l.turns(s, 2, refuse)
	if l.api.Saw("MARK-SECRET") {
		t.Errorf("a secret reached the model:\n%s", dump(s))
	}
	l.reply(s, "/plain")
	l.turns(s, 3, refuse)
	if !l.api.Saw("MARK-PLAIN") {
		t.Errorf("a harmless command was blocked too:\n%s", dump(s))
	}
}
