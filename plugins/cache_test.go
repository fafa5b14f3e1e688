package plugins

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

// TestCache breaks an entry of the cache in several ways: the plugin loads all the
// same, and the entry is whole again.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := guest(t, "g", w.Deny("pre_permission", "cached"))
	load := func(t *testing.T) *logged {
		h, log := start(t, Options{Plugins: []Config{c}, CacheDir: dir})
		if o, err := try(t, h, PrePermission, `{}`); err != nil || o.Reason != "cached" {
			t.Errorf("got %+v, %v", o, err)
		}
		return log
	}
	load(t)
	entry := func() string {
		files, err := filepath.Glob(filepath.Join(dir, "*", "wazero-*", "*"))
		if err != nil || len(files) != 1 {
			t.Fatal(files, err)
		}
		return files[0]
	}
	whole, err := os.ReadFile(entry())
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(b []byte) []byte{
		"as it was":      func(b []byte) []byte { return b },
		"bit in header":  func(b []byte) []byte { b[len(b)/20] ^= 0x40; return b },
		"bit at the end": func(b []byte) []byte { b[len(b)-5] ^= 1; return b },
		"bit in code":    func(b []byte) []byte { b[len(b)/2] ^= 1; return b },
		"half":           func(b []byte) []byte { return b[:len(b)/2] },
		"empty":          func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(entry(), change(bytes.Clone(whole)), 0o600); err != nil {
				t.Fatal(err)
			}
			log := load(t)
			if got, err := os.ReadFile(entry()); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("the entry is not whole again: %v", err)
			}
			if told := strings.Contains(log.String(), "is not as it was made"); told != (name != "as it was") {
				t.Errorf("log: %s", log)
			}
		})
	}
	t.Run("without sum", func(t *testing.T) {
		sum := filepath.Join(filepath.Dir(filepath.Dir(entry())), sumFile)
		if err := os.Remove(sum); err != nil {
			t.Fatal(err)
		}
		load(t)
		if _, err := os.Stat(sum); err != nil {
			t.Error(err)
		}
	})
}

// The folder's name is one, not a pattern.
func TestCacheInAnOddFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a] {b} *")
	if runtime.GOOS == "windows" {
		dir = strings.TrimSuffix(dir, " *")
	}
	c := guest(t, "g", w.Deny("pre_permission", "cached"))
	for range 2 {
		if _, log := start(t, Options{Plugins: []Config{c}, CacheDir: dir}); strings.Contains(log.String(), "made again") {
			t.Errorf("log: %s", log)
		}
	}
	if ok, err := sealedEntry(t, dir); !ok {
		t.Errorf("the entry is not kept: %v", err)
	}
}

// sealedEntry says whether the one entry of a cache is sound.
func sealedEntry(t *testing.T, dir string) (bool, error) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	return cached{filepath.Join(dir, entries[0].Name())}.sound()
}

// Several servers may begin at once with an empty cache: none has anything to tell.
func TestCacheOfManyServers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	c := guest(t, "g", w.Deny("pre_permission", "cached"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { // ends with its loading
			log := new(logged)
			h, err := Load(t.Context(), Options{Plugins: []Config{c}, CacheDir: dir, Logger: slog.New(slog.NewTextHandler(log, nil))})
			if err != nil || strings.Contains(log.String(), "cache") {
				t.Errorf("%v, log: %s", err, log)
				return
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if ok, err := sealedEntry(t, dir); !ok {
		t.Errorf("the entry is not kept: %v", err)
	}
}

func TestCacheFolder(t *testing.T) {
	open, own := filepath.Join(t.TempDir(), "open"), filepath.Join(t.TempDir(), "own")
	for dir, mode := range map[string]os.FileMode{open: 0o755, own: 0o700} {
		if err := os.Mkdir(dir, mode); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(own, link); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{own: "", "relative": "want an absolute path", open: "native code", link: "native code"} {
		h, err := Load(t.Context(), Options{CacheDir: dir})
		if err == nil {
			err = h.Close(t.Context())
			if want != "" {
				t.Errorf("%s is taken", dir)
			}
		}
		if err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", dir, err, want)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	for i := range MaxCached + 3 {
		if err := os.Mkdir(newCached(dir, []byte{byte(i)}).folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(newCached(dir, nil).folder+".123", 0o700); err != nil { // of a server that was killed
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "mine"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := prune(dir); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != MaxCached { // with room for one, and what is none of ours
		t.Errorf("%d are left, %v", len(left), err)
	}
}
