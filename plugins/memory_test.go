package plugins

import (
	"bytes"
	"sync"
	"testing"
)

func zeros(b []byte) bool { return len(bytes.Trim(b, "\x00")) == 0 }

func TestMemoriesAreZeros(t *testing.T) {
	var m memories
	for _, size := range []uint64{1, 64 << 10, 3 << 20, 4 << 20} {
		l := linear{from: &m}
		b := l.Reallocate(size)
		for i := range b {
			b[i] = 0xff
		}
		l.release()
		again := linear{from: &m}
		if b := again.Reallocate(size); uint64(len(b)) != size || !zeros(b[:cap(b)]) {
			t.Errorf("%d bytes: %d come back, zeros: %v", size, len(b), zeros(b[:cap(b)]))
		}
		if m.bytes != 0 {
			t.Errorf("%d bytes: %d were not taken", size, m.bytes)
		}
		again.release()
		if m.bytes == 0 {
			t.Errorf("%d bytes: nothing is free", size)
		}
		m = memories{}
	}
}

func TestLinearGrows(t *testing.T) {
	var m memories
	l := linear{from: &m}
	l.Reallocate(64 << 10)[7] = 1
	if b := l.Reallocate(64 << 10); cap(b) != 64<<10 || cap(l.Reallocate(5)) != 5 {
		t.Error("there is room behind it that nobody would clear")
	}
	if l.Reallocate(64 << 10)[7] != 1 {
		t.Error("what was there is lost")
	}
	moved := l.Reallocate(1 << 20)
	if moved[7] != 1 || len(moved) != 1<<20 || !zeros(moved[8:]) {
		t.Error("what was there is lost, or what was not is there")
	}
	l.Free() // the runtime may say so early
	if m.bytes != 64<<10 || moved[7] != 1 {
		t.Errorf("%d bytes are free, want those of the smaller memory", m.bytes)
	}
	l.release()
	l.release()
	if want := 1<<20 + 64<<10; m.bytes != want {
		t.Errorf("%d bytes are free, want %d", m.bytes, want)
	}
}

func TestFreeMemoryIsBounded(t *testing.T) {
	var m memories
	var all []*linear
	for range 5 {
		l := &linear{from: &m}
		l.Reallocate(MaxFreeMemory / 4)
		all = append(all, l)
	}
	var wait sync.WaitGroup
	for _, l := range all {
		wait.Go(l.release)
	}
	wait.Wait()
	if m.bytes != MaxFreeMemory || len(m.free[MaxFreeMemory/4]) != 4 {
		t.Errorf("%d bytes are free in %d pieces, want %d in 4", m.bytes, len(m.free[MaxFreeMemory/4]), MaxFreeMemory)
	}
}
