package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

func testCreate(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	bounds(t, h, 0, 0)
	p, err := h.Read(event.Window{})
	holds(t, p, err, 0, 0, nil, false)
	tells(t, s, record(1), 0, true)
}

// tells checks what Session says.
func tells(t *testing.T, s event.Store, want event.SessionRecord, next int64, live bool) {
	t.Helper()
	want.Next, want.Live = next, live
	if got, err := s.Session(want.ID); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("session is %+v, %v\nwant %+v", got, err, want)
	}
}

func testCreateTwice(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	if _, err := s.Create(record(1)); !errors.Is(err, event.ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
	noError(t, h.Close())
	if _, err := s.Create(record(1)); !errors.Is(err, event.ErrStored) {
		t.Errorf("when it is kept: %v", err)
	}
	tells(t, s, record(1), 0, false)
}

func testOpen(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	write(t, h, 0, 3)
	noError(t, h.Close())
	for next := int64(3); next < 9; next += 2 {
		h = open(t, s, 1)
		bounds(t, h, 0, next)
		tells(t, s, record(1), next, true)
		write(t, h, next, next+2)
		noError(t, h.Close())
	}
	p, err := s.Read(ID(1), event.Window{})
	holds(t, p, err, 0, 9, nil, false)
}

func testOpenRefused(t *testing.T, s event.Store) {
	if _, err := s.Open(ID(1)); !errors.Is(err, event.ErrNotStored) {
		t.Errorf("not kept: %v", err)
	}
	h := create(t, s, 1)
	if _, err := s.Open(ID(1)); !errors.Is(err, event.ErrLocked) {
		t.Errorf("while it is written: %v", err)
	}
	noError(t, h.Close())
	open(t, s, 1)
	if _, err := s.Open(ID(1)); !errors.Is(err, event.ErrLocked) {
		t.Errorf("while it is opened: %v", err)
	}
}

func testSession(t *testing.T, s event.Store) {
	if _, err := s.Session(ID(1)); !errors.Is(err, event.ErrNotStored) {
		t.Errorf("not kept: %v", err)
	}
	h, r := create(t, s, 1), record(1)
	for i, state := range []string{"idle", "running", "error"} {
		write(t, h, int64(i), int64(i+1))
		r.State, r.Turns = state, i
		noError(t, h.Put(r))
		tells(t, s, r, int64(i+1), true)
	}
	noError(t, h.Close())
	tells(t, s, r, 3, false)
	h = open(t, s, 1)
	tells(t, s, r, 3, true)
	noError(t, h.Close())
}

func testSessions(t *testing.T, s event.Store) {
	if list, err := s.Sessions(); err != nil || len(list) != 0 {
		t.Errorf("an empty store lists %v, %v", list, err)
	}
	var want []event.SessionRecord
	for _, n := range []int{3, 1, 4, 2} { // not in order of age
		h := create(t, s, n)
		write(t, h, 0, int64(n))
		if n != 4 {
			noError(t, h.Close())
		}
	}
	for n := 4; n > 0; n-- {
		r := record(n)
		r.Next, r.Live = int64(n), n == 4
		want = append(want, r)
	}
	if got, err := s.Sessions(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("sessions are %+v, %v\nwant %+v", got, err, want)
	}
}

func testRecordFields(t *testing.T, s event.Store) {
	r := event.SessionRecord{
		ID: ID(1), Parent: ID(2), Server: "20260102T030405Z-0a0b0c0d", State: "cancelled", Final: true,
		Created: time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC), Updated: time.Date(2027, 1, 2, 3, 4, 5, 6, time.UTC),
		Cwd: "/home/u/\"ü\"\n\u2028", Client: "client <1>", Title: "Fix \\ it", Turns: 7, CostUSD: 0.125, LastTool: "Bash",
		Engine: json.RawMessage(`{"nested":{"list":[1,"two",null]}}`),
	}
	h, err := s.Create(r)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	tells(t, s, r, 0, true)
	r.Final, r.Title, r.Engine = false, "", nil
	noError(t, h.Put(r))
	noError(t, h.Close())
	tells(t, s, r, 0, false)
}

func testPutOther(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	if err := h.Put(record(2)); err == nil {
		t.Error("the record of another session was taken")
	}
	tells(t, s, record(1), 0, true)
}

func testStoreClose(t *testing.T, s event.Store) {
	h := create(t, s, 1)
	write(t, h, 0, 1)
	noError(t, s.Close())
	noError(t, h.Close())
	noError(t, s.Close()) // and once more by Run
}

func testConcurrent(t *testing.T, s event.Store) {
	const sessions, events = 8, 50
	var all sync.WaitGroup
	for n := range sessions {
		h := create(t, s, n)
		all.Go(func() {
			for id := range int64(events) {
				noError(t, h.Append(numbered(id)))
				noError(t, h.Put(record(n)))
			}
			noError(t, h.Sync(t.Context()))
		})
		all.Go(func() { // until it has read all of them
			for from := int64(0); from < events && !t.Failed(); {
				p, err := s.Read(ID(n), event.Window{From: &from})
				if err != nil || p.ResetTo != nil || p.Next != from+int64(len(p.Events)) {
					t.Error(fmt.Errorf("session %d from %d: %+v: %w", n, from, p, err))
				}
				from = p.Next
			}
		})
	}
	all.Go(func() {
		for range 20 {
			list, err := s.Sessions()
			if err != nil || len(list) != sessions {
				t.Errorf("%d sessions, %v", len(list), err)
			}
		}
	})
	all.Wait()
}
