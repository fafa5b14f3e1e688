package policy

import chain "container/list"

// lru keeps the values used last, at most limit of them. It is not safe for
// concurrent use.
type lru[K comparable, V any] struct {
	limit   int
	entries map[K]*chain.Element
	order   chain.List // of *lruEntry, used last first
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](limit int) *lru[K, V] {
	return &lru[K, V]{limit: limit, entries: map[K]*chain.Element{}}
}

func (l *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := l.entries[key]
	if !ok {
		return value, false
	}
	l.order.MoveToFront(e)
	return e.Value.(*lruEntry[K, V]).value, true
}

func (l *lru[K, V]) put(key K, value V) {
	if e, ok := l.entries[key]; ok {
		e.Value = &lruEntry[K, V]{key, value}
		l.order.MoveToFront(e)
		return
	}
	l.entries[key] = l.order.PushFront(&lruEntry[K, V]{key, value})
	if len(l.entries) > l.limit {
		l.remove(l.order.Back().Value.(*lruEntry[K, V]).key)
	}
}

func (l *lru[K, V]) remove(key K) {
	if e, ok := l.entries[key]; ok {
		l.order.Remove(e)
		delete(l.entries, key)
	}
}

// find returns the first value that fits, looking at those used last first.
func (l *lru[K, V]) find(fits func(V) bool) (value V, ok bool) {
	for e := l.order.Front(); e != nil; e = e.Next() {
		if v := e.Value.(*lruEntry[K, V]).value; fits(v) {
			return v, true
		}
	}
	return value, false
}
