package plugins

import (
	"maps"
	"slices"
	"sync"
)

// Bounds of kv beside those of a session and plugin, [MaxKVKeys] and [MaxKVBytes].
const (
	MaxKVKey   = 128      // bytes of a key, at least 1
	MaxKVTotal = 64 << 20 // bytes of all sessions together, what keeping them costs included
	MaxKVOut   = 1024     // scopes of sessions of which no event was told yet, or that ended: the oldest goes
)

// What keeping an entry and a scope costs beside their bytes, about.
const (
	kvEntryCost = 64
	kvScopeCost = 512
)

// kvScope is whose values these are.
type kvScope struct{ session, plugin string }

// kvStore is what plugins keep for sessions while the process lives. Each operation
// is atomic; a value read is never changed. The zero value is empty.
type kvStore struct {
	mu     sync.Mutex
	scopes map[kvScope]*kvValues
	total  int
	live   map[string]struct{} // sessions that are observed
	out    []kvScope           // that were begun for others, the oldest first
}

// began says that a session is observed: what is kept for it stays until its end.
func (s *kvStore) began(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live == nil {
		s.live = make(map[string]struct{})
	}
	s.live[session] = struct{}{}
}

// over says that it is not any more. What is set later, by the redaction of a record
// of its end for one, would have no end of its own.
func (s *kvStore) over(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, session)
}

// begin makes place for the values of a scope; s.mu is held.
func (s *kvStore) begin(scope kvScope, v *kvValues) {
	if s.scopes == nil {
		s.scopes = make(map[kvScope]*kvValues)
	}
	s.scopes[scope] = v
	if _, live := s.live[scope.session]; live {
		return
	}
	if s.out = append(s.out, scope); len(s.out) <= MaxKVOut {
		return
	}
	oldest := s.out[0]
	s.out = s.out[1:]
	if _, live := s.live[oldest.session]; !live {
		s.leave(oldest)
	}
}

type kvValues struct {
	values map[string][]byte
	bytes  int // of keys and values
}

func (v *kvValues) cost() int { return kvScopeCost + v.bytes + kvEntryCost*len(v.values) }

// get returns the value of a key, which must not be changed.
func (s *kvStore) get(scope kvScope, key []byte) (value []byte, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.scopes[scope]
	if v == nil {
		return nil, false
	}
	value, there = v.values[string(key)]
	return value, there
}

// set keeps a copy of a value. It reports false, and changes nothing, where a bound
// does not let it.
func (s *kvStore) set(scope kvScope, key, value []byte) bool {
	if len(key) == 0 || len(key) > MaxKVKey || len(value) > MaxKVBytes {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v, known := s.scopes[scope]
	if !known {
		v = &kvValues{values: make(map[string][]byte)}
	}
	old, replaces := v.values[string(key)]
	more, cost := len(value)-len(old), 0
	if !replaces {
		more, cost = len(key)+len(value), kvEntryCost
	}
	if !known {
		cost += kvScopeCost
	}
	if !replaces && len(v.values) >= MaxKVKeys || v.bytes+more > MaxKVBytes || s.total+more+cost > MaxKVTotal {
		return false
	}
	v.values[string(key)] = slices.Clone(value)
	v.bytes += more
	s.total += more + cost
	if !known {
		s.begin(scope, v)
	}
	return true
}

// delete forgets a key and reports whether it was there.
func (s *kvStore) delete(scope kvScope, key []byte) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.scopes[scope]
	if v == nil {
		return false
	}
	old, there := v.values[string(key)]
	if !there {
		return false
	}
	s.total -= v.cost()
	delete(v.values, string(key))
	if v.bytes -= len(key) + len(old); len(v.values) == 0 {
		delete(s.scopes, scope)
		return true
	}
	s.total += v.cost()
	return true
}

// drop forgets all keys of a scope.
func (s *kvStore) drop(scope kvScope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leave(scope)
}

// leave is drop with s.mu held.
func (s *kvStore) leave(scope kvScope) {
	if v := s.scopes[scope]; v != nil {
		s.total -= v.cost()
		delete(s.scopes, scope)
	}
}

// forget drops the scopes that are meant.
func (s *kvStore) forget(meant func(kvScope) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.scopes, func(scope kvScope, v *kvValues) bool {
		gone := meant(scope)
		if gone {
			s.total -= v.cost()
		}
		return gone
	})
}
