package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// machine is a fake system of processes below the CLI 100.
type machine struct {
	living []int
	kills  func(pid int) fate // what comes of a kill; nil: it dies
	looks  int
	broken error

	unsettled int   // looks that may have missed somebody
	groups    []int // killed
	nextPID   int   // > 0: whoever is killed has forked before, into its group
}

func (m *machine) table(context.Context) (*table, error) {
	if m.looks++; m.broken != nil {
		return nil, m.broken
	}
	list := []proc{p(os.Getpid(), 1, 5, 5)}
	for _, pid := range m.living {
		list = append(list, p(pid, 1, 100, 100, "M=1"))
	}
	t := newTable(list)
	t.settled = m.looks > m.unsettled
	return t, nil
}

func (m *machine) kill(who member) fate {
	if m.kills != nil {
		if f := m.kills(who.pid); f != killed {
			return f
		}
	}
	for i, pid := range m.living {
		if pid == who.pid {
			m.living = append(m.living[:i], m.living[i+1:]...)
			break
		}
	}
	if m.nextPID > 0 {
		m.nextPID++
		m.living = append(m.living, m.nextPID)
	}
	return killed
}

func (m *machine) killGroup(group int) {
	m.groups = append(m.groups, group)
	m.living = nil
}

func (m *machine) sweeper() sweeper { return sweeper{m.table, m.kill, m.killGroup} }

func TestSweepEndsWhenNobodyIsLeft(t *testing.T) {
	stubborn := func(pid int) fate { return gone }
	for _, tt := range []struct {
		name    string
		machine machine
		ended   int
		left    string // in the error; empty: none
		looks   int    // at least
	}{
		{"nobody", machine{}, 0, "", 1},
		{"some", machine{living: []int{100, 101, 102}}, 3, "", 2},
		{"faster than kills, one by one", machine{living: []int{101}, nextPID: 200}, 1, "", 2},
		{"a restless system", machine{unsettled: 3}, 0, "", 4},
		{"a system that never rests", machine{unsettled: 1000}, 0, "", sweepRounds},
		{"what does not die", machine{living: []int{101, 102}, kills: stubborn}, 0, "", 2},
		{"another user's", machine{living: []int{101, 102}, kills: func(pid int) fate { return fate(1 + pid - 101) }}, 1, "1 could not be ended: pid 102", 2},
		{"a system that shows nothing", machine{broken: errSlowTable}, 0, errSlowTable.Error(), 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := tt.machine
			ended, err := m.sweeper().sweep(&family{marks: []string{"M=1"}})
			if ended != tt.ended || m.looks < tt.looks {
				t.Errorf("%s: ended %d in %d looks, want %d in %d", tt.name, ended, m.looks, tt.ended, tt.looks)
			}
			if tt.left == "" && err != nil || tt.left != "" && (!errors.Is(err, ErrLeft) || !strings.Contains(err.Error(), tt.left)) {
				t.Errorf("%s: %v, want %q", tt.name, err, tt.left)
			}
		})
	}
}

// A group that was seen is ended also when later looks miss who is in it, unless
// its id is another's by then.
func TestSweepOfAGroupThatHides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machine{living: []int{101}}
		f := &family{marks: []string{"M=1"}}
		look, _ := m.table(t.Context())
		f.living(look)
		m.living = nil
		m.sweeper().sweep(f)
		if len(m.groups) != 1 || m.groups[0] != 100 {
			t.Errorf("groups ended: %v", m.groups)
		}
		stranger := sweeper{func(context.Context) (*table, error) {
			t := newTable([]proc{p(100, 1, 7, 7)})
			t.settled = true
			return t, nil
		}, m.kill, func(group int) { t.Errorf("group %d was ended", group) }}
		stranger.sweep(f)
	})
}

// A sweep of what cannot be ended gives up in its time, not before.
func TestSweepIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := machine{living: []int{101, 102}, kills: func(int) fate { return gone }}
		s := m.sweeper()
		s.killGroup = func(int) {}
		began := time.Now()
		_, err := s.sweep(&family{marks: []string{"M=1"}})
		if took := time.Since(began); !errors.Is(err, ErrLeft) || took < sweepFor || took > sweepFor+time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// A look begun after a request is good for all that wait; one begun before is not.
func TestTablesAreShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		s := &tables{look: func() (*table, error) {
			looks.Add(1)
			time.Sleep(time.Second)
			return newTable(nil), nil
		}}
		ask := func() <-chan time.Time {
			answered := make(chan time.Time, 1)
			go func() { // ends with the look
				if _, err := s.after(t.Context()); err != nil {
					t.Error(err)
				}
				answered <- time.Now()
			}()
			return answered
		}
		began := time.Now()
		first := ask()
		synctest.Wait()
		var others []<-chan time.Time
		for range 100 {
			others = append(others, ask())
		}
		if at := (<-first).Sub(began); at != time.Second {
			t.Errorf("the first look took %s", at)
		}
		for _, o := range others {
			if at := (<-o).Sub(began); at != 2*time.Second {
				t.Fatalf("another look was told after %s, want one begun after it was asked for", at)
			}
		}
		if looks.Load() != 2 {
			t.Errorf("%d looks for 101 requests", looks.Load())
		}
	})
}

// A look that hangs holds nobody for longer than the wait allows.
func TestTableThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := make(chan struct{})
		s := &tables{look: func() (*table, error) {
			<-hangs
			return newTable(nil), nil
		}}
		ctx, cancel := context.WithTimeout(t.Context(), sweepFor)
		defer cancel()
		if _, err := s.after(ctx); !errors.Is(err, errSlowTable) {
			t.Errorf("a look that hangs: %v", err)
		}
		close(hangs)
	})
}
