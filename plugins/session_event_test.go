package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

func observe(h *Host, session string, kind event.Kind, id int64) {
	h.Observe(&event.Origin{SessionID: session}, event.Event{ID: id, Type: kind, Timestamp: time.Now(), Data: json.RawMessage(`{"text":"x"}`)})
}

func TestObserveBeforeAnnotate(t *testing.T) {
	keeps := having(guest(t, "keeps", w.Remember("session_event", "pre_permission", "k", "seen")), func(c *Config) { c.KV = true })
	results := having(guest(t, "results", w.Remember("session_event", "pre_permission", "k", "seen")), func(c *Config) {
		c.KV, c.Events = true, []event.Kind{event.Result, event.Partial}
	})
	h, _ := start(t, Options{Plugins: []Config{keeps, results}})
	said := func(session string) string {
		r := bash("ls")
		r.SessionID = session
		var all []string
		for _, a := range h.Annotate(t.Context(), r) {
			all = append(all, fmt.Sprint(a.Verdict, " ", a.Reason, a.Error))
		}
		return strings.Join(all, "|")
	}
	for _, c := range []struct {
		name, want string
		before     func()
	}{
		{"nothing yet", "abstain |abstain ", func() {}},
		{"partial ones are for who asks", "abstain |deny seen", func() { observe(h, "s1", event.Partial, 0) }},
		{"one event", "deny seen|deny seen", func() { observe(h, "s1", event.Output, 1) }},
		{"after the end", "abstain |abstain ", func() { h.Ended("s1") }},
		{"resumed", "deny seen|abstain ", func() { observe(h, "s1", event.Output, 2) }},
		{"reloaded with another setting", "deny seen|abstain ", func() {
			keeps.Order = -1
			if err := h.Reload(t.Context(), []Config{keeps, results}); err != nil {
				t.Fatal(err)
			}
		}},
		{"gone and back", "abstain |abstain ", func() {
			for _, list := range [][]Config{{results}, {keeps, results}} {
				if err := h.Reload(t.Context(), list); err != nil {
					t.Fatal(err)
				}
			}
		}},
	} {
		c.before()
		if got := said("s1"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if got := said("s2"); got != "abstain |abstain " {
			t.Errorf("%s: another session: %q", c.name, got)
		}
	}
}

func TestObserveSees(t *testing.T) {
	g := w.NewGuest()
	g.Hook("session_event", g.Must(1, g.Get("/event/id", w.Buffer, 0)), g.Must(6, g.Get("/event/type", w.Buffer, 0)), g.Must(1, g.Get("/event/data/text", w.Buffer, 0)),
		g.Must(2, g.Get("/session/id", w.Buffer, 0)), g.Must(0, g.KVSet("k", "as it should be")))
	g.Hook("pre_permission", g.Must(15, g.KVGet("k", w.Buffer, 0)))
	h, log := start(t, Options{Plugins: []Config{having(guest(t, "p", g.Bytes()), func(c *Config) { c.KV = true })}})
	observe(h, "s1", event.Output, 7)
	if a := h.Annotate(t.Context(), bash("ls"))[0]; a.Error != "" {
		t.Errorf("%+v, log %s", a, log)
	}
}

func TestMissedEvents(t *testing.T) {
	g := w.NewGuest()
	g.Hook("session_event", w.Trap())
	g.Hook("pre_permission", g.Verdict(w.AllowKind, ""))
	list := []Config{guest(t, "forgets", g.Bytes())}
	for _, e := range []OnError{ErrorAsks, ErrorDenies, ErrorSkips} {
		list = append(list, having(guest(t, "kv_"+string(e), g.Bytes()), func(c *Config) { c.KV, c.OnError = true, e }))
	}
	h, log := start(t, Options{Plugins: list})
	observe(h, "s1", event.Output, 0)
	observe(h, "s1", event.Output, 1)
	for _, a := range h.Annotate(t.Context(), bash("ls")) {
		want := map[string]permission.Effect{"forgets": permission.Allow, "kv_ask": permission.Ask, "kv_deny": permission.Deny, "kv_skip": permission.Abstain}[a.Plugin]
		if a.Verdict != want || (a.Error == "") != (a.Plugin == "forgets") || a.Error != "" && !strings.Contains(a.Error, "events of this session were lost; the first: plugin") {
			t.Errorf("%+v, want %s", a, want)
		}
	}
	h.Ended("s1")
	for _, a := range h.Annotate(t.Context(), bash("ls")) {
		if a.Error != "" {
			t.Errorf("after the end: %+v", a)
		}
	}
	if n := strings.Count(log.String(), "plugin=kv_deny"); n != 1 {
		t.Errorf("told %d times: %s", n, log)
	}
}

// TestAllAtOnce has everything happen at the same time: nothing but errors of the
// plugin itself may come of it, and every verdict is heard.
func TestAllAtOnce(t *testing.T) {
	g := w.NewGuest()
	g.Hook("session_event", g.KVSet("k", "v"), w.Drop())
	g.Hook("pre_permission", g.KVGet("k", w.Buffer, 64), w.Drop(), g.KVSet("own", "v"), w.Drop(), g.Verdict(w.DenyKind, "no"))
	g.Hook("redact", g.Output(`{"edits":[]}`))
	list := []Config{having(guest(t, "a", g.Bytes()), func(c *Config) { c.KV = true }), guest(t, "b", w.Deny("pre_permission", "no"))}
	h, _ := start(t, Options{Plugins: list})
	ctx, cancel := context.WithCancel(t.Context())
	var all, reloads sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			session := fmt.Sprint(i % 3)
			for n := range int64(30) {
				observe(h, session, event.Output, n)
				r := bash("ls")
				r.SessionID = session
				said := h.Annotate(t.Context(), r)
				if len(said) == 0 {
					t.Error("nobody was heard")
				}
				for _, a := range said {
					if a.Verdict != permission.Deny || a.Error != "" {
						t.Errorf("%+v", a)
					}
				}
				if _, _, err := h.Redact(t.Context(), modelOutput(`{"a":1}`)); err != nil {
					t.Error(err)
				}
				if n%10 == 9 {
					h.Ended(session)
				}
			}
		})
	}
	reloads.Go(func() {
		for n := 0; ctx.Err() == nil; n++ {
			list[0].Order = n % 2
			if err := h.Reload(t.Context(), list); err != nil {
				t.Error(err)
			}
		}
	})
	all.Wait()
	cancel()
	reloads.Wait()
	for i := range 3 {
		h.Ended(fmt.Sprint(i))
	}
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if h.events.bytes != 0 {
		t.Errorf("%d bytes of events are counted for nothing", h.events.bytes)
	}
}

func TestAfterClose(t *testing.T) {
	g := w.NewGuest()
	for _, hook := range []string{"session_event", "pre_permission", "redact"} {
		g.Hook(hook)
	}
	h, _ := start(t, Options{Plugins: []Config{guest(t, "p", g.Bytes())}})
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	observe(h, "s1", event.Output, 0)
	h.Ended("s1")
	if said := h.Annotate(t.Context(), bash("ls")); len(said) != 1 || said[0].Verdict != permission.Deny || said[0].Error == "" {
		t.Errorf("a verdict after the end: %+v", said)
	}
	if out, _, err := h.Redact(t.Context(), modelOutput(`{}`)); err == nil {
		t.Errorf("a payload passed after the end: %s", out)
	}
}

// TestSlowEventsLeaveSlots has many plugins hang in session_event.
func TestSlowEventsLeaveSlots(t *testing.T) {
	list := []Config{guest(t, "judge", w.Deny("pre_permission", "no"))}
	for i := range 2 * cap(newHost(Options{}).slots) {
		list = append(list, guest(t, fmt.Sprint("slow", i), w.Hook("session_event", w.Forever())))
	}
	h, _ := start(t, Options{Plugins: list[:min(len(list), MaxPlugins)]})
	for i := range 40 {
		observe(h, fmt.Sprint("flood", i), event.Output, 1)
	}
	for len(h.eventSlots) < cap(h.eventSlots) {
		time.Sleep(time.Millisecond)
	}
	if a := h.Annotate(t.Context(), bash("ls"))[0]; a.Error != "" || len(h.slots) > 0 {
		t.Errorf("%+v, and %d slots are taken", a, len(h.slots))
	}
}
