package realcli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// bash is a reply that calls Bash.
func bash(command string) fakeapi.Turn { return fakeapi.Use("Bash", object{"command": command}) }

func TestAskedAndAllowedCallRuns(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Use("Write", object{"file_path": l.path("made.txt"), "content": "hello"}), fakeapi.Say("all done"))
	l.open()
	s := l.start("make a file")
	a := l.question(s)
	if a.ToolName != "Write" || a.Type != "permission" || exists(l.path("made.txt")) {
		t.Errorf("question %+v, file there before the answer: %v", a, exists(l.path("made.txt")))
	}
	events := l.turns(s, 1, allow)
	if got, err := os.ReadFile(l.path("made.txt")); err != nil || string(got) != "hello" {
		t.Errorf("file = %q, %v", got, err)
	}
	info := s.Info()
	if info.State != engine.Idle || info.Result == nil || info.Result.Result != "all done" || info.Result.IsError {
		t.Errorf("info %+v result %+v", info, info.Result)
	}
	if !saw(events, event.PermissionAsked, "made.txt") || !saw(events, event.ToolResult, "made.txt") {
		t.Errorf("events lack the question or its result:\n%s", dump(s))
	}
	l.wasJudged("Write", "made.txt")
	l.untouched(s)
}

func TestReadInsideRootsRunsUnasked(t *testing.T) {
	l := newLab(t)
	l.file("notes.txt", "MARK-NOTES")
	l.serve(fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}), fakeapi.Say("read"))
	l.open()
	s := l.start("read it")
	events := l.turns(s, 1, refuse)
	if saw(events, event.PermissionAsked, "") || !l.api.Saw("MARK-NOTES") {
		t.Errorf("asked, or the model did not get the text:\n%s", dump(s))
	}
	l.wasJudged("Read", "notes.txt")
}

func TestDeniedCallDoesNotRun(t *testing.T) {
	l := newLab(t)
	l.serve(bash("echo x > made.txt"), fakeapi.Say("understood"))
	l.open()
	s := l.start("go")
	l.turns(s, 1, refuse)
	if exists(l.path("made.txt")) {
		t.Error("a denied call ran")
	}
	if !l.api.Saw("not today") {
		t.Error("the model did not get the reason")
	}
	l.wasJudged("Bash", "made.txt")
}

func TestProtectedReadIsDeniedWithoutAsking(t *testing.T) {
	l := newLab(t)
	l.file(".env", "KEY=MARK-SECRET")
	l.serve(bash("cat .env"), fakeapi.Use("Read", object{"file_path": l.path(".env")}), fakeapi.Say("no luck"))
	l.open()
	s := l.start("go")
	l.turns(s, 1, refuse)
	if l.api.Saw("MARK-SECRET") {
		t.Errorf("the model read .env:\n%s", dump(s))
	}
	l.wasJudged("Bash", "cat .env")
}

func TestChangedInputRunsInsteadOfTheOriginal(t *testing.T) {
	l := newLab(t)
	l.serve(bash("echo a > wrong.txt"), fakeapi.Say("done"))
	l.open()
	s := l.start("go")
	l.turns(s, 1, func(engine.Action) engine.Answer {
		return engine.Answer{Allow: true, UpdatedInput: json.RawMessage(`{"command":"echo b > right.txt"}`)}
	})
	if exists(l.path("wrong.txt")) || !exists(l.path("right.txt")) {
		t.Errorf("wrong.txt %v, right.txt %v", exists(l.path("wrong.txt")), exists(l.path("right.txt")))
	}
	l.wasJudged("Bash", "right.txt")
	l.untouched(s)
}

func TestParallelCallsAreEachAsked(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Turn{Tools: []fakeapi.ToolUse{
		{Name: "Bash", Input: object{"command": "echo 1 > one.txt"}},
		{Name: "Bash", Input: object{"command": "echo 2 > two.txt"}},
	}}, fakeapi.Say("done"))
	l.open()
	s := l.start("go")
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		return engine.Answer{Allow: strings.Contains(string(a.Input), "two.txt")}
	})
	if exists(l.path("one.txt")) || !exists(l.path("two.txt")) {
		t.Errorf("one.txt %v, two.txt %v", exists(l.path("one.txt")), exists(l.path("two.txt")))
	}
}

func TestQuestionIsAnswered(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Use("AskUserQuestion", object{"questions": []object{{
		"question": "Which colour?", "header": "Colour", "multiSelect": false,
		"options": []object{{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}},
	}}}), fakeapi.Say("thanks"))
	l.open()
	s := l.start("go")
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		if a.Type != "question" || len(a.Questions) == 0 {
			t.Errorf("action %+v, want a question", a)
		}
		var input object
		if err := json.Unmarshal(a.Input, &input); err != nil {
			t.Error(err)
		}
		input["answers"] = object{"Which colour?": "Blue"}
		raw, _ := json.Marshal(input)
		return engine.Answer{Allow: true, UpdatedInput: raw}
	})
	if !l.api.Saw(`\"Which colour?\"=\"Blue\"`) {
		t.Errorf("the model did not get the answer:\n%s", dump(s))
	}
}

func TestPlanIsApproved(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Use("EnterPlanMode", nil), fakeapi.Use("ExitPlanMode", object{"plan": "1. MARK-PLAN"}), fakeapi.Say("off we go"))
	l.open()
	s := l.start("plan it")
	plans := 0
	l.turns(s, 1, func(a engine.Action) engine.Answer {
		if a.Type == "plan" {
			plans++
		}
		return engine.Answer{Allow: true}
	})
	if plans != 1 {
		t.Errorf("%d plans were shown, want 1:\n%s", plans, dump(s))
	}
}

func TestDisallowedToolIsHidden(t *testing.T) {
	l := newLab(t)
	l.serve(bash("echo x > made.txt"), fakeapi.Say("done"))
	l.open()
	s := l.startWith(engine.StartParams{Prompt: "go", DisallowedTools: []string{"Bash", "WebFetch"}})
	l.turns(s, 1, allow)
	for _, tool := range s.Info().Tools {
		if tool == "Bash" || tool == "WebFetch" {
			t.Errorf("%s is offered to the model", tool)
		}
	}
	if exists(l.path("made.txt")) {
		t.Error("a disallowed tool ran")
	}
}

func TestAllowedToolRunsUnasked(t *testing.T) {
	l := newLab(t)
	l.serve(bash("touch made.txt"), fakeapi.Say("done"))
	l.open()
	s := l.startWith(engine.StartParams{Prompt: "go", AllowedTools: []string{"Bash(touch *)"}})
	for _, e := range l.turns(s, 1, refuse) {
		if e.Type == event.PermissionAsked {
			t.Errorf("the call was asked about: %s", e.Data)
		}
	}
	l.wasJudged("Bash", "made.txt")
	if !exists(l.path("made.txt")) {
		t.Error("the call did not run")
	}
}
