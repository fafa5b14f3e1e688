package realcli

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/mcpserver"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// cliMode is the permission mode the CLI itself told of at the newest start of a turn.
func cliMode(s *engine.Session) (mode string) {
	for _, e := range s.Events(nil, 0).Events {
		if e.Type == event.Progress && strings.Contains(string(e.Data), `"init"`) {
			_, rest, _ := strings.Cut(string(e.Data), `"permissionMode":"`)
			mode, _, _ = strings.Cut(rest, `"`)
		}
	}
	return mode
}

// write is a reply that writes a file of the project.
func (l *lab) write(name string) fakeapi.Turn {
	return fakeapi.Use("Write", object{"file_path": l.path(name), "content": "x"})
}

// TestPlanModeEndsWithThePlan: the CLI plans, what it would write is asked about, and the mode ends
// with the accepted plan.
func TestPlanModeEndsWithThePlan(t *testing.T) {
	l := newLab(t)
	l.file("notes.txt", "MARK-NOTES")
	l.serve(
		fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}), l.write("early.txt"),
		fakeapi.Use("ExitPlanMode", object{"plan": "MARK-REFUSED"}), fakeapi.Say("refused"),
		fakeapi.Use("ExitPlanMode", object{"plan": "MARK-PLAN"}), l.write("late.txt"), fakeapi.Say("off we go"),
	)
	l.open(func(o *engine.Options) { o.WarmTTL = 2 * patience })
	s := l.startWith(engine.StartParams{Prompt: "plan it", PermissionMode: "plan"})
	plans := 0
	answer := func(a engine.Action) engine.Answer {
		if a.Type == "plan" {
			plans++
		}
		return engine.Answer{Allow: a.Type == "plan" && plans > 1 || strings.Contains(string(a.Input), "late.txt")}
	}
	l.turns(s, 1, answer)
	if mode := cliMode(s); mode != "plan" || s.Info().Mode != "plan" || plans != 1 {
		t.Errorf("the CLI runs in mode %q, the session in %q, %d plans were shown", mode, s.Info().Mode, plans)
	}
	if !l.api.Saw("Plan mode is active") || !l.api.Saw("MARK-NOTES") || exists(l.path("early.txt")) {
		t.Errorf("the model was not told, could not read or wrote:\n%s", dump(s))
	}
	if found := l.judge.find("Write", "early.txt"); len(found) == 0 || found[0].Session.Mode != "plan" {
		t.Errorf("judged %+v, want the mode plan", found)
	}
	l.reply(s, "again")
	l.turns(s, 2, answer)
	if s.Info().Mode != "default" || !exists(l.path("late.txt")) || plans != 2 {
		t.Errorf("mode %q after %d plans, late.txt %v:\n%s", s.Info().Mode, plans, exists(l.path("late.txt")), dump(s))
	}
	l.untouched(s)
}

// TestModesOfQuestions: what the other modes make of a call that is asked about in
// the default one. The CLI runs in its default mode in each of them.
func TestModesOfQuestions(t *testing.T) {
	for _, row := range []struct {
		mode        string
		write, bash bool // run without an answer
	}{
		{"dontAsk", false, false},
		{"acceptEdits", true, false},
		{"bypassPermissions", true, true},
	} {
		t.Run(row.mode, func(t *testing.T) {
			l := newLab(t)
			l.file("notes.txt", "MARK-NOTES")
			l.file(".env", "KEY=MARK-SECRET")
			l.serve(
				fakeapi.Use("Read", object{"file_path": l.path("notes.txt")}), fakeapi.Use("Read", object{"file_path": l.path(".env")}),
				bash("touch allowed.txt"), l.write("written.txt"), bash("mkdir made"), fakeapi.Say("done"),
			)
			l.open(l.granting(t, "bypassPermissions"))
			d := l.desk(mpmserver.Options{}, func(o *mcpserver.Options) { o.Configure = true })
			arguments := object{"prompt": "go", "permissionMode": row.mode, "allowedTools": []string{"Bash(touch *)"}, "timeout": 60000, "permissionRequestTimeoutMs": 1500}
			if row.mode == "bypassPermissions" {
				if a := d.use("claude_code", arguments); !a.failed || len(l.api.Requests()) > 0 {
					t.Errorf("started before it was enabled: %s", encoded(a.object))
				}
				if a := d.use("claude_code_configure", object{"action": "enable_bypass"}); a.object["allowBypass"] != true {
					t.Fatalf("enable %s", encoded(a.object))
				}
			}
			a := d.use("claude_code", arguments)
			if a.failed || text(a.object, "result") != "done" {
				t.Fatalf("answer %s", encoded(a.object))
			}
			s := l.find(text(a.object, "sessionId"))
			if cliMode(s) != "default" || s.Info().Mode != row.mode {
				t.Errorf("the CLI runs in mode %q, the session in %q", cliMode(s), s.Info().Mode)
			}
			if !l.api.Saw("MARK-NOTES") || !exists(l.path("allowed.txt")) {
				t.Errorf("what is allowed did not run:\n%s", dump(s))
			}
			if l.api.Saw("MARK-SECRET") {
				t.Errorf("what is denied ran:\n%s", dump(s))
			}
			if exists(l.path("written.txt")) != row.write || exists(l.path("made")) != row.bash {
				t.Errorf("written.txt %v, made %v:\n%s", exists(l.path("written.txt")), exists(l.path("made")), dump(s))
			}
			if asked := saw(s.Events(nil, 0).Events, event.PermissionAsked, ""); asked != (row.mode == "acceptEdits") {
				t.Errorf("asked %v:\n%s", asked, dump(s))
			}
			l.wasJudged("Write", "written.txt")
			l.untouched(s)
		})
	}
}

// granting lets callers use a parameter.
func (l *lab) granting(t *testing.T, names ...string) func(*engine.Options) {
	return func(o *engine.Options) {
		set, err := policy.Load(t.Context(), policy.Options{Profile: "dev", Home: l.home, Deadline: patience, Grants: names})
		if err != nil {
			t.Fatal(err)
		}
		l.judge.next, o.Admission = set, []admission.Decider{set}
	}
}
