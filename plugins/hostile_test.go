package plugins

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// hostile is one guest that nobody needs to trust, and what becomes of it.
type hostile struct {
	name   string
	wasm   func() []byte
	change func(*Config) // nil: none
	load   string        // part of the error of loading it; empty: it loads
	hook   Hook          // empty: PrePermission
	fails  string        // part of the error of each call; empty: calls count
	calls  int           // 0: 1
	quiet  bool          // it logs when it got to its end, which it must not
	same   bool          // each call returns the same number, which is not 0, as a failure
	holds  func(Outcome) string
	memory int64 // MiB that the process has at most at its peak; 0: 400
}

// childVariable names the guest that a child process tries.
const childVariable = "GATEHOUSE_HOSTILE_GUEST"

// childTime is when a child process is killed: then it was frozen.
const childTime = 3 * time.Minute

// TestHostileGuests tries each guest in a process of its own, which is killed when
// it does not come back. The garbage collector runs there all the time, since a
// guest that cannot be stopped would stop it, and with it the whole server.
func TestHostileGuests(t *testing.T) {
	seen := map[string]bool{}
	for _, h := range hostileGuests() {
		if seen[h.name] {
			t.Fatalf("two guests are called %q", h.name)
		}
		seen[h.name] = true
		t.Run(h.name, func(t *testing.T) {
			if os.Getenv(childVariable) == h.name {
				h.try(t)
				return
			}
			h.inChild(t)
		})
	}
}

func (h hostile) inChild(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), childTime)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run", "^TestHostileGuests$/^"+strings.ReplaceAll(h.name, " ", "_")+"$", "-test.v")
	child.Env = append(os.Environ(), childVariable+"="+h.name)
	child.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	child.Stdout, child.Stderr = &out, &out
	err := child.Run()
	switch {
	case ctx.Err() != nil:
		t.Fatalf("the process was frozen for %v\n%s", childTime, tail(out.Bytes()))
	case err != nil:
		t.Fatalf("%v\n%s", err, tail(out.Bytes()))
	case !bytes.Contains(out.Bytes(), []byte("--- PASS: TestHostileGuests/")):
		t.Fatalf("it was not tried\n%s", tail(out.Bytes()))
	case bytes.Contains(out.Bytes(), []byte(flood)):
		t.Errorf("what the guest wrote reached the output of the process")
	}
	most := h.memory
	if most == 0 {
		most = 400
	}
	if got, ok := peak(child.ProcessState); ok && got > most<<20 {
		t.Errorf("the process had %d MiB, at most %d are expected", got>>20, most)
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-4000):] }

func (h hostile) try(t *testing.T) {
	defer collect()()
	c := guest(t, "g", h.wasm())
	if h.change != nil {
		h.change(&c)
	}
	host, err := Load(t.Context(), Options{Plugins: []Config{c}})
	if h.load != "" || err != nil {
		if err == nil || h.load == "" || !strings.Contains(err.Error(), h.load) || !strings.Contains(err.Error(), `plugin "g"`) {
			t.Fatalf("loading: %v, want %q", err, h.load)
		}
		return
	}
	defer host.Close(context.Background())
	if h.same {
		h.alike(t, host)
		return
	}
	for range max(1, h.calls) {
		h.once(t, host)
	}
}

// alike makes calls that fail, each with the same error.
func (h hostile) alike(t *testing.T, host *Host) {
	t.Helper()
	var first string
	for range h.calls {
		_, err := host.Try(t.Context(), "g", PrePermission, nil)
		if err == nil || !strings.Contains(err.Error(), "returned ") || first != "" && err.Error() != first {
			t.Fatalf("error %v, want the same number as in %q", err, first)
		}
		first = err.Error()
	}
}

func (h hostile) once(t *testing.T, host *Host) {
	t.Helper()
	hook := h.hook
	if hook == "" {
		hook = PrePermission
	}
	out, err := host.Try(t.Context(), "g", hook, []byte(`{"tool_name":"Bash","session":{"id":"s"},"payload":{"text":"t"}}`))
	switch {
	case h.fails == anyButTrap:
		if err == nil || strings.Contains(err.Error(), "trapped") {
			t.Errorf("error %v, want one that is no trap", err)
		}
	case h.fails == "" && err != nil:
		t.Errorf("the call failed: %v", err)
	case h.fails != "" && (err == nil || !strings.Contains(err.Error(), h.fails)):
		t.Errorf("error %v, want %q", err, h.fails)
	case h.quiet && len(out.Log) > 0:
		t.Errorf("it got to its end: %q", out.Log)
	case err != nil && (out.Verdict != 0 || out.Annotations != nil || out.Output != nil):
		t.Errorf("a failed call says something: %+v", out)
	case h.holds != nil && h.holds(out) != "":
		t.Error(h.holds(out))
	}
}

// collect collects garbage until it is ended.
func collect() (end func()) {
	done := make(chan struct{})
	go func() { // until end
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				runtime.GC()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done) }
}

// TestLoopingPluginLeavesRoom: while one plugin is called by many and never comes
// back by itself, another still answers.
func TestLoopingPluginLeavesRoom(t *testing.T) {
	bad := guest(t, "bad", hostileLoop())
	bad.Timeout = 200 * time.Millisecond
	good := guest(t, "good", hostileHealthy())
	host, _ := start(t, Options{Plugins: []Config{bad, good}})
	var calls sync.WaitGroup
	for range 100 {
		calls.Go(func() {
			if _, err := host.Try(t.Context(), "bad", PrePermission, nil); err == nil {
				t.Error("a call of the looping plugin counts")
			}
		})
	}
	for range 20 {
		if out, err := host.Try(t.Context(), "good", PrePermission, nil); err != nil || out.Reason != "no" {
			t.Errorf("the other plugin: %+v, %v", out, err)
		}
	}
	calls.Wait()
	var fault *hostFault
	if _, err := host.Try(t.Context(), "bad", PrePermission, nil); !errors.As(err, &fault) {
		t.Errorf("after 100 calls it is called again: %v", err)
	}
}
