package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// world is a folder that is looked at.
type world struct {
	t      *testing.T
	folder string
	Files
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, folder: t.TempDir()}
	w.write("policies/a.rego", "one")
	w.write("data.json", "{}")
	w.Reset([]string{filepath.Join(w.folder, "policies"), filepath.Join(w.folder, "data.json"), filepath.Join(w.folder, "later.toml")}, ".rego")
	return w
}

func (w *world) path(name string) string { return filepath.Join(w.folder, name) }

func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(name)), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func TestWhatCounts(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*world)
		counts bool
	}{
		{"nothing", func(w *world) {}, false},
		{"content", func(w *world) { w.write("policies/a.rego", "two") }, true},
		{"content with the old time and size", func(w *world) {
			info, _ := os.Stat(w.path("policies/a.rego"))
			w.write("policies/a.rego", "eno")
			os.Chtimes(w.path("policies/a.rego"), info.ModTime(), info.ModTime())
		}, true},
		{"the time alone", func(w *world) {
			os.Chtimes(w.path("policies/a.rego"), time.Unix(1, 0), time.Unix(1, 0))
		}, false},
		{"a new file", func(w *world) { w.write("policies/deep/b.rego", "x") }, true},
		{"a new file of another kind", func(w *world) { w.write("policies/README.md", "x") }, false},
		{"a new hidden file", func(w *world) { w.write("policies/.#a.rego", "x") }, false},
		{"a new hidden folder", func(w *world) { w.write("policies/.git/a.rego", "x") }, false},
		{"a file removed", func(w *world) { os.Remove(w.path("policies/a.rego")) }, true},
		{"a file renamed", func(w *world) { os.Rename(w.path("policies/a.rego"), w.path("policies/c.rego")) }, true},
		{"a folder removed", func(w *world) { os.RemoveAll(w.path("policies")) }, true},
		{"data", func(w *world) { w.write("data.json", "{} ") }, true},
		{"a file that was not there", func(w *world) { w.write("later.toml", "") }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.change(w)
			if w.Changed() {
				t.Error("the first look counts already; the change may not be complete")
			}
			if got := w.Changed(); got != c.counts {
				t.Errorf("second look: changed %v, want %v", got, c.counts)
			}
			if w.Changed() {
				t.Error("one change counts twice")
			}
		})
	}
}

func TestLinksThatAreSwapped(t *testing.T) {
	w := newWorld(t)
	w.write("v1/a.rego", "one")
	w.write("v2/a.rego", "two")
	for _, step := range []func() error{
		func() error { return os.Symlink("../v1", w.path("policies/..data")) },
		func() error { return os.Symlink("..data/a.rego", w.path("policies/linked.rego")) },
	} {
		if err := step(); err != nil {
			t.Skip("this system lets nobody make links: ", err)
		}
	}
	w.Reset([]string{w.path("policies")}, ".rego")
	os.Symlink("../v2", w.path("policies/..new"))
	if err := os.Rename(w.path("policies/..new"), w.path("policies/..data")); err != nil {
		t.Fatal(err)
	}
	w.Changed()
	if !w.Changed() {
		t.Error("the swap of the link went unseen")
	}
}

func TestAnUnrestingFileCountsInTheEnd(t *testing.T) {
	w := newWorld(t)
	for i := range maxUnsettled + 1 {
		w.write("data.json", string(rune('a'+i)))
		if changed := w.Changed(); changed != (i == maxUnsettled) {
			t.Fatalf("look %d: changed %v", i, changed)
		}
	}
}

func TestAChangeTakenBackIsNone(t *testing.T) {
	w := newWorld(t)
	w.write("data.json", "x")
	w.Changed()
	w.write("data.json", "{}")
	first, second := w.Changed(), w.Changed()
	if first || second {
		t.Error("files are as they were, and still it counts")
	}
}

// An edit that hides behind the old size and time is found by the full look.
func TestTimesCanBeSetBack(t *testing.T) {
	w := newWorld(t)
	old := time.Now().Add(-time.Hour)
	os.Chtimes(w.path("data.json"), old, old)
	w.Reset(w.paths, ".rego")
	w.write("data.json", "[]")
	os.Chtimes(w.path("data.json"), old, old)
	for range fullEvery + 2 {
		if w.Changed() {
			return
		}
	}
	t.Error("never seen")
}

// BenchmarkLook is what a second costs where nothing changes.
func BenchmarkLook(b *testing.B) {
	folder := b.TempDir()
	for i := range 10 {
		path := filepath.Join(folder, string(rune('a'+i))+".rego")
		if err := os.WriteFile(path, make([]byte, 10<<10), 0o600); err != nil {
			b.Fatal(err)
		}
		old := time.Now().Add(-time.Hour)
		os.Chtimes(path, old, old)
	}
	var f Files
	f.Reset([]string{folder}, ".rego")
	for b.Loop() {
		if f.Changed() {
			b.Fatal("nothing changed")
		}
	}
}
