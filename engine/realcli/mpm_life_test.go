package realcli

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// TestFamiliesShareSessions: what one family started the other one sees, continues
// and ends.
func TestFamiliesShareSessions(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("ONE"), fakeapi.Say("TWO"), fakeapi.Say("THREE"))
	l.open()
	d := l.desk(mpmserver.Options{})
	a := d.use("claude_code", object{"prompt": "PROMPT-ONE", "waitMs": 20000})
	id := text(a.object, "sessionId")
	d.idle(id, "ONE")
	d.status(id, "completed", 1)
	d.goOn(id, "PROMPT-TWO", "TWO", false)
	d.idle(id, "TWO")
	d.use("claude_code_reply", object{"sessionId": id, "prompt": "PROMPT-THREE", "waitMs": 20000})
	d.idle(id, "THREE")
	d.remembers([]string{"PROMPT-ONE", "TWO", "PROMPT-THREE"})
	d.status(id, "completed", 3)

	if a := d.use("mpm_session_stop", object{"session_id": id}); a.object["stopped"] != true {
		t.Errorf("stop %s", encoded(a.object))
	}
	if a := d.use("claude_code_session", object{"action": "get", "sessionId": id}); !strings.Contains(encoded(a.object), `"cancelled"`) {
		t.Errorf("a stopped session: %s", encoded(a.object))
	}
}

// idle waits for the end of a turn with this result, as clients of claude_code do.
func (d desk) idle(id, result string) {
	d.Helper()
	d.eventually("the session rests with "+result, func() bool {
		a := d.use("claude_code_check", object{"action": "poll", "sessionId": id, "waitMs": 1000, "includeEvents": false})
		end, _ := a.object["result"].(object)
		return text(a.object, "status") == "idle" && text(end, "result") == result
	})
}

// TestMPMContinueAfterRestart: a session of an earlier run is listed, and continued
// from what is on disk; so is one that was stopped, and a fork of it.
func TestMPMContinueAfterRestart(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("ONE"), fakeapi.Say("TWO"), fakeapi.Say("THREE"))
	l.open(l.storing)
	d := l.desk(mpmserver.Options{})
	id := d.start("PROMPT-ONE", "ONE", object{"no_tickets": true})
	s := d.find(id)
	l.eventually("the CLI has written the turn to disk", func() bool { return strings.Contains(l.transcript(s), `"ONE"`) })
	l.reopen(l.storing)
	d = l.desk(mpmserver.Options{})
	d.status(id, "completed", 1)
	if a := d.use("mpm_session_status", object{"session_id": id}); text(a.object, "last_output") != "ONE" {
		t.Errorf("status %s", encoded(a.object))
	}
	d.goOn(id, "PROMPT-TWO", "TWO", false)
	d.remembers([]string{"PROMPT-ONE", "ONE", "PROMPT-TWO"})
	d.status(id, "completed", 2)
	if i := d.find(id).Info(); !i.Params.NoTickets || i.Result.SessionTotalTurns != 2 || i.TotalCostUSD <= i.Result.TotalCostUSD {
		t.Errorf("parameters %+v, result %+v", i.Params, i.Result)
	}
	if a := d.use("mpm_session_stop", object{"session_id": id}); a.object["stopped"] != true {
		t.Errorf("stop %s", encoded(a.object))
	}

	l.reopen(l.storing)
	d = l.desk(mpmserver.Options{})
	d.status(id, "stopped", 2)
	fork := d.goOn(id, "PROMPT-THREE", "THREE", true)
	d.remembers([]string{"PROMPT-ONE", "TWO", "PROMPT-THREE"})
	if fork == id {
		t.Error("the fork has the id of the session")
	}
}

// TestMPMContinueWithoutATranscript: the CLI knows nothing of the session any more,
// and says so before it tells anything else.
func TestMPMContinueWithoutATranscript(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("ONE"), fakeapi.Say("ANEW"))
	l.open(l.storing)
	d := l.desk(mpmserver.Options{})
	id := d.start("PROMPT-ONE", "ONE")
	s := d.find(id)
	l.reopen(l.storing)
	l.forget(s)
	d = l.desk(mpmserver.Options{})
	a := d.use("mpm_session_continue", object{"session_id": id, "prompt": "PROMPT-TWO"})
	d.bad(a, "SessionError", "No conversation found")
	d.status(id, "error", 2)
	if len(l.api.Requests()) > 1 {
		t.Error("the model was asked")
	}
	d.start("PROMPT-THREE", "ANEW")
}
