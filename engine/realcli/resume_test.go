package realcli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
)

// resumable lets an engine give out and take tokens.
func (l *lab) resumable(o *engine.Options) {
	o.DiskResume, o.ResumeSecret, o.StateDir = true, "a secret of this test", filepath.Join(l.home, "state")
}

// reopen ends the engine and makes another one, as a restart of the server does.
func (l *lab) reopen(change ...func(*engine.Options)) {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	if err := l.engine.Close(ctx); err != nil {
		l.Fatal(err)
	}
	l.open(change...)
}

func (l *lab) resume(p engine.ResumeParams) *engine.Session {
	l.Helper()
	ctx, cancel := context.WithTimeout(l.Context(), patience)
	defer cancel()
	s, err := l.engine.Resume(ctx, p)
	if err != nil {
		l.Fatalf("resume: %v", err)
	}
	return s
}

// TestResumeFromDiskKeepsTheConversation: the model of a resumed session reads
// what was said before the restart; totals go on, and calls are judged.
func TestResumeFromDiskKeepsTheConversation(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("MARK-FIRST-ANSWER"), bash("touch made.txt"), fakeapi.Say("second"), fakeapi.Say("third"))
	l.open(l.resumable)
	s := l.start("MARK-FIRST-PROMPT")
	l.turns(s, 1, refuse)
	before := s.Info()
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = l.project
	l.reopen(l.resumable)
	l.written(s)

	resumed := l.resume(p)
	l.turns(resumed, 1, refuse)
	info := resumed.Info()
	if resumed.ID() != before.ID || info.State != engine.Idle || info.Result.Result != "second" {
		t.Fatalf("resumed %s: %s %+v", resumed.ID(), info.State, info.Result)
	}
	if info.TotalTurns <= before.TotalTurns || info.Result.SessionTotalTurns != info.TotalTurns {
		t.Errorf("turns %d after %d", info.TotalTurns, before.TotalTurns)
	}
	requests := l.api.Requests()
	last := string(requests[len(requests)-1].Body)
	if !strings.Contains(last, "MARK-FIRST-PROMPT") || !strings.Contains(last, "MARK-FIRST-ANSWER") {
		t.Error("the model was not sent the conversation")
	}
	if exists(l.path("made.txt")) {
		t.Error("a call of the resumed session ran although it was denied")
	}
	l.wasJudged("Bash", "made.txt")

	p.Reply.Fork = true
	p.Token = resumed.ResumeToken()
	fork, err := resumed.Prompt(t.Context(), p.Reply)
	if err != nil {
		t.Fatal(err)
	}
	l.turns(fork, 1, refuse)
	if fork.ID() == resumed.ID() || fork.Info().ParentID != resumed.ID() || fork.Info().TotalTurns != fork.Info().Result.NumTurns {
		t.Errorf("fork %+v", fork.Info())
	}
}

func TestResumeOfAnUnknownTranscript(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("one"))
	l.open(l.resumable)
	s := l.start("hello")
	l.turns(s, 1, refuse)
	p := engine.ResumeParams{SessionID: s.ID(), Token: s.ResumeToken(), Reply: engine.ReplyParams{Prompt: "go on"}}
	p.Options.Cwd = l.project
	l.reopen(l.resumable)
	l.forget(s)
	_, err := l.engine.Resume(t.Context(), p)
	if engine.CodeOf(err) != engine.SessionNotFound || !strings.Contains(err.Error(), "No conversation found") {
		t.Errorf("error %v, want SESSION_NOT_FOUND with the CLI's words", err)
	}
}

// written waits for the session's file, which the CLI writes a moment after the
// result.
func (l *lab) written(s *engine.Session) {
	l.Helper()
	l.eventually("the CLI has written the transcript", func() bool { return l.transcript(s) != "" })
}

// forget removes the transcript.
func (l *lab) forget(s *engine.Session) {
	l.Helper()
	l.written(s)
	files, err := filepath.Glob(filepath.Join(l.home, ".claude/projects/*", s.ID()+".jsonl"))
	if err != nil || len(files) != 1 || os.Remove(files[0]) != nil {
		l.Fatalf("transcripts %v: %v", files, err)
	}
}
