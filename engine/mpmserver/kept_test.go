package mpmserver

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
)

// Of a turn longer than memory, the rest is read from the store.
func TestATurnLongerThanMemory(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"first"},{"oversized_bytes":300000},{"oversized_bytes":300000},{"text":"last"}]]}`, engine: keeps(t, t.TempDir())})
	a := r.must("mpm_session_start", `{"prompt":"go"}`)
	out := a["output"].(string)
	if a["messages_dropped"] != nil || !strings.HasPrefix(out, "first\n") || !strings.HasSuffix(out, "\nlast") || len(out) < 600_000 {
		t.Errorf("%v dropped, output has %d bytes and begins with %.20q", a["messages_dropped"], len(out), out)
	}
}

func keeps(t *testing.T, folder string) func(*engine.Options) {
	return func(o *engine.Options) {
		j, err := journal.Open(journal.Options{Folder: folder + "/store"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() }) // after the engine
		o.Store, o.StateDir, o.MaxEventBytes = j, folder+"/state", 100_000
		o.DiskResume, o.ResumeSecret, o.Roots = true, engine.Secret(strings.Repeat("k", 32)), []string{folder}
	}
}

// A session of an earlier server is shown and continued as it was.
func TestAfterARestart(t *testing.T) {
	folder := t.TempDir()
	scenario := `{"turns":[[{"text":"before"}]],"resume_turns":[[{"text":"after"},{"reveal":"env:CLAUDE_MPM_NO_TICKETS"}]]}`
	first := serve(t, setup{scenario: scenario, engine: keeps(t, folder)})
	id := first.must("mpm_session_start", `{"prompt":"go","no_tickets":true}`)["session_id"].(string)
	stopped := first.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	first.must("mpm_session_stop", `{"session_id":"`+stopped+`"}`)
	first.close()

	second := serve(t, setup{scenario: scenario, engine: keeps(t, folder)})
	if s := second.status(id); s["status"] != "completed" || s["message_count"] != 1.0 || s["last_output"] != "before" {
		t.Errorf("status %v", s)
	}
	for _, v := range second.must("mpm_session_list", `{}`)["sessions"].([]any) {
		if s := v.(map[string]any); s["last_output"] != "before" || s["message_count"] != 1.0 {
			t.Errorf("listed: %v", s)
		}
	}
	if s := second.status(stopped); s["last_output"] != "before" {
		t.Errorf("the stopped one: %v", s)
	}
	if s := second.status(stopped); s["status"] != "stopped" {
		t.Errorf("the stopped one: %v", s)
	}
	for _, each := range []string{id, stopped} {
		a := second.must("mpm_session_continue", `{"session_id":"`+each+`","prompt":"on"}`)
		if !strings.HasPrefix(a["output"].(string), "after\n") || a["session_id"] != each || strings.Contains(a["output"].(string), `"1"`) != (each == id) {
			t.Errorf("continued: %v", a)
		}
		if s := second.status(each); s["status"] != "completed" || s["message_count"] != 2.0 {
			t.Errorf("status after that %v", s)
		}
	}
}

// A list of sessions of an earlier server shows what the model said, covered and of
// bounded length, and of one without words null; a failure is none of its words.
func TestKeptOutputs(t *testing.T) {
	folder := t.TempDir()
	scenario := `{"turns":[[{"text":"` + strings.Repeat("long ", 2000) + secret + `"}],[{"text":"half"},{"exit":{"code":1}}]],"resume_turns":[[{"exit":{"code":1}}]]}`
	first := serve(t, setup{scenario: scenario, engine: keeps(t, folder)})
	id := first.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	after := func(more int) (listed, status any) {
		for range more {
			first.use("mpm_session_continue", `{"session_id":"`+id+`","prompt":"on"}`)
		}
		first.close()
		first = serve(t, setup{scenario: scenario, engine: keeps(t, folder)})
		list := first.must("mpm_session_list", `{}`)["sessions"].([]any)
		return list[0].(map[string]any)["last_output"], first.status(id)["last_output"]
	}
	listed, status := after(0)
	if text, _ := listed.(string); len(text) > listedOutput || len(text) < listedOutput/2 || !strings.HasPrefix(text, "…") || !strings.HasSuffix(text, "long [x]") {
		t.Errorf("listed %.40q", text)
	}
	if text, _ := status.(string); len(text) != 10_003 || !strings.HasSuffix(text, "long [x]") {
		t.Errorf("status has %d bytes", len(text))
	}
	if listed, status = after(1); listed != nil || status != nil {
		t.Errorf("of a turn without words: %v, %v", listed, status)
	}
}
