package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

var discard = slog.New(slog.DiscardHandler)

// actor is a remote without anything behind it.
type actor struct {
	ctx    context.Context
	end    context.CancelCauseFunc
	change chan struct{}
	lists  int
}

func newActor() *actor {
	a := &actor{change: make(chan struct{}, 1)}
	a.ctx, a.end = context.WithCancelCause(context.Background())
	return a
}

func (a *actor) call(ctx context.Context, name string, _ json.RawMessage) (json.RawMessage, error) {
	if name == "hang" {
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return json.RawMessage(`{"content":[]}`), nil
}

func (a *actor) list(context.Context) ([]json.RawMessage, bool, error) {
	a.lists++
	return []json.RawMessage{json.RawMessage(`{"name":"hang","inputSchema":{"type":"object"}}`), json.RawMessage(`{"name":"run","inputSchema":{"type":"object"}}`)}, true, nil
}

func (a *actor) instructions() string         { return "" }
func (a *actor) listChanged() <-chan struct{} { return a.change }
func (a *actor) over() <-chan struct{}        { return a.ctx.Done() }
func (a *actor) cause() error                 { return context.Cause(a.ctx) }
func (a *actor) close() error                 { a.end(errEnded); return nil }

// staged is a server whose connections dial makes.
func staged(t *testing.T, dial func(context.Context) (remote, error)) (*Server, *peer) {
	t.Helper()
	s, err := Open(Config{Name: "staged", URL: "https://example.invalid"}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock()
	s.shared = s.begin(dial)
	s.mu.Unlock()
	t.Cleanup(func() { s.Close(context.Background()) })
	return s, s.shared
}

func TestBackoff(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var at []time.Duration
		began := time.Now()
		var last *actor
		_, p := staged(t, func(context.Context) (remote, error) {
			at = append(at, time.Since(began))
			if len(at) < 9 {
				return nil, errors.New("no")
			}
			last = newActor()
			return last, nil
		})
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(at) != 0 {
			t.Fatalf("started %d times without a link", len(at))
		}
		began = time.Now()
		p.enter()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		pause, sum := firstPause, time.Duration(0)
		for i, d := range at {
			if d != sum {
				t.Errorf("start %d after %v, want %v", i, d, sum)
			}
			sum += pause
			pause = min(2*pause, longestPause)
		}
		if len(at) != 9 {
			t.Fatalf("%d starts, want 9", len(at))
		}
		died := time.Since(began)
		last.end(errors.New("died after a long life"))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(at) != 10 || at[9]-died != firstPause {
			t.Errorf("after a long life: %v", at[9:])
		}
	})
}

func TestIdle(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		starts := 0
		var last *actor
		_, p := staged(t, func(context.Context) (remote, error) {
			starts++
			last = newActor()
			return last, nil
		})
		p.enter()
		time.Sleep(time.Hour)
		synctest.Wait()
		p.leave()
		time.Sleep(DefaultIdleTimeout - time.Second)
		synctest.Wait()
		p.enter()
		p.leave()
		time.Sleep(DefaultIdleTimeout - time.Second)
		synctest.Wait()
		if last.ctx.Err() != nil || starts != 1 {
			t.Fatalf("ended too early; %d starts", starts)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if last.ctx.Err() == nil {
			t.Fatal("lives without a session")
		}
		p.enter()
		synctest.Wait()
		if starts != 2 {
			t.Errorf("%d starts", starts)
		}
	})
}

func TestCallsWhileDown(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var works atomic.Bool
		_, p := staged(t, func(context.Context) (remote, error) {
			time.Sleep(time.Second)
			if !works.Load() {
				return nil, errors.New("no licence")
			}
			return newActor(), nil
		})
		p.enter()
		call := func(name string) string {
			raw, err := p.tool(name)(t.Context(), "s", json.RawMessage(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			return string(raw)
		}
		if got := call("run"); !strings.Contains(got, `it is not running: no licence`) {
			t.Errorf("while it does not start: %s", got)
		}
		works.Store(true)
		if got := call("run"); got != `{"content":[]}` {
			t.Errorf("it waits for the restart: %s", got)
		}
		began := time.Now()
		if got := call("hang"); !strings.Contains(got, "no answer within 2m0s") || time.Since(began) != DefaultTimeout {
			t.Errorf("after %v: %s", time.Since(began), got)
		}
	})
}

func TestHold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s, _ := staged(t, func(ctx context.Context) (remote, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		began := time.Now()
		l := connectTo(t, s, "a")
		l.start()
		if d := time.Since(began); d != longestHold {
			t.Errorf("held for %v, want %v", d, longestHold)
		}
		if n := len(l.tools()); n != 0 || time.Since(began) != longestHold {
			t.Errorf("%d tools after %v", n, time.Since(began))
		}
	})
}

func TestListsAreFew(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		a := newActor()
		_, p := staged(t, func(context.Context) (remote, error) { return a, nil })
		p.enter()
		synctest.Wait()
		for range 1000 {
			select {
			case a.change <- struct{}{}:
			default:
			}
			time.Sleep(10 * time.Millisecond)
			synctest.Wait()
		}
		if a.lists < 8 || a.lists > 13 {
			t.Errorf("listed %d times in ten seconds", a.lists)
		}
	})
}

func TestMeter(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		m := meter{window: time.Second, most: 100}
		for i := range 300 {
			if _, ok := m.take(1); ok != (i < 100) {
				t.Fatalf("%d: %v", i, ok)
			}
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if missed, ok := m.take(1); !ok || missed != 200 {
			t.Errorf("later: %d missed, %v", missed, ok)
		}
	})
}
