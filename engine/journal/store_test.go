package journal

import (
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/event/storetest"
)

func TestStore(t *testing.T) {
	for name, o := range map[string]Options{
		"one segment":   {},
		"many segments": {SegmentBytes: minSegmentBytes},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t,
				func(t *testing.T) event.Store { return opened(t, o) },
				func(t *testing.T, s event.Store) event.Store {
					s.(*Journal).crash()
					return opened(t, Options{Folder: s.(*Journal).o.Folder, SegmentBytes: o.SegmentBytes})
				})
		})
	}
}

// crash leaves the journal as a kill would: nothing is written or closed but what
// the system closes.
func (j *Journal) crash() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, h := range j.open {
		h.mu.Lock()
		h.closed = true
		h.closeFiles()
		h.unlock()
		h.mu.Unlock()
	}
	clear(j.open)
}
