package journal

import "sync"

// places are the marks of sessions that this journal does not write. It is safe
// for concurrent use; the zero value knows none.
type places struct {
	mu    sync.Mutex
	known map[string]*marks
}

// maxPlaces bounds the sessions whose marks are remembered.
const maxPlaces = 256

func (p *places) of(id string) *marks {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m := p.known[id]; m != nil {
		return m
	}
	if p.known == nil {
		p.known = make(map[string]*marks)
	}
	for other := range p.known { // any will do
		if len(p.known) < maxPlaces {
			break
		}
		delete(p.known, other)
	}
	m := new(marks)
	p.known[id] = m
	return m
}

func (p *places) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, id)
}
