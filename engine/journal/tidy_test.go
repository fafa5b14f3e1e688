package journal

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// aged makes a session of about 10 kB that was last written so long ago.
func aged(t *testing.T, j *Journal, n int, ago time.Duration) {
	t.Helper()
	h := begun(t, j, n)
	for id := range int64(17) {
		if err := h.Append(sized(id)); err != nil {
			t.Fatal(err)
		}
	}
	h.Close()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(j.path(h.id, h.segments[0].name()), at, at); err != nil {
		t.Fatal(err)
	}
}

// left lists the sessions whose folders are there.
func left(t *testing.T, j *Journal) (list []int) {
	t.Helper()
	for n := range 20 {
		if _, err := os.Stat(filepath.Join(j.o.Folder, session(n))); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// tidied waits for its turn and tidies up.
func tidied(t *testing.T, j *Journal) {
	t.Helper()
	for range 1000 {
		if done, err := j.tidyUp(); err != nil {
			t.Fatal(err)
		} else if done {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("somebody else tidies up all the time")
}

func TestRetention(t *testing.T) {
	cases := []struct {
		name   string
		limits Options
		live   int // the session that is written again
		want   []int
	}{
		{"within its bounds", Options{}, 0, []int{1, 2, 3, 4}},
		{"age", Options{MaxAge: 150 * time.Minute}, 0, []int{3, 4}},
		{"size: longest unwritten first", Options{MaxBytes: 25 << 10}, 0, []int{3, 4}},
		{"neither", Options{MaxAge: -1, MaxBytes: -1}, 0, []int{1, 2, 3, 4}},
		{"never what is written", Options{MaxAge: time.Minute, MaxBytes: 1}, 2, []int{2}},
		{"everything", Options{MaxAge: time.Minute}, 0, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			maker := opened(t, Options{MaxAge: -1, MaxBytes: -1})
			for n := range 4 { // 1 is the oldest
				aged(t, maker, n+1, time.Duration(4-n)*time.Hour-time.Minute)
			}
			if c.live > 0 {
				h, err := maker.Open(session(c.live))
				if err != nil {
					t.Fatal(err)
				}
				defer h.Close()
			}
			c.limits.Folder = maker.o.Folder
			j := opened(t, c.limits)
			tidied(t, j)
			if got := left(t, j); !slices.Equal(got, c.want) {
				t.Errorf("left are %d, want %d", got, c.want)
			}
		})
	}
}

// TestRetentionByGrowth has the sessions that end make room by themselves.
func TestRetentionByGrowth(t *testing.T) {
	j := opened(t, Options{MaxBytes: 60 << 10})
	for n := range 15 {
		aged(t, j, n, time.Duration(15-n)*time.Minute)
	}
	for try := 0; len(left(t, j)) > 7; try++ { // six of 10 kB, and what was written since the last look
		if try == 600 {
			t.Fatalf("left are %d", left(t, j))
		}
		time.Sleep(100 * time.Millisecond)
	}
	if got := left(t, j); len(got) == 0 || got[len(got)-1] != 14 {
		t.Errorf("left are %d, without the newest", got)
	}
}

// TestRetentionLeavesOthers neither removes what is not a session, nor a folder
// into which somebody put a file.
func TestRetentionLeavesOthers(t *testing.T) {
	maker := opened(t, Options{MaxAge: -1})
	aged(t, maker, 1, time.Hour)
	j := opened(t, Options{Folder: maker.o.Folder, MaxAge: time.Minute})
	for _, name := range []string{"notes.txt", session(1) + "/mine.txt"} {
		if err := os.WriteFile(filepath.Join(j.o.Folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := filepath.Join(j.o.Folder, session(2))
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	tidied(t, j)
	for _, name := range []string{"notes.txt", session(1) + "/mine.txt", session(2)} {
		if _, err := os.Stat(filepath.Join(j.o.Folder, name)); err != nil {
			t.Error(err)
		}
	}
	if list, err := j.Sessions(); len(list) != 0 || err != nil {
		t.Errorf("sessions: %+v, %v", list, err)
	}
	at := time.Now().Add(-2 * unmade)
	if err := os.Chtimes(empty, at, at); err != nil {
		t.Fatal(err)
	}
	tidied(t, j)
	if _, err := os.Stat(empty); err == nil {
		t.Error("the folder of a session that was never made stays")
	}
}

// TestTidyEveryHour waits for what grows too old while the server runs.
func TestTidyEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := opened(t, Options{MaxAge: 90 * time.Minute})
		aged(t, j, 1, 0)
		time.Sleep(89 * time.Minute)
		synctest.Wait()
		if got := left(t, j); len(got) != 1 {
			t.Error("it was removed before its time")
		}
		time.Sleep(32 * time.Minute) // the second hour is over
		synctest.Wait()
		if got := left(t, j); len(got) != 0 {
			t.Error("it is there still")
		}
		j.Close()
	})
}

// TestSessionBytes drops the oldest segments of a session, and tells it.
func TestSessionBytes(t *testing.T) {
	const bound = 64 << 10
	j := opened(t, Options{SessionBytes: bound, SegmentBytes: 8 << 10})
	other := opened(t, Options{Folder: j.o.Folder})
	h := begun(t, j, 1)
	const events = 1000 // of 600 bytes
	var all sync.WaitGroup
	done := make(chan struct{})
	all.Go(func() { // until done: readers who come too late are told, and find no error
		for from := int64(0); ; {
			select {
			case <-done:
				return
			default:
			}
			p, err := other.Read(h.id, event.Window{From: &from, Max: 10})
			if err != nil || len(p.Events) > 0 && p.Events[0].ID != from && p.ResetTo == nil {
				t.Errorf("from %d: %+v, %v", from, p, err)
				return
			}
			from = p.Next
		}
	})
	for id := range int64(events) {
		if err := h.Append(sized(id)); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	all.Wait()
	first, next := h.Bounds()
	s, err := j.measure(h.id)
	if err != nil || s.bytes > bound+600 || s.bytes < bound/2 || first == 0 || next != events {
		t.Errorf("%d bytes, ids %d to %d, %v", s.bytes, first, next, err)
	}
	for _, read := range []func(event.Window) (event.Page, error){h.Read, func(w event.Window) (event.Page, error) { return other.Read(h.id, w) }} {
		p, err := read(event.Window{Max: 1})
		if err != nil || p.ResetTo == nil || *p.ResetTo != first || len(p.Events) != 1 || p.Events[0].ID != first {
			t.Errorf("page %+v, %v, want a jump to %d", p, err, first)
		}
	}
}

// TestBoundThatCannotBeKept tells it once, and again when it was kept in between.
func TestBoundThatCannotBeKept(t *testing.T) {
	var log sharedText
	j := opened(t, Options{MaxAge: -1, MaxBytes: 1, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	h := begun(t, j, 1)
	wrote(t, h, 0, 10)
	for range 3 {
		tidied(t, j)
	}
	if n := strings.Count(log.text(), "over its bound"); n != 1 {
		t.Errorf("told %d times:\n%s", n, log.text())
	}
	h.Close()
	tidied(t, j)
	h = begun(t, j, 2)
	defer h.Close()
	tidied(t, j)
	if n := strings.Count(log.text(), "over its bound"); n != 2 {
		t.Errorf("told %d times:\n%s", n, log.text())
	}
}

// sharedText is a log that the journal writes to meanwhile.
type sharedText struct {
	mu  sync.Mutex
	out strings.Builder
}

func (s *sharedText) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.Write(p)
}

func (s *sharedText) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}
