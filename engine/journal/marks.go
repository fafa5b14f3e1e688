package journal

import (
	"slices"
	"sync"
)

// markEvery is how many bytes of a segment lie between two marks, at least.
const markEvery = 64 << 10

// mark says where a line with an event begins.
type mark struct {
	segment int
	id      int64
	off     int64
}

// marks are what is known of where events stand: one in 64 KiB, so at most 1024
// for a session of 64 MiB. They are learned by writing and by reading. The zero
// value knows nothing; it is safe for concurrent use.
type marks struct {
	mu   sync.Mutex
	list []mark // ascending by segment and offset
}

// maxMarks bounds the marks of one session, whatever its size.
const maxMarks = 1 << 14

// at returns the last mark in a segment that is not behind id.
func (m *marks) at(segment int, id int64) (found mark, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := slices.BinarySearchFunc(m.list, mark{segment, id + 1, 0}, func(a, b mark) int {
		if a.segment != b.segment {
			return a.segment - b.segment
		}
		return int(min(max(a.id-b.id, -1), 1))
	})
	if i == 0 || m.list[i-1].segment != segment {
		return mark{}, false
	}
	return m.list[i-1], true
}

// add notes a line, unless one near it is noted.
func (m *marks) add(n mark) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := len(m.list)
	for i > 0 && m.list[i-1].after(n) {
		i--
	}
	near := func(i int) bool {
		return i >= 0 && i < len(m.list) && m.list[i].segment == n.segment && max(m.list[i].off-n.off, n.off-m.list[i].off) < markEvery
	}
	if near(i-1) || near(i) || len(m.list) >= maxMarks {
		return
	}
	m.list = slices.Insert(m.list, i, n)
}

func (m mark) after(n mark) bool {
	return m.segment > n.segment || m.segment == n.segment && m.off > n.off
}

// cut forgets the segments before one.
func (m *marks) cut(segment int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(n mark) bool { return n.segment < segment })
}
