package journal

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// sized is an event whose line has about 600 bytes.
func sized(id int64) event.Event {
	return event.Event{ID: id, Type: event.Output, Timestamp: time.Now().UTC(), Data: payload}
}

var payload = json.RawMessage(`{"type":"assistant","text":"` + strings.Repeat("All tests pass. ", 31) + `"}`)

// BenchmarkAppend writes events of 600 bytes; nobody waits for a sync.
func BenchmarkAppend(b *testing.B) {
	for _, sessions := range []int{1, 2, 64} {
		b.Run(fmt.Sprintf("%d sessions", sessions), func(b *testing.B) {
			j := opened(b, Options{MaxBytes: -1})
			histories := make([]*history, sessions)
			for n := range histories {
				histories[n] = begun(b, j, n)
			}
			b.SetBytes(600)
			b.ReportAllocs()
			b.ResetTimer()
			var all sync.WaitGroup
			for n, h := range histories {
				all.Go(func() {
					for id := range int64((b.N + n) / sessions) {
						if err := h.Append(sized(id)); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkLog appends events of 600 bytes to a log, with a history and without.
func BenchmarkLog(b *testing.B) {
	for _, kept := range []bool{false, true} {
		b.Run(fmt.Sprintf("kept %v", kept), func(b *testing.B) {
			l := event.NewLog(0)
			if kept {
				l.Keep(begun(b, opened(b, Options{MaxBytes: -1}), 1))
			}
			b.ReportAllocs()
			for b.Loop() {
				l.Append(b.Context(), event.Output, payload)
			}
			if err := l.Unsaved(); err != nil {
				b.Error(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

// BenchmarkSync256 lets 256 sessions append one event each and wait until it is
// durable, all at once, again and again.
func BenchmarkSync256(b *testing.B) {
	const sessions = 256
	j := opened(b, Options{})
	histories := make([]*history, sessions)
	for n := range histories {
		histories[n] = begun(b, j, n)
	}
	took := make([]time.Duration, 0, b.N*sessions)
	var mu sync.Mutex
	id := int64(0)
	for b.Loop() {
		var all sync.WaitGroup
		for _, h := range histories {
			all.Go(func() {
				began := time.Now()
				if err := h.Append(sized(id)); err != nil {
					b.Error(err)
				}
				if err := h.Sync(b.Context()); err != nil {
					b.Error(err)
				}
				mu.Lock()
				took = append(took, time.Since(began))
				mu.Unlock()
			})
		}
		all.Wait()
		id++
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}

// BenchmarkReadOld reads pages of 100 events from the middle of a long session.
func BenchmarkReadOld(b *testing.B) {
	j := opened(b, Options{})
	h := begun(b, j, 1)
	const events = 50_000
	for id := range int64(events) {
		if err := h.Append(sized(id)); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		from := int64(events / 3)
		p, err := h.Read(event.Window{From: &from, Max: 100})
		if err != nil || len(p.Events) != 100 {
			b.Fatal(len(p.Events), err)
		}
	}
}

// BenchmarkSessions lists ten thousand sessions: for the first time, and again.
func BenchmarkSessions(b *testing.B) {
	const sessions = 10_000
	j := opened(b, Options{MaxAge: -1})
	for n := range sessions {
		h, err := j.Create(record(n))
		if err != nil {
			b.Fatal(err)
		}
		for id := range int64(5) {
			if err := h.Append(sized(id)); err != nil {
				b.Fatal(err)
			}
		}
		h.Close()
	}
	time.Sleep(settled + time.Second/2)
	for name, fresh := range map[string]bool{"first": true, "again": false} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if fresh {
					j.seen = summaries{}
				}
				if list, err := j.Sessions(); err != nil || len(list) != sessions {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}
