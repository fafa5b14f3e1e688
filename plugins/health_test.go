package plugins

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// TestHealth walks through a plugin's health second by second.
func TestHealth(t *testing.T) {
	var h health
	now := time.Unix(0, 0)
	fault := errors.New("it failed")
	call := func(r result) (NewsKind, bool) {
		turn, err := h.enter(now)
		if err != nil {
			return "", false
		}
		return h.leave(now, turn, r, fault), true
	}
	for i := range UnhealthyAfter - 1 {
		if news, made := call(failing); news != "" || !made {
			t.Fatalf("failure %d: %q, %v", i, news, made)
		}
	}
	if news, _ := call(succeeded); news != "" {
		t.Errorf("a success among failures is news: %q", news)
	}
	for i := range UnhealthyAfter {
		if news, _ := call(failing); (news == Unhealthy) != (i == UnhealthyAfter-1) {
			t.Errorf("failure %d: %q", i, news)
		}
	}
	if ok, last := h.state(); ok || last != "it failed" {
		t.Errorf("state is %v, %q", ok, last)
	}
	pauses := []time.Duration{1, 2, 4, 8, 16, 32, 60, 60}
	for _, p := range pauses {
		now = now.Add(p*time.Second - 1)
		if _, made := call(succeeded); made {
			t.Fatalf("called before %v had passed", p*time.Second)
		}
		now = now.Add(1)
		if news, made := call(failing); news != "" || !made {
			t.Fatalf("after %v: %q, %v", p*time.Second, news, made)
		}
	}
	now = now.Add(time.Minute)
	turn, err := h.enter(now)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.enter(now); err == nil {
		t.Error("two calls try at once")
	}
	if h.remains(turn) != nil || h.remains(turnOrdinary) == nil {
		t.Error("one that waited since before is made beside the one that tries")
	}
	h.leave(now, turnOrdinary, failing, fault) // it began before the plugin was paused
	if _, err := h.enter(now); err == nil {
		t.Error("two calls try at once after another came back")
	}
	if news := h.leave(now, turn, neutral, nil); news != "" {
		t.Errorf("a cancelled try is news: %q", news)
	}
	if news, made := call(succeeded); news != Healthy || !made {
		t.Errorf("a success is %q, %v", news, made)
	}
	if ok, _ := h.state(); !ok {
		t.Error("it is not healthy again")
	}
}

// TestUnhealthyPlugin has a plugin fail, and then work again with another document.
func TestUnhealthyPlugin(t *testing.T) {
	g := w.NewGuest()
	g.Hook("pre_permission", g.Must(0, g.Get("/broken", w.Buffer, 0)))
	var mu sync.Mutex
	var news []NewsKind
	h, _ := start(t, Options{Plugins: []Config{guest(t, "g", g.Bytes())}, Told: func(n News) {
		mu.Lock()
		defer mu.Unlock()
		news = append(news, n.Kind)
	}})
	now := time.Unix(0, 0)
	h.now = func() time.Time { return now }
	for range UnhealthyAfter {
		if _, err := try(t, h, PrePermission, `{}`); err == nil || strings.Contains(err.Error(), "not called") {
			t.Fatal(err)
		}
	}
	_, err := try(t, h, PrePermission, `{"broken":""}`)
	if err == nil || !strings.Contains(err.Error(), "not called, as the last 5 calls failed; it is tried again every 1s") {
		t.Error(err)
	}
	if i := h.Plugins()[0]; i.Healthy || i.Error == "" {
		t.Errorf("it is told as healthy: %+v", i)
	}
	now = now.Add(time.Second)
	if _, err := try(t, h, PrePermission, `{"broken":""}`); err != nil {
		t.Error(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []NewsKind{Loaded, Unhealthy, Healthy}; !slices.Equal(news, want) {
		t.Errorf("news are %v, want %v", news, want)
	}
}
