package plugins

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// set is the plugins that are in force at one time. A plugin lives as long as one of
// the sets it is in; a set lives while it is the current one or somebody calls its
// plugins. Its numbers are guarded by Host.mu.
type set struct {
	plugins  []*plugin // in the order they are called in
	at       map[Hook][]*plugin
	revision string

	users   int
	retired bool // no longer the current one, or the host is closed
	gone    bool // and nobody uses it any more
}

func newSet(plugins []*plugin) *set {
	slices.SortFunc(plugins, func(a, b *plugin) int {
		return cmp.Or(cmp.Compare(a.config.Order, b.config.Order), strings.Compare(a.config.Name, b.config.Name))
	})
	s := &set{plugins: plugins, at: make(map[Hook][]*plugin)}
	for _, p := range plugins {
		for _, hook := range p.hooks {
			s.at[hook] = append(s.at[hook], p)
		}
	}
	s.revision = revision(plugins)
	return s
}

// revision is a digest of what the plugins are and how they are set, in order.
func revision(plugins []*plugin) string {
	if len(plugins) == 0 {
		return ""
	}
	h := sha256.New()
	for _, p := range plugins {
		h.Write(p.identity())
	}
	return hex.EncodeToString(h.Sum(nil))
}

// identity tells a plugin from one that is different in any way that matters.
func (p *plugin) identity() []byte {
	c := p.config
	c.SHA256 = p.sha256 // pinned or not
	raw, err := json.Marshal(struct {
		Config
		Hooks []Hook
		Pin   bool
	}{c, p.hooks, p.config.SHA256 != ""})
	if err != nil {
		panic(err) // a checked Config always can be written
	}
	return raw
}

// enter makes a set the current one. The old one's calls go on.
func (h *Host) enter(s *set) {
	h.mu.Lock()
	old := h.current
	for _, p := range s.plugins {
		p.users++
		h.live[p] = true
	}
	h.current = s
	h.left.Add(1)
	h.mu.Unlock()
	if old != nil {
		h.retire(old)
	}
}

// retire says that a set is no longer the current one.
func (h *Host) retire(s *set) {
	h.mu.Lock()
	s.retired = true
	s.users++
	h.mu.Unlock()
	h.release(s)
}

// release ends one use of a set. After the last one its plugins are closed, unless
// they are in another.
func (h *Host) release(s *set) {
	h.mu.Lock()
	s.users--
	last := s.retired && s.users == 0
	s.gone = last
	var unused []*plugin
	if last {
		for _, p := range s.plugins {
			if p.users--; p.users == 0 {
				unused = append(unused, p)
				delete(h.live, p)
			}
		}
	}
	h.mu.Unlock()
	for _, p := range unused {
		p.close()
	}
	if last {
		h.left.Done()
	}
}

// close frees what a plugin has. Nobody calls it any more.
func (p *plugin) close() {
	p.spare.close()
	p.code.close()
}

// Close waits for calls to end, or for ctx, and then ends them, and frees everything.
// Calls made after it fail. A Reload under way ends with the module it compiles.
func (h *Host) Close(ctx context.Context) error {
	if !h.closes() {
		<-h.freed
		return nil
	}
	h.loading.Lock()
	defer h.loading.Unlock()
	defer close(h.freed)
	h.mu.Lock()
	s := h.current
	h.mu.Unlock()
	h.retire(s)
	drained := make(chan struct{})
	go func() { // ends when the last call has, which the cancelling below makes soon
		h.left.Wait()
		close(drained)
	}()
	h.events.close()
	select {
	case <-drained:
	case <-ctx.Done():
		h.end()
		<-drained
	}
	return nil
}

// closes has no call and no Reload begin any more. It reports false the second time.
func (h *Host) closes() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.closed = true
	if h.stopLoading != nil {
		h.stopLoading()
	}
	return true
}

// end ends all calls: those that run, also in plugins that are no longer in force,
// and those that wait for a slot.
func (h *Host) end() {
	close(h.ended)
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.live {
		p.cancel()
	}
}
