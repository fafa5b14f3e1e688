package journal

import (
	"os"
	"sync"
	"time"
)

// Bounds of what is synced at once.
const (
	maxSyncs = 16 // files that are synced each by itself
	// manySyncs is from how many sessions on the file system is synced as a whole: it
	// takes as long as a few files, where each of them costs a commit otherwise. That
	// includes what other programs wrote; after once that it took too long for that,
	// files are synced by themselves for a while.
	manySyncs  = 8
	slowSystem = 100 * time.Millisecond
	shunSystem = time.Minute
)

// syncer syncs what was written, for those who wait and for those who do not.
//
//	Sync ── ask ──> asked ── commit ──> up to maxSyncs files, or the file system
//	Append ── mark ──> written ── round, every second ──> ask
//	                                  └──> idle ── closeIdleAfter ──> its file is closed
//
// Two goroutines, commit and rounds, are begun by start and ended by close; they
// sleep while nothing is written and no file is idle.
type syncer struct {
	every time.Duration
	root  *os.Root
	wake  chan struct{} // something is in written
	query chan struct{} // something is in asked
	slots chan struct{} // one for each file that is synced
	stop  chan struct{} // ends rounds
	done  chan struct{}
	quit  chan struct{} // ends commit
	gone  chan struct{}
	shun  time.Time // until when the file system is not synced as a whole; commit's own

	mu      sync.Mutex
	written map[*history]struct{}
	asked   []*history
	ended   bool // commit is
}

func (s *syncer) start(root *os.Root, every time.Duration) {
	s.root, s.every = root, every
	s.slots = make(chan struct{}, maxSyncs)
	s.wake, s.query = make(chan struct{}, 1), make(chan struct{}, 1)
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	s.quit, s.gone = make(chan struct{}), make(chan struct{})
	s.written = make(map[*history]struct{})
	go s.rounds() // until close
	go s.commit() // until close
}

// close syncs a last time.
func (s *syncer) close() {
	close(s.stop)
	<-s.done
	close(s.quit)
	<-s.gone
}

// ask has a history synced.
func (s *syncer) ask(h *history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		go h.fly() // ends with its sync
		return
	}
	s.asked = append(s.asked, h)
	nudge(s.query)
}

func (s *syncer) mark(h *history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[h] = struct{}{}
	nudge(s.wake)
}

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (s *syncer) commit() {
	defer close(s.gone)
	for {
		select {
		case <-s.query:
			s.commitAll(s.take(false))
		case <-s.quit:
			s.commitAll(s.take(true))
			return
		}
	}
}

// take returns who asks; at the end, those who ask later are synced without commit.
func (s *syncer) take(end bool) []*history {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.asked
	s.asked, s.ended = nil, end
	return all
}

// commitAll syncs what is asked for. While it waits for a slot, more ask: so the
// more there are, the more are synced at once.
func (s *syncer) commitAll(all []*history) {
	if len(all) >= manySyncs && time.Now().After(s.shun) && s.commitSystem(all) {
		return
	}
	for _, h := range all {
		s.slots <- struct{}{}
		go func() { // ends with its sync
			defer func() { <-s.slots }()
			h.fly()
		}()
	}
}

// commitSystem syncs the file system as a whole; false where that cannot be done,
// and nothing was.
func (s *syncer) commitSystem(all []*history) bool {
	if !syncsSystem() {
		return false
	}
	batches := make([]batch, len(all))
	for i, h := range all {
		batches[i] = h.depart()
	}
	began := time.Now()
	err := syncSystem(s.root)
	if time.Since(began) > slowSystem {
		s.shun = time.Now().Add(shunSystem)
	}
	for i, h := range all {
		failed := err
		if err != nil { // whose file it was is for each to find out
			failed = batches[i].sync(h)
		}
		h.arrive(batches[i], failed)
	}
	return true
}

func (s *syncer) rounds() {
	defer close(s.done)
	idle := make(map[*history]struct{})
	for {
		if !s.sleep(len(idle) > 0) {
			s.round()
			return
		}
		for _, h := range s.round() {
			idle[h] = struct{}{}
		}
		for h := range idle {
			if h.closeIdle() {
				delete(idle, h)
			}
		}
	}
}

// sleep waits for a round's time, which begins when something is written, or at
// once when files are idle; false: the end.
func (s *syncer) sleep(idle bool) bool {
	if !idle {
		select {
		case <-s.wake:
		case <-s.stop:
			return false
		}
	}
	timer := time.NewTimer(s.every)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.stop:
		return false
	}
}

// round syncs what was written, and returns whose it was.
func (s *syncer) round() []*history {
	s.mu.Lock()
	written := s.written
	s.written = make(map[*history]struct{})
	s.mu.Unlock()
	flights := make(map[*history]*flight, len(written))
	var all []*history
	for h := range written {
		all = append(all, h)
		h.unmark()
		if f := h.join(); f != nil {
			flights[h] = f
		}
	}
	for h, f := range flights {
		if <-f.done; f.err != nil {
			h.journal.o.Logger.Error("journal: what was written may not outlive a power failure", "session", h.id, "error", f.err)
		}
	}
	return all
}

// unmark has the next write mark the history again.
func (h *history) unmark() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.marked = false
}

// closeIdle closes the file of a session nobody writes to; Append opens it
// again. It reports whether the session needs to be looked at no more.
func (h *history) closeIdle() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.file == nil:
		return true
	case h.synced < h.written || time.Since(h.last) < closeIdleAfter:
		return false
	}
	h.file.Close()
	h.file = nil
	return true
}
