package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func TestFolders(t *testing.T) {
	start := t.TempDir()
	sub := filepath.Join(start, "sub")
	var f folders
	expect := func(when string, want ...string) { // of the main thread, of agent a, of agent new
		t.Helper()
		for i, agent := range []string{"", "a", "new"} {
			if got := f.of(agent); got != want[i] {
				t.Errorf("%s: folder of agent %q is %q, want %q", when, agent, got, want[i])
			}
		}
	}
	f.reset(start)
	expect("nothing told", "", "", "")
	f.untold("")
	f.untold("a")
	expect("a CLI that tells nothing", "", "", "")
	f.at("", start)
	expect("the main thread is where it began", start, "", "")
	f.at("a", sub)
	expect("an agent moved", start, sub, "")
	f.untold("a")
	expect("then it told nothing", start, unknownFolder, "")
	f.at("", sub)
	expect("the main thread moved", sub, unknownFolder, unknownFolder)
	f.at("", start)
	expect("and came back", start, unknownFolder, unknownFolder)
	f.at("", "relative")
	expect("no absolute folder", unknownFolder, unknownFolder, unknownFolder)
	f.reset(start)
	expect("a new process", "", "", "")
	for i := range maxAgents + 1 {
		f.at(fmt.Sprint(i), sub)
	}
	if got := f.of("0"); got != unknownFolder || len(f.known) > maxAgents {
		t.Errorf("a forgotten agent is in %q; %d agents are known", got, len(f.known))
	}
}

// insideOnly asks about what runs in its folder, and a person where nobody knows.
type insideOnly string

func (f insideOnly) Decide(_ context.Context, r permission.Request) (permission.Decision, error) {
	d := permission.Decision{Effect: permission.Deny, Rule: "test.outside", Revision: f.Revision()}
	if strings.HasPrefix(r.Folder, string(f)) || r.Folder == unknownFolder {
		d.Effect, d.Rule = permission.Ask, "test.ask"
		if r.Folder == unknownFolder {
			d.Ask.Approver = "human"
		}
	}
	return d, nil
}

func (insideOnly) Revision() string { return "r" }

// A call that was asked about in one folder runs in that of the moment of the
// answer, which another call may have changed.
func TestAnswerAfterACdIsJudgedAgain(t *testing.T) {
	work, outside := t.TempDir(), t.TempDir()
	e := &Engine{chain: permission.Chain{Deciders: []permission.Decider{insideOnly(work)}, Default: permission.Ask}}
	for name, row := range map[string]struct {
		told, refused string // "" = taken
		judged        bool
	}{
		"never told":              {"-", "", false},
		"stayed":                  {work, "", false},
		"moved where it is asked": {filepath.Join(work, "sub"), "", true},
		"moved where it is not":   {outside, "answer, in the folder the call would run in now, refused by rule test.outside", true},
		"nobody knows":            {"", "refused by rule test.ask: ", true},
	} {
		s := e.newSessionForTest(StartParams{})
		s.cwd = work
		s.folders.reset(work)
		q := permission.Question{Request: s.request(permission.DoorAsk, "Bash", "t", "", "", json.RawMessage(`{"command":"make clean"}`))}
		q.Decision = e.chain.Decide(t.Context(), permission.Request{Folder: work})
		if row.told != "-" {
			s.folders.at("", row.told)
		}
		v, err := s.verdict(t.Context(), Answer{Allow: true, Approver: "caller"}, q)
		if (err == nil) != (row.refused == "") || err != nil && !strings.Contains(err.Error(), row.refused) || (v.Judged != nil) != row.judged {
			t.Errorf("%s: judged %v, %v", name, v.Judged, err)
		}
	}
}
