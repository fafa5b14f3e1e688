package storetest

import (
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

var crashes = []struct {
	name string
	run  func(t *testing.T, s event.Store, crash Crash)
}{
	{"what was created is there", crashAfterCreate},
	{"what was appended is there", crashAfterAppend},
	{"what was put is there", crashAfterPut},
	{"crash after crash", crashAgain},
}

// found crashes a store and closes the one that is found when the test ends.
func found(t *testing.T, s event.Store, crash Crash) event.Store {
	t.Helper()
	s = crash(t, s)
	t.Cleanup(func() { noError(t, s.Close()) })
	return s
}

func crashAfterCreate(t *testing.T, s event.Store, crash Crash) {
	create(t, s, 1)
	s = found(t, s, crash)
	tells(t, s, record(1), 0, false)
	bounds(t, open(t, s, 1), 0, 0)
}

func crashAfterAppend(t *testing.T, s event.Store, crash Crash) {
	write(t, create(t, s, 1), 0, 100)
	s = found(t, s, crash)
	tells(t, s, record(1), 100, false)
	p, err := s.Read(ID(1), event.Window{})
	holds(t, p, err, 0, 100, nil, false)
	h := open(t, s, 1)
	bounds(t, h, 0, 100)
	write(t, h, 100, 102)
	p, err = h.Read(event.Window{From: at(98)})
	holds(t, p, err, 98, 102, nil, false)
	noError(t, h.Close())
}

func crashAfterPut(t *testing.T, s event.Store, crash Crash) {
	h, r := create(t, s, 1), record(1)
	write(t, h, 0, 2)
	r.State = "idle"
	noError(t, h.Put(r))
	write(t, h, 2, 3)
	tells(t, found(t, s, crash), r, 3, false)
}

func crashAgain(t *testing.T, s event.Store, crash Crash) {
	h := create(t, s, 1)
	for n := range int64(5) {
		bounds(t, h, 0, 3*n)
		write(t, h, 3*n, 3*n+3)
		s = crash(t, s)
		h = open(t, s, 1)
	}
	p, err := s.Read(ID(1), event.Window{})
	holds(t, p, err, 0, 15, nil, false)
	noError(t, h.Close())
	noError(t, s.Close())
}
