package author

import (
	"context"
	"fmt"
	"runtime/metrics"
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of a run of tests, besides the time of each.
const (
	shownOutput   = 4 << 10 // bytes of a test's print at its beginning, and as many at its end
	maxTestMemory = 2 << 30 // bytes of heap
	memoryEvery   = 50 * time.Millisecond
)

// errMemory ends a run whose tests fill the memory.
var errMemory = fmt.Errorf("tests: stopped at %d MiB of memory; make what a test builds or prints smaller, or choose tests with --run", maxTestMemory>>20)

// boundedMemory returns a context that ends when the heap is over the bound. The
// caller calls stop, which ends the goroutine.
func boundedMemory(ctx context.Context, bound uint64) (within context.Context, stop func()) {
	within, cancel := context.WithCancelCause(ctx)
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	go func() { // ends with stop or ctx
		tick := time.NewTicker(memoryEvery)
		defer tick.Stop()
		for {
			select {
			case <-within.Done():
				return
			case <-tick.C:
			}
			if metrics.Read(sample); sample[0].Value.Uint64() > bound {
				cancel(errMemory)
			}
		}
	}()
	return within, func() { cancel(nil) }
}

// shortened keeps the beginning and the end of what a test printed, in whole
// lines where there are any.
func shortened(out string) string {
	if len(out) <= 2*shownOutput {
		return out
	}
	head, tail := out[:shownOutput], out[len(out)-shownOutput:]
	if i := strings.LastIndexByte(head, '\n'); i >= 0 {
		head = head[:i+1]
	} else {
		head = strings.ToValidUTF8(head, "") + "\n"
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)-1 {
		tail = tail[i+1:]
	}
	for !utf8.ValidString(tail) && len(tail) > shownOutput-utf8.UTFMax {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s… %d bytes left out …\n%s", head, len(out)-len(head)-len(tail), tail)
}
