package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// TestTwoServers lets two journals share a folder, as two servers of a user do.
func TestTwoServers(t *testing.T) {
	one := opened(t, Options{})
	two := opened(t, Options{Folder: one.o.Folder})
	h := begun(t, one, 1)
	wrote(t, h, 0, 5)
	if _, err := two.Open(h.id); !errors.Is(err, event.ErrLocked) {
		t.Errorf("a second writer: %v", err)
	}
	if _, err := two.Create(record(1)); !errors.Is(err, event.ErrLocked) {
		t.Errorf("the same session again: %v", err)
	}
	for id := int64(5); id < 300; id++ { // the other sees each at once
		wrote(t, h, id, id+1)
		r, err := two.Session(h.id)
		if err != nil || !r.Live || r.Next != id+1 {
			t.Fatalf("after event %d: %+v, %v", id, r, err)
		}
		p, err := two.Read(h.id, event.Window{From: &id})
		if err != nil || len(p.Events) != 1 || p.Events[0].ID != id || p.Truncated || p.ResetTo != nil {
			t.Fatalf("after event %d: %+v, %v", id, p, err)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := two.Open(h.id)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	wrote(t, again, 300, 301)
	if r, err := one.Session(h.id); err != nil || !r.Live || r.Next != 301 {
		t.Errorf("the first server sees %+v, %v", r, err)
	}
	if _, err := one.Open(h.id); !errors.Is(err, event.ErrLocked) {
		t.Errorf("the first server opens it: %v", err)
	}
}

// TestLookingIsNoLock opens sessions while another server looks at them.
func TestLookingIsNoLock(t *testing.T) {
	one := opened(t, Options{})
	two := opened(t, Options{Folder: one.o.Folder})
	begun(t, one, 1).Close()
	stop := make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() { // until stop
		for {
			select {
			case <-stop:
				return
			default:
				two.live(session(1))
			}
		}
	})
	for n := range 100 {
		h, err := one.Open(session(1))
		if err != nil {
			t.Errorf("time %d: %v", n, err)
			break
		}
		h.Close()
	}
	close(stop)
	all.Wait()
}

// TestStaleLock finds the lock file of a server that was killed.
func TestStaleLock(t *testing.T) {
	j := opened(t, Options{})
	kept(t, j)
	if err := os.WriteFile(j.path(session(1), lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err := j.Session(session(1)); err != nil || r.Live {
		t.Errorf("session: %+v, %v", r, err)
	}
}

// TestLookersMeet has two servers look at a session that a crash left, at once:
// neither takes the other for its writer.
func TestLookersMeet(t *testing.T) {
	one := opened(t, Options{})
	two := opened(t, Options{Folder: one.o.Folder})
	kept(t, one)
	if err := os.WriteFile(one.path(session(1), lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, j := range []*Journal{one, two} {
		all.Go(func() {
			for range 1000 {
				if r, err := j.Session(session(1)); err != nil || r.Live {
					t.Errorf("live %v, %v", r.Live, err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestStaleLockIsTaken: a session with the lock of a crash is remembered, and known
// to be at work as soon as it is.
func TestStaleLockIsTaken(t *testing.T) {
	one := opened(t, Options{})
	two := opened(t, Options{Folder: one.o.Folder})
	folder := filepath.Dir(kept(t, one))
	if err := os.WriteFile(one.path(session(1), lockName), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := time.Now().Add(-time.Hour)
	if err := os.Chtimes(folder, before, before); err != nil {
		t.Fatal(err)
	}
	if r, err := one.Session(session(1)); err != nil || r.Live {
		t.Errorf("with a stale lock: live %v, %v", r.Live, err)
	}
	if _, ok := one.seen.get(session(1)); !ok {
		t.Error("it is not remembered")
	}
	h, err := two.Open(session(1))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := one.Session(session(1)); err != nil || !r.Live || r.Next != 10 {
		t.Errorf("at work: %+v, %v", r, err)
	}
	wrote(t, h, 10, 11)
	if r, err := one.Session(session(1)); err != nil || !r.Live || r.Next != 11 {
		t.Errorf("written: %+v, %v", r, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if r, err := one.Session(session(1)); err != nil || r.Live || r.Next != 11 {
		t.Errorf("given back: %+v, %v", r, err)
	}
}

// TestLinks puts links in the places of folders and files.
func TestLinks(t *testing.T) {
	for name, link := range map[string]func(file string) (from, to string){
		"folder": func(file string) (string, string) {
			folder := filepath.Dir(file)
			return folder, filepath.Join(filepath.Dir(filepath.Dir(folder)), "elsewhere")
		},
		"file": func(file string) (string, string) { return file, filepath.Join(filepath.Dir(file), "moved") },
	} {
		t.Run(name, func(t *testing.T) {
			j := opened(t, Options{Folder: filepath.Join(t.TempDir(), "journal")})
			from, to := link(kept(t, j))
			if err := os.Rename(from, to); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(to, from); err != nil {
				t.Skip("links cannot be made here: ", err)
			}
			refused(t, j, "a link")
		})
	}
	t.Run("journal", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "link")
		if err := os.Symlink(t.TempDir(), link); err != nil {
			t.Skip("links cannot be made here: ", err)
		}
		if _, err := Open(Options{Folder: link}); err == nil {
			t.Error("a link was opened")
		}
	})
}

// refused checks that nothing of session 1 is read or written, and that the list
// tells why.
func refused(t *testing.T, j *Journal, why string) {
	t.Helper()
	_, errs := j.Read(session(1), event.Window{})
	_, err := j.Session(session(1))
	for _, err := range []error{errs, err, opens(j)} {
		if err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("error %v does not say %q", err, why)
		}
	}
	if list, err := j.Sessions(); len(list) != 0 || err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("list %+v, %v", list, err)
	}
}

func opens(j *Journal) error {
	h, err := j.Open(session(1))
	if err == nil {
		h.Close()
	}
	return err
}

// TestOneUnreadable lists the others.
func TestOneUnreadable(t *testing.T) {
	j := opened(t, Options{})
	file := kept(t, j)
	begun(t, j, 2)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	list, err := j.Sessions()
	if len(list) != 1 || list[0].ID != session(2) || err == nil || !strings.Contains(err.Error(), session(1)) {
		t.Errorf("list %+v, %v", list, err)
	}
}

// TestClosed uses a journal after its end.
func TestClosed(t *testing.T) {
	j := opened(t, Options{})
	h := begun(t, j, 1)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Create(record(2)); err == nil {
		t.Error("a session was made")
	}
	wrote(t, h, 0, 3)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if _, err := j.Open(session(1)); err == nil {
		t.Error("a session was opened")
	}
}

func TestOptions(t *testing.T) {
	if _, err := Open(Options{Folder: "relative"}); err == nil {
		t.Error("a relative folder was taken")
	}
	o, err := Options{Folder: t.TempDir(), MaxBytes: -1, SegmentBytes: 1, SyncEvery: -1}.withDefaults()
	if err != nil || o.MaxBytes < 1<<62 || o.MaxAge != DefaultMaxAge || o.SessionBytes != DefaultSessionBytes ||
		o.SegmentBytes != minSegmentBytes || o.SyncEvery != DefaultSyncEvery || o.Logger == nil {
		t.Errorf("%+v, %v", o, err)
	}
}
