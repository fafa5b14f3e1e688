package journal

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func (h *history) clean() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.synced == h.written
}

func (h *history) isOpen() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.file != nil
}

// TestQuietSync syncs what nobody asked for, SyncEvery after it was written.
func TestQuietSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := opened(t, Options{SyncEvery: time.Second})
		h := begun(t, j, 1)
		for range 3 {
			time.Sleep(5 * time.Second)
			synctest.Wait()
			wrote(t, h, h.next, h.next+1)
			time.Sleep(500 * time.Millisecond)
			wrote(t, h, h.next, h.next+1)
			if h.clean() {
				t.Error("synced at once: that would be the speed of the disk")
			}
			time.Sleep(time.Second + time.Millisecond)
			synctest.Wait()
			if !h.clean() {
				t.Error("not synced a second after it was written")
			}
		}
		h.Close()
		j.Close()
	})
}

// TestIdleFileIsClosed lets go of a file nobody writes to, and goes on with it.
func TestIdleFileIsClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := opened(t, Options{})
		h := begun(t, j, 1)
		for range 2 {
			wrote(t, h, h.next, h.next+5)
			time.Sleep(closeIdleAfter - time.Second)
			synctest.Wait()
			if !h.isOpen() {
				t.Error("closed while it was in use")
			}
			time.Sleep(3 * time.Second)
			synctest.Wait()
			if h.isOpen() {
				t.Error("open still")
			}
		}
		wrote(t, h, h.next, h.next+5)
		h.Close()
		j.Close()
		if first, next := h.Bounds(); first != 0 || next != 15 {
			t.Errorf("bounds are %d, %d", first, next)
		}
	})
}

// TestCloseSyncs ends the journal before its timer.
func TestCloseSyncs(t *testing.T) {
	j := opened(t, Options{SyncEvery: time.Hour})
	h := begun(t, j, 1)
	wrote(t, h, 0, 5)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if !h.clean() {
		t.Error("the journal ended before it synced")
	}
}

// TestFirstTidy leaves a start alone: a server looks for what is old with its first
// write, or after a minute.
func TestFirstTidy(t *testing.T) {
	for name, writes := range map[string]bool{"idle": false, "writes": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				maker := opened(t, Options{MaxAge: -1})
				aged(t, maker, 1, time.Hour)
				j := opened(t, Options{Folder: maker.o.Folder, MaxAge: time.Minute})
				time.Sleep(tidyFirst - time.Second)
				synctest.Wait()
				if got := left(t, j); len(got) != 1 {
					t.Errorf("left are %d before anything was written", got)
				}
				if writes {
					h := begun(t, j, 2)
					wrote(t, h, 0, 1)
					h.Close()
				} else {
					time.Sleep(2 * time.Second)
				}
				synctest.Wait()
				if got := left(t, j); slices.Contains(got, 1) {
					t.Errorf("left are %d", got)
				}
				j.Close()
				maker.Close()
			})
		})
	}
}
