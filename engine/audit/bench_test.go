package audit

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func benchRecord() Record {
	r := decision("Bash", "go test ./... && git commit -m "+strings.Repeat("x", 100))
	r.Principal = &Principal{Transport: "stdio", Client: "claude-desktop", Version: "1.2.3", UID: 1000}
	r.CLI = &CLI{Path: "/usr/bin/claude", Version: "2.1.197"}
	return r
}

// BenchmarkRecord is records with a chain, without a sync, from many goroutines.
func BenchmarkRecord(b *testing.B) {
	r := newRig(b)
	r.options.NoSync = true
	l := r.open(b)
	b.SetParallelism(128)
	one := benchRecord()
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			if err := l.Record(context.Background(), one); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.StopTimer()
	closeLog(b, l)
}

// BenchmarkNote is the same without anybody waiting, but for one in 512.
func BenchmarkNote(b *testing.B) {
	r := newRig(b)
	r.options.NoSync = true
	l := r.open(b)
	one := benchRecord()
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		if n%512 != 0 {
			l.Note(one)
		} else if err := l.Record(context.Background(), one); err != nil {
			b.Error(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.StopTimer()
	if n := l.dropped.Load(); n > 0 {
		b.Errorf("%d notes were dropped", n)
	}
	closeLog(b, l)
}

// BenchmarkDurable is 256 goroutines that each wait for the disk.
func BenchmarkDurable(b *testing.B) {
	l := newRig(b).open(b)
	var next atomic.Int64
	took := make([]time.Duration, b.N)
	one := benchRecord()
	b.ResetTimer()
	var group sync.WaitGroup
	for range 256 {
		group.Go(func() {
			for n := next.Add(1) - 1; n < int64(b.N); n = next.Add(1) - 1 {
				start := time.Now()
				if err := l.Record(context.Background(), one); err != nil {
					b.Error(err)
				}
				took[n] = time.Since(start)
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	b.StopTimer()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	closeLog(b, l)
}

func BenchmarkVerify(b *testing.B) {
	r := newRig(b)
	r.options.NoSync = true
	l := r.open(b)
	for range 20 {
		for range 500 {
			l.Note(benchRecord())
		}
		record(b, l, benchRecord())
	}
	closeLog(b, l)
	records := int64(0)
	for b.Loop() {
		report := r.verified(b, VerifyOptions{Keys: r.keys()})
		if report.Bad != nil {
			b.Fatal(report.Bad)
		}
		records += report.Last
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}
