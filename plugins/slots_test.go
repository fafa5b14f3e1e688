package plugins

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// hold takes a slot in a test, and releases it after a while.
func (l lane) hold(t *testing.T, d time.Duration) {
	t.Helper()
	if err := l.take(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(d, l.release)
}

func TestLaneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newSlots(2)
		a, b := newLane(all), newLane(all)
		a.hold(t, time.Minute)
		began := time.Now()
		if err := a.take(t.Context(), nil); err == nil || err.Error() != "not called, as all slots of one plugin (1) were taken for 10s" || time.Since(began) != SlotWait {
			t.Errorf("of its own, after %v: %v", time.Since(began), err)
		}
		b.hold(t, 15*time.Second)
		c := newLane(all)
		if err := c.take(t.Context(), nil); err == nil || err.Error() != "not called, as all 2 slots were taken for 10s" {
			t.Errorf("of all: %v", err)
		}
		if len(c.own) != 0 {
			t.Error("who did not get a slot of all keeps one of its own")
		}
		c.hold(t, 0) // b ends meanwhile
		synctest.Wait()
	})
}

// TestLaneLeavesOne has one plugin want far more than there is: another one does not
// wait for it, and its own calls are made in the order they came.
func TestLaneLeavesOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := newSlots(4)
		greedy, modest := newLane(all), newLane(all)
		var order []int
		var mu sync.Mutex
		for i := range 12 {
			go func() { // ends within the test, a second for each three before it
				if err := greedy.take(t.Context(), nil); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				order = append(order, i)
				mu.Unlock()
				time.Sleep(time.Second)
				greedy.release()
			}()
			synctest.Wait()
		}
		for range 20 {
			began := time.Now()
			if err := modest.take(t.Context(), nil); err != nil || time.Since(began) != 0 {
				t.Errorf("waited %v: %v", time.Since(began), err)
			}
			modest.release()
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		for i, n := range order {
			if i/3 != n/3 {
				t.Errorf("made in the order %v", order)
				break
			}
		}
		if len(all) != 0 || len(greedy.own) != 0 || len(modest.own) != 0 {
			t.Error("slots are left behind")
		}
	})
}

func TestLaneIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, ended := newSlots(2), make(chan struct{})
		a, b, c := newLane(all), newLane(all), newLane(all)
		a.hold(t, time.Hour)
		b.hold(t, time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for name, l := range map[string]lane{"of its own": a, "of all": c} {
			if err := l.take(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s, with the context: %v", name, err)
			}
			time.AfterFunc(time.Second, func() { close(ended) })
			if err := l.queue(t.Context(), ended, nil); !errors.Is(err, errHostEnds) {
				t.Errorf("%s, with the host: %v", name, err)
			}
			ended = make(chan struct{})
		}
		time.AfterFunc(2*SlotWait, a.release)
		if err := c.queue(t.Context(), nil, nil); err != nil || len(c.own) != 1 {
			t.Errorf("without a bound: %v", err)
		}
	})
}

// TestSlowPluginLeavesASlot has a plugin with the longest timeout be called by many:
// another one is called at once.
func TestSlowPluginLeavesASlot(t *testing.T) {
	slow, good := guest(t, "slow", hostileLoop()), guest(t, "good", hostileHealthy())
	h, _ := start(t, Options{Plugins: []Config{slow, good}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	const many = 20
	for range many {
		go func() { // ends with ctx
			_, err := h.Try(ctx, "slow", PrePermission, nil)
			ended <- err
		}()
	}
	for len(h.slots) < cap(h.slots)-1 {
		time.Sleep(time.Millisecond)
	}
	for range 50 {
		if out, err := h.Try(t.Context(), "good", PrePermission, nil); err != nil || out.Reason != "no" {
			t.Errorf("%+v, %v", out, err)
		}
	}
	cancel()
	for range many {
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "cancelled") && !strings.Contains(err.Error(), "stopped") {
			t.Error(err)
		}
	}
}

// TestToolsDoNotSilence has a model break a tool again and again: the plugin is
// heard at its other hooks all the same.
func TestToolsDoNotSilence(t *testing.T) {
	g := w.NewGuest()
	g.Hook("tools_list", g.Output(`{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`))
	g.Hook("tools_call", w.Trap())
	g.Hook("pre_permission", g.Verdict(w.DenyKind, "no"))
	h := oneGuest(t, g.Bytes(), func(c *Config) { c.OnError = ErrorSkips })
	for range 2 * UnhealthyAfter {
		if _, err := h.CallTool(t.Context(), "g", "t", "", nil); err == nil || !strings.Contains(err.Error(), "trapped") {
			t.Fatal(err)
		}
	}
	if said := h.Annotate(t.Context(), bash("ls")); said[0].Reason != "no" {
		t.Errorf("said %+v", said)
	}
}
