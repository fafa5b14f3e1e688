package realcli

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/mpmserver"
)

// TestMPMConversation is a conversation of three prompts.
func TestMPMConversation(t *testing.T) {
	l := newLab(t)
	l.serve(
		fakeapi.Turn{Content: []fakeapi.Block{{Type: "text", Text: "I look."}, {Type: "tool_use", Tool: fakeapi.ToolUse{Name: "Bash", Input: object{"command": "touch seen.txt"}}}}},
		fakeapi.Say("ANSWER-ONE"), fakeapi.Say("ANSWER-TWO"), fakeapi.Say("ANSWER-THREE"))
	l.open()
	d := l.desk(mpmserver.Options{})
	first := d.use("mpm_session_start", object{"prompt": "PROMPT-ONE", "working_directory": l.project, "timeout": 60})
	id := d.good(first, "I look.\nANSWER-ONE")
	kinds := map[string]int{}
	for _, m := range first.object["messages"].([]any) {
		kinds[text(m.(object), "type")]++
	}
	if kinds["assistant"] < 2 || kinds["user"] != 1 || kinds["result"] != 1 {
		t.Errorf("messages of the kinds %v: %s", kinds, encoded(first.object["messages"]))
	}
	if _, err := os.Stat(l.path("seen.txt")); err != nil {
		t.Errorf("%v: %s", err, encoded(first.object))
	}
	d.status(id, "completed", 1)
	d.goOn(id, "PROMPT-TWO", "ANSWER-TWO", false)
	if got := d.goOn(id, "PROMPT-THREE", "ANSWER-THREE", false); got != id {
		t.Errorf("session %s answered for %s", got, id)
	}
	d.remembers([]string{"PROMPT-ONE", "ANSWER-ONE", "PROMPT-TWO", "ANSWER-TWO", "PROMPT-THREE"})
	a := d.use("mpm_session_status", object{"session_id": id})
	if text(a.object, "last_output") != "ANSWER-THREE" || text(a.object, "working_directory") != l.project || a.object["message_count"] != 3. {
		t.Errorf("status %s", encoded(a.object))
	}
	a = d.use("mpm_session_list", nil)
	if a.object["count"] != 1. || a.object["active_count"] != 0. {
		t.Errorf("list %s", encoded(a.object))
	}
	l.wasJudged("Bash", "touch seen.txt")
}

// TestMPMForks takes one conversation two ways, and then goes on with the first.
func TestMPMForks(t *testing.T) {
	l := newLab(t)
	l.serve(fakeapi.Say("DESIGN"), fakeapi.Say("BY-REDIS"), fakeapi.Say("BY-MEMCACHED"), fakeapi.Say("REDIS-AGAIN"), fakeapi.Say("ORIGINAL"))
	l.open()
	d := l.desk(mpmserver.Options{})
	id := d.start("PROMPT-DESIGN", "DESIGN")
	s := d.find(id)
	l.eventually("the CLI has written the turn to disk", func() bool { return strings.Contains(l.transcript(s), `"DESIGN"`) })
	before := spoken(l.transcript(s))

	redis := d.goOn(id, "PROMPT-REDIS", "BY-REDIS", true)
	d.remembers([]string{"PROMPT-DESIGN", "PROMPT-REDIS"})
	memcached := d.goOn(id, "PROMPT-MEMCACHED", "BY-MEMCACHED", true)
	d.remembers([]string{"PROMPT-DESIGN", "PROMPT-MEMCACHED"}, "PROMPT-REDIS", "BY-REDIS")
	if redis == id || memcached == id || redis == memcached {
		t.Errorf("forks %s and %s of %s", redis, memcached, id)
	}
	d.goOn(redis, "PROMPT-MORE", "REDIS-AGAIN", false)
	d.remembers([]string{"BY-REDIS"}, "PROMPT-MEMCACHED")
	if after := spoken(l.transcript(s)); after != before {
		t.Errorf("the forks changed the original:\n%s\nbefore\n%s", after, before)
	}
	d.goOn(id, "PROMPT-ORIGINAL", "ORIGINAL", false)
	d.remembers([]string{"PROMPT-DESIGN", "DESIGN"}, "REDIS", "MEMCACHED")
	d.status(id, "completed", 2)
	d.status(redis, "completed", 2)
	d.status(memcached, "completed", 1)
}

// spoken are the lines of a transcript that hold somebody's words: the CLI adds
// others of its own, such as a title, when it likes.
func spoken(transcript string) string {
	var lines []string
	for line := range strings.Lines(transcript) {
		if strings.Contains(line, `"type":"user"`) || strings.Contains(line, `"type":"assistant"`) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

// TestMPMStop ends a session in the middle of a command, gently and by force, and
// takes it up again.
func TestMPMStop(t *testing.T) {
	needProc(t)
	l := newLab(t)
	l.serve(bash("sleep 301"), fakeapi.Say("AFTER-STOP"), bash("sleep 302"), fakeapi.Say("AFTER-FORCE"))
	l.open()
	d := l.desk(mpmserver.Options{})
	call := d.begin("mpm_session_start", object{"prompt": "PROMPT-FIRST"})
	id := d.reaches("active")
	d.stopped(id, call, false, "sleep 301")
	d.status(id, "stopped", 1)
	d.goOn(id, "PROMPT-ON", "AFTER-STOP", false)
	d.remembers([]string{"PROMPT-FIRST", "PROMPT-ON"})
	d.status(id, "completed", 2)

	call = d.begin("mpm_session_continue", object{"session_id": id, "prompt": "PROMPT-THIRD"})
	d.stopped(id, call, true, "sleep 302")
	d.status(id, "stopped", 3)
	d.goOn(id, "PROMPT-LAST", "AFTER-FORCE", false)
	d.remembers([]string{"PROMPT-FIRST", "AFTER-STOP", "PROMPT-THIRD", "PROMPT-LAST"})
}

// stopped stops a session while command runs, and wants the call that blocks to
// fail and nothing of it to be left.
func (d desk) stopped(id string, call <-chan toolAnswer, force bool, command string) {
	d.Helper()
	d.eventually(command+" runs", func() bool { return d.runs(command) })
	a := d.use("mpm_session_stop", object{"session_id": id, "force": force})
	if a.failed || a.object["stopped"] != true || a.object["force"] != force || text(a.object, "session_id") != id {
		d.Errorf("stop %s", encoded(a.object))
	}
	if left := d.processes(); len(left) > 0 {
		d.Errorf("alive after the stop: %v", left)
	}
	ended := <-call
	if ended.err != nil {
		d.Fatal(ended.err)
	}
	d.bad(ended, "SessionError", "Session stopped")
}

// runs says whether a process of the lab has this command line.
func (l *lab) runs(command string) bool {
	l.Helper()
	for _, pid := range l.processes() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline")) // may have ended
		if err == nil && strings.TrimRight(strings.ReplaceAll(string(line), "\x00", " "), " ") == command {
			return true
		}
	}
	return false
}
