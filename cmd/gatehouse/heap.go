package main

import (
	"sync/atomic"
	"time"
)

// heapReserve is added to the heap of a server, in bytes. The collector runs
// when the heap has doubled: on the few megabytes of a server that would be
// every few pages, and each run delays whoever waits for an event. The reserve is
// never touched, so it costs addresses but no memory.
const heapReserve = 16 << 20

// reserveAfter is when the reserve is taken: taking it makes the collector run,
// and the start must not wait for that.
const reserveAfter = 500 * time.Millisecond

// reserveHeap takes the reserve a moment from now; release gives it back.
func reserveHeap() (release func()) {
	var reserve atomic.Pointer[[]byte]
	timer := time.AfterFunc(reserveAfter, func() {
		taken := make([]byte, heapReserve)
		reserve.Store(&taken)
	})
	return func() {
		timer.Stop()
		reserve.Store(nil)
	}
}
