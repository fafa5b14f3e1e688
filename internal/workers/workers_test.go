package workers

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

func TestMain(m *testing.M) { os.Exit(testleak.Run(m)) }

func TestEveryJobRuns(t *testing.T) {
	p := Pool{Stack: 16 << 10}
	var ran atomic.Int64
	var all sync.WaitGroup
	for range 1000 {
		all.Add(1)
		p.Start(func() {
			defer all.Done()
			ran.Add(1)
		})
	}
	all.Wait()
	if ran.Load() != 1000 {
		t.Errorf("%d jobs ran, want 1000", ran.Load())
	}
}

// A worker takes the next job that comes while it waits, and ends when none does.
func TestWorkersAreUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		before := runtime.NumGoroutine()
		for range 5 {
			done := make(chan struct{})
			p.Start(func() { close(done) })
			<-done
			synctest.Wait() // until the worker waits
			if n := runtime.NumGoroutine() - before; n != 1 {
				t.Fatalf("%d workers, want 1", n)
			}
		}
		time.Sleep(2 * Idle)
		synctest.Wait()
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d workers are left", n)
		}
	})
}

func TestCloseEndsWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p Pool
		before := runtime.NumGoroutine()
		for range 2 { // one that waits, then one that is busy until after Close
			done := make(chan struct{})
			p.Start(func() { <-done })
			close(done)
			p.Close()
			synctest.Wait()
		}
		if n := runtime.NumGoroutine() - before; n != 0 {
			t.Errorf("%d workers are left", n)
		}
	})
}

// Jobs wait for no others: each finds a worker, also where all are busy.
func TestJobsRunAtOnce(t *testing.T) {
	var p Pool
	var at sync.WaitGroup
	at.Add(20)
	for range 20 {
		p.Start(func() {
			at.Done()
			at.Wait() // for all of them
		})
	}
	at.Wait()
}

func TestAJobMayEndItsGoroutine(t *testing.T) {
	var p Pool
	ended := make(chan struct{})
	p.Start(func() {
		defer close(ended)
		runtime.Goexit()
	})
	<-ended
	again := make(chan struct{})
	p.Start(func() { close(again) })
	<-again
}
