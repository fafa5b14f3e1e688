package plugins

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// TestReloadUnderCalls replaces plugins while 100 goroutines call them: every call
// ends with a verdict of the old one or of the new one, and none with an error.
func TestReloadUnderCalls(t *testing.T) {
	old, next := guest(t, "a", w.Deny("pre_permission", "old")), guest(t, "a", w.Deny("pre_permission", "new"))
	stays := guest(t, "b", w.Deny("pre_permission", "stays"))
	h, _ := start(t, Options{Plugins: []Config{old, stays}})
	var stop atomic.Bool
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() { // until stop
			for !stop.Load() {
				said := h.Annotate(context.Background(), bash("ls"))
				if len(said) != 2 || said[0].Error != "" || said[0].Reason != "old" && said[0].Reason != "new" || said[1].Reason != "stays" {
					t.Errorf("said %+v", said)
					return
				}
			}
		})
	}
	for i := range 20 {
		plugins := []Config{next, stays}
		if i%2 == 1 {
			plugins[0] = old
		}
		if err := h.Reload(t.Context(), plugins); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	all.Wait()
	if said := h.Annotate(t.Context(), bash("ls")); said[0].Reason != "old" {
		t.Errorf("after the last reload it says %q", said[0].Reason)
	}
}

func TestReload(t *testing.T) {
	a, b := guest(t, "a", w.Remember("session_admit", "pre_permission", "k", "kept")), guest(t, "b", w.Deny("pre_permission", "b"))
	a.KV = true
	var news []string
	h, _ := start(t, Options{Plugins: []Config{a, b}, Told: func(n News) { news = append(news, string(n.Kind)+" "+n.Plugin.Name) }})
	if _, err := h.Try(t.Context(), "a", SessionAdmit, []byte(`{"session":{"id":"s1"}}`)); err != nil {
		t.Fatal(err)
	}
	first, same := h.Revision(), h.inForce()[0]
	t.Run("unchanged", func(t *testing.T) {
		if err := h.Reload(t.Context(), []Config{b, a}); err != nil || h.Revision() != first || h.inForce()[0] != same {
			t.Errorf("%v, revision %s, want %s", err, h.Revision(), first)
		}
	})
	t.Run("an error changes nothing", func(t *testing.T) {
		broken := guest(t, "c", []byte("no module"))
		err := h.Reload(t.Context(), []Config{a, broken, having(b, func(c *Config) { c.Path += "x" })})
		if err == nil || !strings.Contains(err.Error(), `plugin "c": `) || !strings.Contains(err.Error(), `plugin "b": `) || h.Revision() != first {
			t.Errorf("%v", err)
		}
	})
	t.Run("settings", func(t *testing.T) {
		if err := h.Reload(t.Context(), []Config{having(a, func(c *Config) { c.Order = 5 }), b}); err != nil || h.Revision() == first {
			t.Errorf("%v, revision %s", err, h.Revision())
		}
		if h.inForce()[0].config.Name != "b" {
			t.Error("the order did not change")
		}
		if said := h.Annotate(t.Context(), bash("ls")); said[1].Reason != "kept" {
			t.Errorf("what it kept is gone: %+v", said)
		}
	})
	t.Run("file", func(t *testing.T) {
		if err := os.WriteFile(b.Path, w.Deny("pre_permission", "changed"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := h.Reload(t.Context(), []Config{b}); err != nil {
			t.Fatal(err)
		}
		if said := h.Annotate(t.Context(), bash("ls")); len(said) != 1 || said[0].Reason != "changed" {
			t.Errorf("said %+v", said)
		}
	})
	want := []string{"loaded a", "loaded b", "loaded a", "unloaded a", "loaded b"}
	if !slices.Equal(news, want) {
		t.Errorf("news are %q, want %q", news, want)
	}
}

// slowTool is a plugin with a tool that never comes back.
func slowTool(t *testing.T) Config {
	t.Helper()
	g := w.NewGuest()
	g.Hook("tools_list", g.Output(`{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`))
	g.Hook("tools_call", w.Forever())
	return having(guest(t, "g", g.Bytes()), func(c *Config) { c.ToolTimeout = MaxToolTimeout })
}

// TestCloseEndsAllCalls has calls run in a plugin that is no longer in force, and
// wait for slots.
func TestCloseEndsAllCalls(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{slowTool(t)}})
	const many = 2 * ToolSlots
	called := make(chan error, many)
	for range many {
		go func() { // ends with Close
			_, err := h.CallTool(context.Background(), "g", "t", "", nil)
			called <- err
		}()
	}
	for len(h.toolSlots) < cap(h.toolSlots)-1 {
		time.Sleep(time.Millisecond)
	}
	if err := h.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	for range many {
		if err := <-called; err == nil {
			t.Error("a call that never ends did")
		}
	}
	if len(h.live) > 0 {
		t.Errorf("%d plugins are left", len(h.live))
	}
}

// TestCloseTwice has two end the host at once: neither returns before all is freed.
func TestCloseTwice(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{guest(t, "g", hostileHealthy())}})
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if err := h.Close(context.Background()); err != nil {
				t.Error(err)
			}
			select {
			case <-h.freed:
			default:
				t.Error("it returned before all was freed")
			}
		})
	}
	all.Wait()
}

func TestCloseEndsCalls(t *testing.T) {
	h, _ := start(t, Options{Plugins: []Config{slowTool(t)}})
	called := make(chan error)
	go func() { // ends with Close
		_, err := h.CallTool(context.Background(), "g", "t", "", nil)
		called <- err
	}()
	for len(h.toolSlots) == 0 {
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := h.Close(ctx); err != nil {
		t.Error(err)
	}
	if err := <-called; err == nil || !strings.Contains(err.Error(), "cancelled") {
		t.Errorf("the call ended with %v", err)
	}
	if _, err := h.CallTool(context.Background(), "g", "t", "", nil); !errors.Is(err, errClosed) {
		t.Errorf("a call after Close ended with %v", err)
	}
	if err := h.Reload(t.Context(), nil); !errors.Is(err, errClosed) {
		t.Errorf("a reload after Close ended with %v", err)
	}
}
