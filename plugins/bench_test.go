package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testguest"
	w "github.com/gatehouse-mcp/gatehouse/internal/testwasm"
)

const goGuest = "testdata/guests/no-rm"

// goPlugin is a plugin in Go, with the PDK.
func goPlugin(tb testing.TB, name string) Config {
	return Config{Name: name, Path: testguest.Go(tb, goGuest), AllowUnpinned: true, Timeout: MaxTimeout}
}

// benchDocument has a call of about size bytes.
func benchDocument(size int) *document {
	input, _ := json.Marshal(map[string]string{"command": "git status", "content": strings.Repeat("a line\nanother \"line\"\n", size/24)})
	m := members{"tool_input": input, "tool_name": json.RawMessage(`"Bash"`)}
	m.put("session", sessionFacts{ID: "s", Cwd: "/srv/project", Mode: "default"})
	return newDocument(PrePermission, m)
}

func benchCalls(b *testing.B, h *Host, d *document, pause func(p *plugin)) {
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	p := h.inForce()[0]
	call := func() {
		if _, err := p.call(ctx, PrePermission, d, "s"); err != nil {
			b.Fatal(err)
		}
	}
	call()
	b.ReportAllocs()
	for b.Loop() {
		if pause != nil {
			b.StopTimer()
			pause(p)
			b.StartTimer()
		}
		call()
	}
}

// BenchmarkCall calls pre_permission of a plugin in Go (warm: an instance that is
// used again; spare: a fresh one that waits; make: one that is made for the call)
// and of a small one.
func BenchmarkCall(b *testing.B) {
	small := func(tb testing.TB) Config { return guest(tb, "small", w.DenyWith("pre_permission", "/tool_name")) }
	inGo := func(tb testing.TB) Config { return goPlugin(tb, "go") }
	reuse := func(c *Config) { c.Reuse = true }
	nothing := func(*Config) {}
	for _, bm := range []struct {
		name   string
		plugin func(testing.TB) Config
		change func(*Config)
		size   int
		pause  func(*plugin)
	}{
		{"go/warm/1KiB", inGo, reuse, 1 << 10, nil},
		{"go/warm/64KiB", inGo, reuse, 64 << 10, nil},
		{"go/spare/1KiB", inGo, nothing, 1 << 10, waitForSpare},
		{"go/spare/64KiB", inGo, nothing, 64 << 10, waitForSpare},
		{"go/busy", inGo, nothing, 1 << 10, nil},
		{"small/warm", small, reuse, 1 << 10, nil},
		{"small/fresh", small, nothing, 1 << 10, noSpare},
		{"small/busy", small, nothing, 1 << 10, nil},
	} {
		b.Run(bm.name, func(b *testing.B) {
			h, _ := start(b, Options{Plugins: []Config{having(bm.plugin(b), bm.change)}})
			benchCalls(b, h, benchDocument(bm.size), bm.pause)
		})
	}
}

// waitForSpare waits until a fresh instance waits.
func waitForSpare(p *plugin) {
	for p.spare.room() {
		p.spare.ask()
		time.Sleep(100 * time.Microsecond)
	}
}

// noSpare closes those that wait.
func noSpare(p *plugin) {
	for i := p.spare.take(); i != nil; i = p.spare.take() {
		i.close()
	}
}

// BenchmarkCrowd has 100 goroutines call a plugin in Go, and reports the memory of
// the process and how long the longest call had a slot.
func BenchmarkCrowd(b *testing.B) {
	h, _ := start(b, Options{Plugins: []Config{goPlugin(b, "go")}})
	p, d := h.inForce()[0], benchDocument(1<<10)
	var n atomic.Int64
	var peak, longest atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range 100 {
		all.Go(func() {
			for n.Add(1) <= int64(b.N) {
				x := &exchange{plugin: p, hook: PrePermission, doc: p.view(d), session: "s"}
				if _, err := p.attempt(b.Context(), turnNone, x); err != nil {
					b.Error(err)
				}
				atMost(&longest, int64(time.Since(x.began)))
				if n.Load()%64 == 0 {
					atMost(&peak, residentKiB(b))
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(peak.Load())/1024, "MiB-RSS")
	b.ReportMetric(float64(longest.Load())/1e6, "ms-longest")
}

// BenchmarkDeadline has 100 goroutines call a plugin in Go that would take longer
// than it may, and reports how far the latest stop was behind its deadline.
func BenchmarkDeadline(b *testing.B) {
	const limit = 50 * time.Millisecond
	command, _ := json.Marshal(map[string]string{"command": strings.Repeat("rm -r ", 1<<19)})
	h, _ := start(b, Options{Plugins: []Config{having(goPlugin(b, "go"), func(c *Config) { c.Timeout = 2 * time.Second })}})
	p, d := h.inForce()[0], newDocument(PrePermission, members{"tool_name": json.RawMessage(`"Bash"`), "tool_input": command})
	p.config.Timeout = limit // making the first instance had longer
	var n, latest, stopped atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for range 100 {
		all.Go(func() {
			for n.Add(1) <= int64(b.N) {
				x := &exchange{plugin: p, hook: PrePermission, doc: p.view(d), session: "s"}
				if _, err := p.attempt(b.Context(), turnNone, x); err != nil && !x.began.IsZero() {
					stopped.Add(1)
					atMost(&latest, int64(time.Since(x.began)-limit))
				}
			}
		})
	}
	all.Wait()
	b.ReportMetric(float64(latest.Load())/1e6, "ms-late")
	b.ReportMetric(float64(stopped.Load())/float64(b.N), "stopped/op")
}

func atMost(to *atomic.Int64, v int64) {
	for old := to.Load(); v > old && !to.CompareAndSwap(old, v); old = to.Load() {
	}
}

// residentKiB is the resident memory of this process; 0 where that is not told.
func residentKiB(tb testing.TB) int64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Error(err)
	}
	_, rest, _ := strings.Cut(string(raw), "VmRSS:")
	n, _ := strconv.ParseInt(strings.TrimSpace(rest[:strings.Index(rest, "kB")]), 10, 64)
	return n
}

// BenchmarkStart loads three pinned plugins in Go.
func BenchmarkStart(b *testing.B) {
	var plugins []Config
	for i, folder := range []string{"no-force-push", "ticket-required", "internal-hostnames"} {
		path := testguest.Go(b, "../examples/plugins/"+folder)
		c := Config{Name: fmt.Sprint("p", i), Path: path, AllowUnpinned: true, Timeout: MaxTimeout}
		_, digest, err := readModule(c)
		if err != nil {
			b.Fatal(err)
		}
		c.SHA256 = digest
		plugins = append(plugins, c)
	}
	cache := filepath.Join(b.TempDir(), "cache")
	for _, bm := range []struct{ name, cache string }{{"cold", ""}, {"cached", cache}} {
		b.Run(bm.name, func(b *testing.B) {
			o := Options{Plugins: plugins, CacheDir: bm.cache}
			once := func() {
				h, err := Load(b.Context(), o)
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				if err := h.Close(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			once()
			for b.Loop() {
				once()
			}
		})
	}
}
