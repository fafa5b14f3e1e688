package plugins

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

func TestKVBounds(t *testing.T) {
	a, b := kvScope{"s1", "p"}, kvScope{"s2", "p"}
	var s kvStore
	set := func(scope kvScope, key, value string) bool { return s.set(scope, []byte(key), []byte(value)) }
	for _, c := range []struct {
		name       string
		key, value string
		want       bool
	}{
		{"a value", "k", "v", true},
		{"an empty value", "e", "", true},
		{"no key", "", "v", false},
		{"the longest key", strings.Repeat("k", MaxKVKey), "v", true},
		{"a longer one", strings.Repeat("k", MaxKVKey+1), "v", false},
		{"too many bytes", "big", strings.Repeat("v", MaxKVBytes-100), false},
		{"in place of others", "k", strings.Repeat("v", MaxKVBytes-200), true},
		{"then no more", "more", strings.Repeat("v", 200), false},
		{"a smaller one for it", "k", "v", true},
	} {
		if got := set(a, c.key, c.value); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if v, there := s.get(b, []byte("k")); there {
		t.Errorf("another session sees %q", v)
	}
	if v, there := s.get(a, []byte("e")); !there || len(v) != 0 {
		t.Errorf("an empty value: %q, %v", v, there)
	}
	for i := range MaxKVKeys {
		set(b, fmt.Sprint(i), "v")
	}
	if set(b, "one more", "v") || !set(b, "3", "changed") {
		t.Error("the bound of keys")
	}
	if !s.delete(b, []byte("3")) || s.delete(b, []byte("3")) || !set(b, "one more", "v") {
		t.Error("a deleted key has to make room, once")
	}
}

func TestKVTotal(t *testing.T) {
	var s kvStore
	value, n := make([]byte, MaxKVBytes-1), 0
	for ; n < 2*MaxKVTotal/MaxKVBytes; n++ {
		if !s.set(kvScope{fmt.Sprint(n), "p"}, []byte("k"), value) {
			break
		}
	}
	if most := MaxKVTotal / MaxKVBytes; n < most*9/10 || n > most {
		t.Errorf("%d full sessions fit, want about %d", n, most)
	}
	s.drop(kvScope{"3", "p"})
	if !s.set(kvScope{"new", "p"}, []byte("k"), value) {
		t.Error("a session that ended makes no room")
	}
	for i := range n + 1 {
		scope := kvScope{fmt.Sprint(i), "p"}
		if i%2 == 0 {
			s.delete(scope, []byte("k"))
		}
	}
	s.forget(func(kvScope) bool { return true })
	if s.total != 0 || len(s.scopes) != 0 {
		t.Errorf("%d bytes of %d scopes are counted for nothing", s.total, len(s.scopes))
	}
}

func TestKVAtOnce(t *testing.T) {
	var s kvStore
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			scope, key := kvScope{"s", "p"}, []byte(fmt.Sprint(i%10))
			for n := range 100 {
				s.set(scope, key, []byte(strings.Repeat(string(key), n)))
				if v, there := s.get(scope, key); there && strings.Trim(string(v), string(key)) != "" {
					t.Errorf("key %s holds %q", key, v)
				}
				if n%7 == 0 {
					s.delete(scope, key)
				}
			}
		})
	}
	all.Wait()
	s.drop(kvScope{"s", "p"})
	if s.total != 0 {
		t.Errorf("%d bytes are counted for nothing", s.total)
	}
}

// TestKVOfNoLiveSession: what is set for sessions that nobody observes is bounded, and
// never at the cost of one that is.
func TestKVOfNoLiveSession(t *testing.T) {
	var s kvStore
	key := []byte("k")
	s.set(kvScope{"starting", "a"}, key, []byte("x"))
	s.began("starting")
	s.began("live")
	s.set(kvScope{"live", "a"}, key, []byte("x"))
	for i := range 3 * MaxKVOut {
		if !s.set(kvScope{fmt.Sprint("refused", i), "a"}, key, []byte("x")) {
			t.Fatal(i)
		}
	}
	if n := len(s.scopes); n > MaxKVOut+2 || len(s.out) > MaxKVOut {
		t.Errorf("%d scopes, %d of them out", n, len(s.out))
	}
	for _, session := range []string{"starting", "live", fmt.Sprint("refused", 3*MaxKVOut-1)} {
		if _, there := s.get(kvScope{session, "a"}, key); !there {
			t.Errorf("%s: nothing is kept", session)
		}
	}
	s.over("live")
	s.drop(kvScope{"live", "a"})
	for scope := range s.scopes {
		s.drop(scope)
	}
	if s.total != 0 || len(s.live) != 1 {
		t.Errorf("%d bytes, live %v", s.total, s.live)
	}
}
