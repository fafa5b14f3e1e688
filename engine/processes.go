package engine

import (
	"sync/atomic"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
)

// processes bounds the CLIs that live at once: each takes open files, and to run
// out of them would hurt every session, not only the one too many.
type processes struct {
	most int64 // 0: no bound is known
	live atomic.Int64
}

func newProcesses(most int) processes {
	if most <= 0 {
		most = cli.MaxProcesses()
	}
	return processes{most: int64(max(most, 0))}
}

// take counts one more, put one less.
func (p *processes) take() error {
	if n := p.live.Add(1); p.most > 0 && n > p.most {
		p.live.Add(-1)
		return p.full()
	}
	return nil
}

func (p *processes) put() { p.live.Add(-1) }

// room says whether one more could be taken now.
func (p *processes) room() error {
	if p.most > 0 && p.live.Load() >= p.most {
		return p.full()
	}
	return nil
}

func (p *processes) full() error {
	return Errorf(Limit, "the limit on open files (ulimit -n) leaves room for %d CLIs at once, and they run already; wait until one is idle ([limits] warm_ttl ends it), cancel sessions, or raise the limit and start the server again", p.most)
}
