package pdk

import (
	"math"
	"strconv"
)

const (
	opGet int32 = iota
	opSet
	opDelete
)

// KVGet returns what was kept for this session and plugin under a key. All
// functions of kv panic, which fails the call, where the plugin has no kv = true
// or the hook is of no session: a rule that counts must not take that for zero.
func KVGet(key string) (value string, ok bool) {
	b, ok := fill(func(dst []byte) int32 { return allowed(hostKV(opGet, key, dst)) })
	return string(b), ok
}

// KVSet keeps a value. A session has 64 keys and 64 KiB for a plugin; false says
// that this one would be over that, and nothing has changed.
func KVSet(key, value string) bool {
	return allowed(hostKV(opSet, key, []byte(value))) >= 0
}

// KVDelete forgets a key.
func KVDelete(key string) { allowed(hostKV(opDelete, key, nil)) }

// KVInt returns a number that was kept, 0 where there is none.
func KVInt(key string) int64 {
	value, _ := KVGet(key)
	n, _ := strconv.ParseInt(value, 10, 64)
	return n
}

// KVAdd adds to a number that is kept and returns the sum. It panics where that
// cannot be kept.
func KVAdd(key string, n int64) int64 {
	if before := KVInt(key); n > 0 && before > math.MaxInt64-n {
		n = math.MaxInt64 // a sum that begins anew below zero would hide what was added
	} else if n < 0 && before < math.MinInt64-n {
		n = math.MinInt64
	} else {
		n += before
	}
	if !KVSet(key, itoa(n)) {
		panic("kv is full")
	}
	return n
}

func allowed(code int32) int32 {
	if code == codeNotAllowed {
		panic("kv is not enabled for this plugin, or the call is of no session")
	}
	return code
}
