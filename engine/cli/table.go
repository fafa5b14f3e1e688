package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
)

// member is a process by id and start time, so that a reused id is not mistaken for it.
type member struct {
	pid   int
	start string // as the system tells it; what follows is as Entry.Start
}

// proc is a living process as a table shows it.
type proc struct {
	member
	parent  int
	group   int      // 0: not known
	session int      // of terminals, see setsid(2); 0: not known
	marks   []string // entries of its environment that name a session or a run, and its brand
}

// table is the living processes of one moment. It does not change.
type table struct {
	byPID    map[int]*proc
	children map[int][]*proc
	groups   map[int][]*proc
	sessions map[int][]*proc
	marked   map[string][]*proc
	spared   map[int]bool // this process and those that run it
	own      *proc        // nil where the system does not show it
	settled  bool         // nobody came and went while it was taken who may have left a child
}

func newTable(list []proc) *table {
	t := &table{
		byPID: make(map[int]*proc, len(list)), children: make(map[int][]*proc, len(list)),
		groups: make(map[int][]*proc), sessions: make(map[int][]*proc), marked: make(map[string][]*proc),
		spared: make(map[int]bool),
	}
	for i := range list {
		p := &list[i]
		t.byPID[p.pid] = p
		t.children[p.parent] = append(t.children[p.parent], p)
		t.groups[p.group] = append(t.groups[p.group], p)
		t.sessions[p.session] = append(t.sessions[p.session], p)
		for _, m := range p.marks {
			t.marked[m] = append(t.marked[m], p)
		}
	}
	t.spare(os.Getpid())
	return t
}

// spare notes whom no sweep may end: a process and all that run it.
func (t *table) spare(pid int) {
	t.own = t.byPID[pid]
	for pid > 0 && !t.spared[pid] {
		t.spared[pid] = true
		p := t.byPID[pid]
		if p == nil {
			return
		}
		pid = p.parent
	}
}

// at returns the member if it lives, nil otherwise.
func (t *table) at(m member) *proc {
	if p := t.byPID[m.pid]; p != nil && p.start == m.start {
		return p
	}
	return nil
}

var errSlowTable = errors.New("the system does not show its processes in time")

// tables shares looks at the processes: one that began after a request is good
// for everybody who waits, so that a thousand stops at once cost a few looks.
type tables struct {
	look func() (*table, error)

	mu   sync.Mutex
	next *moment // not begun; nil: nobody waits
	busy bool
}

// moment is one look, shared.
type moment struct {
	done  chan struct{}
	table *table
	err   error
}

// after returns a table of a moment after the call. ctx bounds the wait: a look
// can hang with a process that hangs in the kernel.
func (s *tables) after(ctx context.Context) (*table, error) {
	s.mu.Lock()
	if s.next == nil {
		s.next = &moment{done: make(chan struct{})}
	}
	m := s.next
	if !s.busy {
		s.busy = true
		go s.run() // ends when nobody waits for a look
	}
	s.mu.Unlock()
	select {
	case <-m.done:
		return m.table, m.err
	case <-ctx.Done():
		return nil, fmt.Errorf("list processes: %w", errSlowTable)
	}
}

func (s *tables) run() {
	for {
		s.mu.Lock()
		m := s.next
		s.next = nil
		s.busy = m != nil
		s.mu.Unlock()
		if m == nil {
			return
		}
		m.table, m.err = s.look()
		close(m.done)
	}
}

// shared is the process's one view of the others.
var shared = &tables{look: func() (*table, error) {
	list, settled, err := processes()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	t := newTable(list)
	t.settled = settled
	return t, nil
}}
