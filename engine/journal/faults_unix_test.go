//go:build unix

package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// limitedEnv says that this program is the child that a test runs in.
const limitedEnv = "GATEHOUSE_TEST_LIMITED"

// inChild runs the test that calls it in a process of its own, for limits that are
// a process's; true: that was done.
func inChild(t *testing.T) bool {
	t.Helper()
	if os.Getenv(limitedEnv) != "" {
		return false
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), limitedEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("%v\n%s", err, out)
	}
	return true
}

// noRoom lets no file of this process grow beyond n bytes until the returned
// function is called: what a full disk does, a part of the last write included.
func noRoom(t *testing.T, n int64) (room func()) {
	t.Helper()
	signal.Ignore(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = uint64(n)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		t.Fatal(err)
	}
	room = func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Error(err)
		}
		signal.Reset(syscall.SIGXFSZ)
	}
	t.Cleanup(room)
	return room
}

func (h *history) currentSize(t *testing.T) int64 {
	t.Helper()
	s, _ := h.current()
	info, err := os.Stat(h.journal.path(h.id, s.name()))
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// whole checks that a session has the events 0, … n-1, for readers now and for
// the next writer.
func whole(t *testing.T, h *history, n int64) {
	t.Helper()
	check := func(h event.History) {
		p, err := h.Read(event.Window{MaxBytes: 1 << 40})
		if err != nil || int64(len(p.Events)) != n || p.Next != n || p.ResetTo != nil {
			t.Errorf("%d events, next %d, reset %v, %v; want %d", len(p.Events), p.Next, p.ResetTo, err, n)
		}
	}
	check(h)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	again, err := h.journal.Open(h.id)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	check(again)
	wrote(t, again, n, n+1)
}

func TestFullDisk(t *testing.T) {
	if inChild(t) {
		return
	}
	h := begun(t, opened(t, Options{}), 1)
	wrote(t, h, 0, 10)
	before := h.currentSize(t)
	room := noRoom(t, before+20) // a part of the line fits
	for range 3 {
		if err := h.Append(numbered(10)); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("append: %v", err)
		}
		if err := h.Put(record(1)); err == nil {
			t.Fatal("a record was put")
		}
		if size := h.currentSize(t); size != before {
			t.Fatalf("%d bytes are left of what was not written", size-before)
		}
	}
	if first, next := h.Bounds(); first != 0 || next != 10 {
		t.Errorf("bounds are %d, %d", first, next)
	}
	room()
	wrote(t, h, 10, 20)
	whole(t, h, 20)
}

// TestFullDiskAtNewSegment has no room for the header of the next segment.
func TestFullDiskAtNewSegment(t *testing.T) {
	if inChild(t) {
		return
	}
	j := opened(t, Options{SegmentBytes: minSegmentBytes})
	h := begun(t, j, 1)
	n := int64(0)
	for ; h.sizes[0] < minSegmentBytes; n++ {
		wrote(t, h, n, n+1)
	}
	room := noRoom(t, 50)
	for range 3 {
		if err := h.Append(numbered(n)); !errors.Is(err, syscall.EFBIG) {
			t.Fatalf("append: %v", err)
		}
	}
	if _, err := j.Create(record(2)); err == nil {
		t.Error("a session was made")
	}
	room()
	if names, _ := filepath.Glob(j.path(h.id, "*.jsonl")); len(names) != 1 {
		t.Errorf("files %q, of one segment", names)
	}
	if _, err := os.Stat(filepath.Join(j.o.Folder, session(2))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of what was not made: %v", err)
	}
	wrote(t, h, n, n+10)
	whole(t, h, n+10)
	begun(t, j, 2)
}

// TestNoWayBack has a write that fails in its middle, and no way to take back
// what was written of it.
func TestNoWayBack(t *testing.T) {
	h := begun(t, opened(t, Options{}), 1)
	wrote(t, h, 0, 10)
	stuck(t, h)
	big := numbered(10)
	big.Data = json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	if err := h.Append(big); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("append: %v", err)
	}
	// What a disk would have of it:
	name := h.journal.path(h.id, h.segments[0].name())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(`{"id":10,"timestamp":"2026-01-`)
	f.Close()
	wrote(t, h, 10, 20)
	if len(h.segments) != 2 {
		t.Errorf("%d segments, want another one", len(h.segments))
	}
	unstuck(h)
	whole(t, h, 20)
}

// stuck puts a pipe in the place of the segment: it takes some bytes, and then no
// more, and it cannot be cut.
func stuck(t *testing.T, h *history) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := w.SetWriteDeadline(time.Now().Add(time.Second / 10)); err != nil {
		t.Fatal(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.file.Close()
	h.file = w
}

// unstuck drops the pipe, which waits to be synced.
func unstuck(h *history) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.retired {
		f.Close()
	}
	h.retired = nil
}

// TestSyncFails lets the system refuse to sync.
func TestSyncFails(t *testing.T) {
	h := begun(t, opened(t, Options{SyncEvery: time.Hour}), 1)
	wrote(t, h, 0, 10)
	stuck(t, h) // a pipe cannot be synced
	if err := h.Sync(t.Context()); err == nil {
		t.Fatal("a sync that failed is told as done")
	}
	wrote(t, h, 10, 20)
	if len(h.segments) != 2 {
		t.Errorf("%d segments: what follows must not be in the one that was not synced", len(h.segments))
	}
	unstuck(h)
	if err := h.Sync(t.Context()); err != nil {
		t.Error(err)
	}
	whole(t, h, 20)
}

// TestOpenFiles has no file descriptor left.
func TestOpenFiles(t *testing.T) {
	if inChild(t) {
		return
	}
	j := opened(t, Options{})
	h := begun(t, j, 1)
	wrote(t, h, 0, 5)
	h.mu.Lock()
	h.file.Close()
	h.file = nil // as after a while without writes
	h.mu.Unlock()
	free := noFiles(t)
	if err := h.Append(numbered(5)); !errors.Is(err, syscall.EMFILE) {
		t.Errorf("append: %v", err)
	}
	if _, err := j.Create(record(2)); err == nil {
		t.Error("a session was made")
	}
	if _, err := j.Sessions(); err == nil {
		t.Error("a list that could not be read is told as whole")
	}
	free()
	wrote(t, h, 5, 10)
	whole(t, h, 10)
}

func noFiles(t *testing.T) (free func()) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = 1
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	free = func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) }
	t.Cleanup(free)
	return free
}

// TestRetiredUnsynced: a segment that could not be synced when it made room is told
// to whoever waits for the disk next.
func TestRetiredUnsynced(t *testing.T) {
	h := begun(t, opened(t, Options{SegmentBytes: minSegmentBytes}), 1)
	wrote(t, h, 0, 1)
	h.mu.Lock()
	for len(h.retired) < maxRetired {
		if err := h.beginSegment(); err != nil {
			t.Fatal(err)
		}
	}
	h.retired[0].Close() // what syncs it fails
	err := h.beginSegment()
	h.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Sync(t.Context()); err == nil {
		t.Error("synced, they say")
	}
	wrote(t, h, 1, 2)
	if err := h.Sync(t.Context()); err != nil {
		t.Errorf("the next: %v", err)
	}
}
