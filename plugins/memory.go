package plugins

import (
	"context"
	"math/bits"
	"sync"

	"github.com/tetratelabs/wazero/experimental"
)

// MaxFreeMemory is how many bytes of linear memory a host keeps for the next
// instances when those that had it are gone.
const MaxFreeMemory = 32 << 20

// memories hands out linear memory, and takes it back when an instance is gone: to
// make megabytes anew for each call would keep the garbage collector at work. What
// is handed out holds nothing but zeros.
type memories struct {
	mu    sync.Mutex
	free  map[int][][]byte // by capacity, a power of two; all zeros
	bytes int              // of all that is free
}

// take gives size bytes of zeros, with room up to the next power of two.
func (m *memories) take(size uint64) []byte {
	room := 1 << max(bits.Len64(max(size, 1)-1), 16)
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.free[room]
	n := len(list) - 1
	if n < 0 {
		return make([]byte, size, room)
	}
	b := list[n]
	list[n] = nil
	m.free[room] = list[:n]
	m.bytes -= room
	return b[:size]
}

// give takes b back. Nothing may use it any more.
func (m *memories) give(b []byte) {
	room := cap(b)
	m.mu.Lock()
	full := room == 0 || m.bytes+room > MaxFreeMemory
	m.mu.Unlock()
	if full {
		return
	}
	clear(b)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes+room > MaxFreeMemory {
		return
	}
	if m.free == nil {
		m.free = map[int][][]byte{}
	}
	m.free[room] = append(m.free[room], b[:0])
	m.bytes += room
}

// linear is the memory of one instance. The runtime may say at any time that it
// needs it no more, also while a call of it still returns; it is given back only by
// release, when the instance is gone.
type linear struct {
	from *memories
	buf  []byte
}

// Allocate implements [experimental.MemoryAllocator].
func (l *linear) Allocate(_, _ uint64) experimental.LinearMemory { return l }

// Reallocate implements [experimental.LinearMemory]. The runtime keeps to the limit
// of the plugin's memory.
func (l *linear) Reallocate(size uint64) []byte {
	if size <= uint64(cap(l.buf)) && l.buf != nil {
		l.buf = l.buf[:max(size, uint64(len(l.buf)))]
		return l.buf[:size:size]
	}
	next := l.from.take(size)
	copy(next, l.buf)
	l.from.give(l.buf)
	l.buf = next
	return next[:size:size] // nobody else appends to it: what is behind would not be cleared
}

// Free implements [experimental.LinearMemory].
func (l *linear) Free() {}

// release gives the memory back. Nothing may use it any more.
func (l *linear) release() {
	l.from.give(l.buf)
	l.buf = nil
}

// allocating is the context in which an instance is made.
func allocating(ctx context.Context, l *linear) context.Context {
	return experimental.WithMemoryAllocator(ctx, l)
}
