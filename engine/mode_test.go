package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// modeSession is a session of which nothing runs, admitted with a mode.
func modeSession(mode string) *Session {
	p := StartParams{PermissionMode: mode}
	return &Session{
		params: p, mode: modeAsked(p), beyond: modeBeyond(modeAsked(p)), log: event.NewLog(0),
	}
}

// What the CLI tells of its mode never loosens the session's, and what an answer
// narrowed stays so. "cli:X" is a status of the CLI, "answer:X" a setMode.
func TestModeFollows(t *testing.T) {
	for _, tt := range []struct{ start, steps, mode, held, cli string }{
		{"", "", "default", "default", "default"},
		{"", "cli:plan", "plan", "plan", "plan"},
		{"", "cli:plan cli:default", "default", "default", "default"},
		{"", "cli:acceptEdits cli:bypassPermissions cli:auto cli:", "default", "default", "default"},
		{"", "answer:acceptEdits", "acceptEdits", "default", "default"},
		{"", "answer:acceptEdits cli:default", "default", "default", "default"},
		{"", "cli:plan answer:acceptEdits", "acceptEdits", "default", "default"},
		{"plan", "", "plan", "plan", "plan"},
		{"plan", "cli:plan", "plan", "plan", "plan"},
		{"plan", "cli:default", "default", "default", "default"},
		{"plan", "cli:acceptEdits", "plan", "plan", "plan"},
		{"plan", "cli:default cli:plan", "plan", "plan", "plan"},
		{"acceptEdits", "", "acceptEdits", "acceptEdits", "default"},
		{"acceptEdits", "cli:default", "acceptEdits", "acceptEdits", "default"},
		{"acceptEdits", "cli:plan", "plan", "plan", "plan"},
		{"acceptEdits", "cli:plan cli:default", "acceptEdits", "acceptEdits", "default"},
		{"acceptEdits", "answer:default cli:plan cli:default", "default", "default", "default"},
		{"delegate", "cli:default", "delegate", "delegate", "default"},
		{"delegate", "cli:plan cli:default", "delegate", "delegate", "default"},
		{"bypassPermissions", "cli:default", "bypassPermissions", "bypassPermissions", "default"},
		{"bypassPermissions", "cli:plan", "plan", "plan", "plan"},
		{"bypassPermissions", "answer:acceptEdits cli:default", "acceptEdits", "acceptEdits", "default"},
		{"dontAsk", "cli:default", "dontAsk", "dontAsk", "default"},
		{"dontAsk", "cli:plan", "plan", "dontAsk", "plan"},
		{"dontAsk", "cli:plan cli:default", "dontAsk", "dontAsk", "default"},
		{"dontAsk", "answer:acceptEdits cli:default", "dontAsk", "dontAsk", "default"},
	} {
		t.Run(tt.start+" "+tt.steps, func(t *testing.T) {
			s := modeSession(tt.start)
			for step := range strings.FieldsSeq(tt.steps) {
				kind, mode, _ := strings.Cut(step, ":")
				if kind == "cli" {
					s.followMode(mode)
					continue
				}
				update := `[{"type":"setMode","destination":"session","mode":"` + mode + `"}]`
				if err := s.applyUpdates(json.RawMessage(update)); err != nil {
					t.Fatal(err)
				}
			}
			if held := s.heldModeLocked(); s.mode != tt.mode || held != tt.held || s.cliMode() != tt.cli {
				t.Errorf("mode %s, held %s, of the CLI %s; want %s, %s, %s", s.mode, held, s.cliMode(), tt.mode, tt.held, tt.cli)
			}
			if s.asksNobody() != (tt.start == "dontAsk") {
				t.Errorf("asks nobody: %v", s.asksNobody())
			}
		})
	}
}

// A copy has what was admitted, and no more than answers left of it.
func TestModeOfACopy(t *testing.T) {
	for _, tt := range []struct{ start, answered, told, mode, after string }{
		{"", "", "", "default", "default"},
		{"acceptEdits", "", "", "acceptEdits", "acceptEdits"},
		{"", "acceptEdits", "", "default", "default"}, // an answer is for the session it was given to
		{"acceptEdits", "default", "", "default", "default"},
		{"acceptEdits", "", "plan", "plan", "acceptEdits"},
		{"plan", "", "default", "default", "default"},
		{"dontAsk", "", "plan", "plan", "dontAsk"},
		{"bypassPermissions", "default", "", "default", "default"},
	} {
		s, f := modeSession(tt.start), modeSession(tt.start)
		if tt.answered != "" {
			s.setModeLocked(tt.answered)
		}
		s.followMode(tt.told)
		f.keepsMode(s)
		mode := f.mode
		f.followMode("default")
		if mode != tt.mode || f.mode != tt.after {
			t.Errorf("%q, answered %q, told %q: copy is %s, then %s; want %s, then %s", tt.start, tt.answered, tt.told, mode, f.mode, tt.mode, tt.after)
		}
	}
}

func TestModeOfARecord(t *testing.T) {
	for _, tt := range []struct{ a, b, want string }{
		{"", "", ""}, {"default", "", "default"}, {"", "default", "default"},
		{"acceptEdits", "default", "default"}, {"default", "acceptEdits", "default"}, {"default", "dontAsk", "dontAsk"},
	} {
		if got := (resumeRecord{Mode: tt.a}).with(resumeRecord{Mode: tt.b}).Mode; got != tt.want {
			t.Errorf("%q with %q: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
	s := modeSession("acceptEdits")
	if got := s.narrowedLocked(); got != "" {
		t.Errorf("recorded %q of a mode nobody narrowed", got)
	}
	if s.setModeLocked("default"); s.narrowedLocked() != "default" {
		t.Errorf("recorded %q, want default", s.narrowedLocked())
	}
}

// A resume keeps the mode the token signs, or takes a stricter one.
func TestCeilingOfModes(t *testing.T) {
	order := [][]string{{"dontAsk"}, {"plan"}, {"default", "delegate", ""}, {"acceptEdits"}, {"bypassPermissions"}}
	for i, signed := range order {
		for j, given := range order {
			for _, a := range signed {
				for _, b := range given {
					got, err := narrowed(StartParams{PermissionMode: a}, StartParams{PermissionMode: b, Raw: map[string]json.RawMessage{"permissionMode": object(`"x"`)}}, nil)
					switch {
					case j <= i && (err != nil || got.PermissionMode != b):
						t.Errorf("%q over signed %q: %q, %v", b, a, got.PermissionMode, err)
					case j > i && (CodeOf(err) != PermissionDenied || !strings.Contains(err.Error(), "permissionMode ")):
						t.Errorf("%q over signed %q: %v, want a refusal", b, a, err)
					}
				}
			}
		}
	}
	kept, err := narrowed(StartParams{PermissionMode: "dontAsk", NoHooks: true, NoTickets: true}, StartParams{}, nil)
	if err != nil || kept.PermissionMode != "dontAsk" || !kept.NoHooks || !kept.NoTickets {
		t.Errorf("what is not given: %+v, %v", kept, err)
	}
	added, err := narrowed(StartParams{}, StartParams{NoHooks: true, NoTickets: true}, nil)
	if err != nil || !added.NoHooks || !added.NoTickets {
		t.Errorf("what narrows: %+v, %v", added, err)
	}
}

func TestModesAreValidated(t *testing.T) {
	for _, mode := range append([]string{""}, modes...) {
		p := StartParams{Prompt: "x", PermissionMode: mode}
		if err := p.validate(); err != nil {
			t.Errorf("%q: %v", mode, err)
		}
	}
	for _, mode := range []string{"Default", "auto", "default ", "plan\x00"} {
		p := StartParams{Prompt: "x", PermissionMode: mode}
		if err := p.validate(); CodeOf(err) != InvalidArgument || !strings.Contains(err.Error(), "permissionMode") {
			t.Errorf("%q: %v", mode, err)
		}
	}
}

// Policies and plugins see of a Go caller what they see of a client.
func TestRawHasTheNewParameters(t *testing.T) {
	p := StartParams{PermissionMode: "plan", NoHooks: true, NoTickets: true, TurnTimeout: 1500e6}
	for name, want := range map[string]string{"permissionMode": `"plan"`, "noHooks": "true", "noTickets": "true", "timeout": "1500"} {
		if got := string(p.raw()[name]); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	none := StartParams{}
	for _, name := range []string{"permissionMode", "noHooks", "noTickets", "timeout"} {
		if v, ok := none.raw()[name]; ok {
			t.Errorf("%s is there, as %s", name, v)
		}
	}
	if r := (&ReplyParams{TurnTimeout: 1e9}).raw(); string(r["timeout"]) != "1000" {
		t.Errorf("reply: %s", r["timeout"])
	}
}

func TestUnaskedNamesTheRule(t *testing.T) {
	d := unasked(permission.Decision{Effect: permission.Ask, Rule: "git.push", Reason: "it leaves the machine"})
	if d.Effect != permission.Deny || d.Rule != "engine.dont_ask" || !strings.Contains(d.Reason, "dontAsk") ||
		!strings.Contains(d.Reason, "git.push asks: it leaves the machine") || !strings.Contains(d.AgentMessage, "git.push") {
		t.Errorf("got %+v", d)
	}
}

// A record whose options cannot be read is not one of a session without any.
func TestUnreadableOptionsGoOnAsNone(t *testing.T) {
	p := aSession(t, &fakeLog{}, nil)
	for params, ok := range map[string]bool{`{}`: true, `[]`: false, `{"PermissionMode":7}`: false, `{"permissionMode":7}`: false, `{"permissionMode":"later"}`: false, `{"laterOption":true}`: false, `{"permissionMode":"plan"}`: true} {
		k := keptState{Params: json.RawMessage(params), Exact: true, Started: true}
		s := p.session.engine.shownKept(event.SessionRecord{ID: "x", State: "idle"}, k, event.NewLog(0))
		if err := s.mayGoOn(false); (err == nil) != ok {
			t.Errorf("%s: %v", params, err)
		}
	}
}
