package mpmserver

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const hangs = `{"turns":[[{"text":"so far"},{"wait_interrupt":true}]],"resume_turns":[[{"text":"again"}]]}`

func oneAtATime(o *engine.Options) { o.MaxConcurrent = 1 }

func TestStop(t *testing.T) {
	for _, force := range []string{"", `,"force":false`, `,"force":true`} {
		t.Run("stop"+force, func(t *testing.T) {
			r := serve(t, setup{scenario: hangs})
			call := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
			id := r.one("active", 1)
			a := r.must("mpm_session_stop", `{"session_id":"`+id+`"`+force+`}`)
			if a["session_id"] != id || a["stopped"] != true || a["force"] != strings.Contains(force, "true") || len(a) != 3 {
				t.Errorf("stop: %v", a)
			}
			b, isError := call.wait(t)
			if !isError || b["success"] != false || b["error"] != "Session stopped" || b["error_type"] != "SessionError" || b["session_id"] != id || b["output"] != "so far" {
				t.Errorf("the call that was waiting: %v", b)
			}
			if s := r.status(id); s["status"] != "stopped" {
				t.Errorf("status %v", s)
			}
			if a = r.must("mpm_session_stop", `{"session_id":"`+id+`"}`); a["stopped"] != true {
				t.Errorf("stopped once more: %v", a)
			}
			c := r.must("mpm_session_continue", `{"session_id":"`+id+`","prompt":"on"}`)
			if c["output"] != "again" || c["session_id"] != id {
				t.Errorf("continued: %v", c)
			}
			if s := r.status(id); s["status"] != "completed" {
				t.Errorf("status after that %v", s)
			}
		})
	}
}

func TestStopOfWhatDoesNotRun(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"done"}]]}`})
	for _, id := range []string{"nobody", "3e0b5d8e-2d3c-4f0e-9d53-0a7de7a0f001"} {
		a, isError := r.use("mpm_session_stop", `{"session_id":"`+id+`","force":true}`)
		if isError || a["stopped"] != false || a["session_id"] != id || a["force"] != true {
			t.Errorf("unknown: %v", a)
		}
		b, isError := r.use("mpm_session_status", `{"session_id":"`+id+`"}`)
		if isError || b["found"] != false || b["error"] != "Session not found: "+id || b["session_id"] != id {
			t.Errorf("status of unknown: %v", b)
		}
	}
	id := r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	if a := r.must("mpm_session_stop", `{"session_id":"`+id+`"}`); a["stopped"] != true {
		t.Errorf("finished: %v", a)
	}
	if s := r.status(id); s["status"] != "stopped" || s["last_output"] != "done" {
		t.Errorf("status %v", s)
	}
}

// What a session has done stays when one more turn is stopped before its slot.
func TestStopOfAWaitingContinue(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"done"}],[{"wait_interrupt":true}]]}`, engine: oneAtATime})
	first, second := r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string), r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	running := r.background(t.Context(), "mpm_session_continue", `{"session_id":"`+first+`","prompt":"on"}`)
	r.one("active", 1)
	waiting := r.background(t.Context(), "mpm_session_continue", `{"session_id":"`+second+`","prompt":"on"}`)
	r.one("starting", 1)
	r.must("mpm_session_stop", `{"session_id":"`+second+`"}`)
	if a, isError := waiting.wait(t); !isError || a["error"] != "Session stopped" || a["output"] != "" {
		t.Errorf("the waiting call: %v", a)
	}
	if s := r.status(second); s["status"] != "stopped" || s["message_count"] != 1.0 || s["last_output"] != "done" {
		t.Errorf("status %v", s)
	}
	r.must("mpm_session_stop", `{"session_id":"`+first+`","force":true}`)
	running.wait(t)
	if s := r.status(first); s["message_count"] != 2.0 || s["last_output"] != nil {
		t.Errorf("the one that ran: %v", s)
	}
}

func TestRefusedStop(t *testing.T) {
	r := serve(t, setup{scenario: `{"turns":[[{"text":"done"}]]}`})
	id := r.must("mpm_session_start", `{"prompt":"go"}`)["session_id"].(string)
	r.admit.refuse(admission.Cancel)
	a, isError := r.use("mpm_session_stop", `{"session_id":"`+id+`"}`)
	if !isError || a["error_type"] != "SessionError" || a["session_id"] != id || !strings.Contains(a["error"].(string), "test.refused") {
		t.Errorf("stop: %v", a)
	}
	if s := r.status(id); s["status"] != "completed" {
		t.Errorf("status %v", s)
	}
}

// A call that its client gives up stops the session, which can be continued.
func TestCancelWhileRunning(t *testing.T) {
	r := serve(t, setup{scenario: hangs})
	ctx, cancel := context.WithCancel(t.Context())
	call := r.background(ctx, "mpm_session_start", `{"prompt":"go"}`)
	id := r.one("active", 1)
	cancel()
	<-call.done
	if call.err == nil {
		t.Errorf("the call was answered: %v", call.m)
	}
	if got := r.one("stopped", 1); got != id {
		t.Errorf("stopped is %s, want %s", got, id)
	}
	until(t, "continued", func() bool { // its processes may still be ending
		a, isError := r.use("mpm_session_continue", `{"session_id":"`+id+`","prompt":"on"}`)
		return !isError && a["output"] == "again"
	})
}

func TestCancelWhileWaiting(t *testing.T) {
	r := serve(t, setup{scenario: hangs, engine: oneAtATime})
	first := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	running := r.one("active", 1)
	ctx, cancel := context.WithCancel(t.Context())
	second := r.background(ctx, "mpm_session_start", `{"prompt":"go"}`)
	waiting := r.one("starting", 1)
	if l := r.must("mpm_session_list", `{"status":"completed"}`); l["count"] != 0.0 || l["active_count"] != 2.0 {
		t.Errorf("list %v", l)
	}
	cancel()
	<-second.done
	if got := r.one("stopped", 1); got != waiting {
		t.Errorf("stopped is %s, want %s", got, waiting)
	}
	if s := r.status(running); s["status"] != "active" {
		t.Errorf("the other: %v", s)
	}
	third := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	if got := r.one("starting", 1); got == waiting {
		t.Errorf("the third one is the second")
	}
	r.must("mpm_session_stop", `{"session_id":"`+running+`","force":true}`)
	next := r.one("active", 1) // the slot of the one that was cancelled is not lost
	r.must("mpm_session_stop", `{"session_id":"`+next+`","force":true}`)
	first.wait(t)
	third.wait(t)
}

func TestStopOfAWaitingOne(t *testing.T) {
	r := serve(t, setup{scenario: hangs, engine: oneAtATime})
	first := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	running := r.one("active", 1)
	second := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	waiting := r.one("starting", 1)
	r.must("mpm_session_stop", `{"session_id":"`+waiting+`"}`)
	if a, isError := second.wait(t); !isError || a["error"] != "Session stopped" || a["output"] != "" {
		t.Errorf("the waiting call: %v", a)
	}
	if s := r.status(waiting); s["status"] != "stopped" || s["message_count"] != 0.0 || s["last_output"] != nil {
		t.Errorf("a session without a turn: %v", s)
	}
	r.must("mpm_session_stop", `{"session_id":"`+running+`","force":true}`)
	first.wait(t)
}

// The end of a connection is no word of the client about its calls.
func TestEndOfTheConnection(t *testing.T) {
	r := serve(t, setup{scenario: hangs})
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	other := r.connectOver(&mcp.IOTransport{Reader: fromClient, Writer: toClient}, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	call := other.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	id := r.one("active", 1)
	toServer.Close()
	<-call.done
	if call.err == nil {
		t.Errorf("the call was answered: %v", call.m)
	}
	for range 20 {
		if s := r.status(id); s["status"] != "active" {
			t.Fatalf("status %v", s)
		}
	}
	r.must("mpm_session_stop", `{"session_id":"`+id+`","force":true}`)
}

func TestProgress(t *testing.T) {
	r := serve(t, setup{scenario: hangs, engine: oneAtATime})
	first := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	running := r.one("active", 1)
	other := r.connect()
	second := other.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	waiting := r.one("starting", 1)
	told := func(what string) func() bool {
		return func() bool {
			other.mu.Lock()
			defer other.mu.Unlock()
			return slices.ContainsFunc(other.progress, func(m string) bool { return strings.Contains(m, what) && strings.Contains(m, waiting) })
		}
	}
	until(t, "waiting for a slot", told("waiting for a slot"))
	if told("working")() {
		t.Error("works without a slot")
	}
	r.must("mpm_session_stop", `{"session_id":"`+running+`","force":true}`)
	until(t, "working", told("working"))
	r.must("mpm_session_stop", `{"session_id":"`+waiting+`","force":true}`)
	first.wait(t)
	second.wait(t)
	other.mu.Lock()
	defer other.mu.Unlock()
	if slices.Max(other.totals) != 0 {
		t.Errorf("totals %v: nobody knows how long a turn takes", other.totals)
	}
}

// Wherever a call is given up, nothing goes on for it and no slot is lost.
func TestCancelAtAnyMoment(t *testing.T) {
	r := serve(t, setup{scenario: hangs, engine: func(o *engine.Options) { o.MaxConcurrent = 2 }})
	for round := range 5 {
		var calls []*later
		for i := range 4 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i*round*7)*time.Millisecond)
			defer cancel()
			calls = append(calls, r.background(ctx, "mpm_session_start", `{"prompt":"go"}`))
		}
		for _, c := range calls {
			<-c.done
		}
	}
	until(t, "all stopped", func() bool { return r.must("mpm_session_list", `{}`)["active_count"] == 0.0 })
	l := r.must("mpm_session_list", `{}`)
	if n := r.must("mpm_session_list", `{"status":"stopped"}`)["count"]; n != l["count"] {
		t.Errorf("%v of %v sessions are stopped", n, l["count"])
	}
	first := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	second := r.background(t.Context(), "mpm_session_start", `{"prompt":"go"}`)
	r.one("active", 2)
	for _, s := range r.must("mpm_session_list", `{"status":"active"}`)["sessions"].([]any) {
		r.must("mpm_session_stop", `{"force":true,"session_id":"`+s.(map[string]any)["session_id"].(string)+`"}`)
	}
	first.wait(t)
	second.wait(t)
}
