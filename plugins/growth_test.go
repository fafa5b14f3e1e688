package plugins

import (
	"os"
	"runtime"
	"strconv"
	"testing"
)

// manyCalls is how many calls a test of growth makes: GATEHOUSE_PLUGIN_CALLS, or few.
func manyCalls(t *testing.T) int {
	text := os.Getenv("GATEHOUSE_PLUGIN_CALLS")
	if text == "" {
		return 10000
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
