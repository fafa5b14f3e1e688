package plugins

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// observing records what an observation does. deliver takes a second for each event.
type observing struct {
	*observation
	mu      sync.Mutex
	got     []string // "plugin session bytes"
	ends    []kvScope
	told    []string
	failing string // plugin whose deliveries fail
}

func newObserving() *observing {
	o := new(observing)
	note := func(list *[]string, s string) {
		o.mu.Lock()
		defer o.mu.Unlock()
		*list = append(*list, s)
	}
	o.observation = newObservation(func(ctx context.Context, plugin string, e observed) error {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
		note(&o.got, fmt.Sprint(plugin, " ", e.session, " ", e.bytes-waitingCost))
		if plugin == o.failing {
			return errors.New("it trapped")
		}
		return nil
	}, func(scope kvScope) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.ends = append(o.ends, scope)
	}, func(scope kvScope, why string) { note(&o.told, scope.plugin+" "+why) })
	return o
}

func TestEventsInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		for i := range 3 {
			o.add("a", observed{session: "s", bytes: i})
			o.add("b", observed{session: "s", bytes: i})
		}
		began := time.Now()
		if err := o.wait(t.Context(), kvScope{"s", "a"}); err != nil {
			t.Fatal(err)
		}
		// Three of a second each; those of b go beside them.
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("waited %s", took)
		}
		synctest.Wait()
		for _, plugin := range []string{"a", "b"} {
			got := slices.DeleteFunc(slices.Clone(o.got), func(s string) bool { return !strings.HasPrefix(s, plugin) })
			if want := []string{plugin + " s 0", plugin + " s 1", plugin + " s 2"}; !slices.Equal(got, want) {
				t.Errorf("%s was told %q", plugin, got)
			}
		}
		if len(o.queues) != 0 || o.bytes != 0 {
			t.Errorf("%d queues and %d bytes are left", len(o.queues), o.bytes)
		}
		if err := o.wait(t.Context(), kvScope{"s", "a"}); err != nil {
			t.Errorf("nothing waits, and yet: %v", err)
		}
	})
}

// TestEventsLeaveSlots has one plugin be told of events of many sessions.
func TestEventsLeaveSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		n := max(1, runtime.GOMAXPROCS(0)/2)
		for i := range 3 * n {
			o.add("a", observed{session: fmt.Sprint(i)})
		}
		for round := range 3 {
			time.Sleep(1100 * time.Millisecond)
			synctest.Wait()
			o.mu.Lock()
			if want := n * (round + 1); len(o.got) != want {
				t.Errorf("after %d rounds %d events are through, want %d", round+1, len(o.got), want)
			}
			o.mu.Unlock()
		}
	})
}

func TestEventsWaitIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		for range 5 {
			o.add("a", observed{session: "s"})
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 2500*time.Millisecond, errors.New("waited enough"))
		defer cancel()
		if err := o.wait(ctx, kvScope{"s", "a"}); err == nil || !strings.Contains(err.Error(), "not through: waited enough") {
			t.Errorf("%v", err)
		}
		if err := o.wait(t.Context(), kvScope{"other", "a"}); err != nil {
			t.Errorf("another session waits: %v", err)
		}
	})
}

func TestEventsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		for range MaxWaiting + 4 {
			o.add("a", observed{session: "s"})
			synctest.Wait() // the first is under way and does not wait any more
		}
		err := o.wait(t.Context(), kvScope{"s", "a"})
		if err == nil || !strings.Contains(err.Error(), "3 events of this session were lost") {
			t.Fatalf("%v", err)
		}
		if len(o.told) != 1 || !strings.HasPrefix(o.told[0], "a more than 1024 events") {
			t.Errorf("told %q, want it once", o.told)
		}
		time.Sleep((MaxWaiting + 5) * time.Second)
		synctest.Wait()
		if err := o.wait(t.Context(), kvScope{"s", "a"}); err == nil {
			t.Error("they are not lost any more")
		}
		o.add("a", observed{session: "s", ended: true})
		synctest.Wait()
		if err := o.wait(t.Context(), kvScope{"s", "a"}); err != nil || len(o.queues) != 0 {
			t.Errorf("after the end: %v, %d queues", err, len(o.queues))
		}
	})
}

func TestEventsBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		for i := range 5 {
			o.add("a", observed{session: fmt.Sprint(i), bytes: MaxWaitingBytes / 4})
		}
		if err := o.wait(t.Context(), kvScope{"4", "a"}); err == nil || !strings.Contains(err.Error(), "1 events of this session were lost") {
			t.Errorf("%v", err)
		}
		if err := o.wait(t.Context(), kvScope{"0", "a"}); err != nil {
			t.Errorf("%v", err)
		}
	})
}

func TestEventsThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		o.failing = "a"
		o.add("a", observed{session: "s"})
		o.add("a", observed{session: "s"})
		if err := o.wait(t.Context(), kvScope{"s", "a"}); err == nil || !strings.Contains(err.Error(), "lost; the first: it trapped") {
			t.Errorf("%v", err)
		}
	})
}

func TestEventsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		scope := kvScope{"s", "a"}
		o.add("a", observed{session: "s", bytes: 1})
		o.add("a", observed{session: "s", ended: true})
		o.add("a", observed{session: "s", bytes: 2}) // resumed
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		o.mu.Lock()
		if !slices.Equal(o.ends, []kvScope{scope}) {
			t.Errorf("ended %v, want it between the two events", o.ends)
		}
		o.mu.Unlock()
		time.Sleep(time.Second)
		synctest.Wait()
		o.add("a", observed{session: "s", ended: true}) // with nothing under way
		if len(o.ends) != 2 || len(o.got) != 2 {
			t.Errorf("ended %v, got %q", o.ends, o.got)
		}
	})
}

func TestEventsRetain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		for range 3 {
			o.add("a", observed{session: "s", bytes: 1000})
			o.add("b", observed{session: "s", bytes: 1})
		}
		o.retain(func(plugin string) bool { return plugin == "b" })
		if err := o.wait(t.Context(), kvScope{"s", "b"}); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if len(o.queues) != 0 || o.bytes != 0 {
			t.Errorf("%d queues, %d bytes are left", len(o.queues), o.bytes)
		}
		if n := len(slices.DeleteFunc(slices.Clone(o.got), func(s string) bool { return s[0] == 'b' })); n > 1 {
			t.Errorf("the plugin that is gone was told of %d events, at most the one under way may be", n)
		}
	})
}

func TestEventsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		for range 3 {
			o.add("a", observed{session: "s"})
		}
		ended := make(chan error, 1)
		go func() { ended <- o.wait(context.Background(), kvScope{"s", "a"}) }()
		synctest.Wait()
		o.close()
		o.close()
		if err := <-ended; err == nil {
			t.Error("events are through that nobody was told of")
		}
		o.add("a", observed{session: "s"})
		synctest.Wait()
		if len(o.got) != 0 || len(o.told) != 0 {
			t.Errorf("got %q, told %q", o.got, o.told)
		}
	})
}

// TestEventsLostBehindAnEnd: what a resumed session lost while the end before it still
// waited is not forgotten with that end.
func TestEventsLostBehindAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		scope := kvScope{"s", "a"}
		for range 3 {
			o.add("a", observed{session: "s"})
		}
		o.add("a", observed{session: "s", ended: true})
		for range MaxWaiting {
			o.add("a", observed{session: "s"})
		}
		if err := o.wait(t.Context(), scope); err == nil {
			t.Error("before the end: nothing is lost")
		}
		time.Sleep(2 * MaxWaiting * time.Second)
		synctest.Wait()
		if err := o.wait(t.Context(), scope); err == nil || !strings.Contains(err.Error(), "were lost") {
			t.Errorf("after the end: %v", err)
		}
		o.add("a", observed{session: "s", ended: true})
		synctest.Wait()
		if err := o.wait(t.Context(), scope); err != nil || len(o.queues) != 0 {
			t.Errorf("after the second end: %v, %d queues", err, len(o.queues))
		}
	})
}

// TestEventsFlood: a session that takes all the room loses its own events, not those
// of others, and the ends of sessions are never lost.
func TestEventsFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := newObserving()
		defer o.close()
		o.add("a", observed{session: "flood"})
		synctest.Wait() // it is under way
		o.add("a", observed{session: "flood", ended: true})
		for range 2 {
			for range 200 {
				o.add("a", observed{session: "flood", bytes: 1 << 20})
			}
			o.add("a", observed{session: "flood", bytes: 1})
		}
		for i := range 8 {
			for range 4 {
				o.add("a", observed{session: fmt.Sprint("quiet", i), bytes: 1 << 20})
			}
		}
		if o.bytes > MaxWaitingBytes {
			t.Errorf("%d bytes wait", o.bytes)
		}
		if err := o.wait(t.Context(), kvScope{"flood", "a"}); err == nil {
			t.Error("the flood lost nothing")
		}
		for i := range 8 {
			if err := o.wait(t.Context(), kvScope{fmt.Sprint("quiet", i), "a"}); err != nil {
				t.Errorf("quiet%d: %v", i, err)
			}
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if err := o.wait(t.Context(), kvScope{"flood", "a"}); err == nil || o.bytes != 0 {
			t.Errorf("later: %v, %d bytes", err, o.bytes)
		}
		if len(o.told) != 1 || !slices.Equal(o.ends, []kvScope{{"flood", "a"}}) {
			t.Errorf("told %q, ended %v", o.told, o.ends)
		}
	})
}
