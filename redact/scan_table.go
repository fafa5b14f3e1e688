package redact

import (
	"math/bits"
	"slices"
	"sync"
)

// table is a filter over texts. For each of its literals it knows two pairs of
// bytes of it, one at an even and one at an odd distance from its first byte, so
// that looking at every second pair of a text misses none. 8 KiB of bits say
// which pairs those are: they stay in the first-level cache, where a table of
// three bytes or an automaton over all literals would not.
type table struct {
	bits    [1024]uint64
	rank    [1024]uint16 // of the first bit of each word among all that are set
	pairs   []pair
	entries []entry
	reach   int // the largest distance of a pair from the first byte of its literal
}

// pair is what is known of the k-th pair of the table.
type pair struct {
	before, behind uint64 // sorts of bytes that may stand around it
	first, last    uint16 // entries[first:last] may begin near it
}

// entry says that a literal may begin distance bytes before a pair. The first
// 8 bytes there, with the bits of fold set, are value in the bits of mask.
type entry struct {
	value, mask, fold uint64
	literal           uint16
	distance          uint8
}

// literal is what a table looks for: 3 bytes or more.
type literal struct {
	text string
	fold bool // case does not matter; text is in lower case
}

// maxDistance bounds how far into a literal its pairs are looked for.
const maxDistance = 48

func newTable(literals []literal) *table {
	t := &table{}
	all := make([]entry, 0, 2*len(literals))
	order := make([]uint64, 0, 2*len(literals)) // pair, distance, index of all
	for n := range literals {
		l := &literals[n]
		for parity := range 2 {
			at := rarest(l.text, parity)
			t.reach = max(t.reach, at)
			pairs, spelt := l.spellings(at)
			for _, p := range pairs[:spelt] {
				order = append(order, uint64(p)<<48|uint64(at)<<32|uint64(len(all)))
				all = append(all, l.entry(n, at))
				t.bits[p>>6] |= 1 << (p & 63)
			}
		}
	}
	slices.Sort(order)
	t.entries = make([]entry, len(all))
	t.pairs = make([]pair, 0, len(all))
	for i, o := range order {
		e := all[uint32(o)]
		t.entries[i] = e
		if i == 0 || order[i-1]>>48 != o>>48 {
			t.pairs = append(t.pairs, pair{first: uint16(i)})
		}
		last := &t.pairs[len(t.pairs)-1]
		before, behind := literals[e.literal].around(int(e.distance))
		last.before, last.behind, last.last = last.before|before, last.behind|behind, uint16(i+1)
	}
	n := 0
	for w := range t.bits {
		t.rank[w] = uint16(n)
		n += bits.OnesCount64(t.bits[w])
	}
	return t
}

func (l *literal) entry(n, distance int) entry {
	e := entry{literal: uint16(n), distance: uint8(distance)}
	if l.fold {
		e.fold = ones * 0x20
	}
	for i := range min(8, len(l.text)) {
		e.mask |= 0xff << (8 * i)
		e.value |= uint64(l.text[i]) << (8 * i)
	}
	e.value |= e.fold & e.mask
	return e
}

// around are the sorts of bytes that stand around the pair at a distance.
func (l *literal) around(at int) (before, behind uint64) {
	before, behind = ^uint64(0), ^uint64(0)
	if at > 0 {
		before = l.sorts(at - 1)
	}
	if at+2 < len(l.text) {
		behind = l.sorts(at + 2)
	}
	return before, behind
}

func (l *literal) sorts(i int) uint64 {
	set := uint64(1) << sortOf[l.text[i]]
	if l.fold {
		set |= 1 << sortOf[upper(l.text[i])]
	}
	return set
}

// sortOf sorts bytes so that those that are frequent in texts are apart.
var sortOf = func() (t [256]uint8) {
	for i := range uint8(26) {
		t['a'+i], t['A'+i] = i, 26+i
	}
	for i := range uint8(10) {
		t['0'+i] = 52 + i/4
	}
	for i, b := range []byte("-_.:/") {
		t[b] = 55 + uint8(i)
	}
	for b := range t {
		if t[b] == 0 && b != 'a' {
			t[b] = 60 + uint8(b)&3
		}
	}
	return t
}()

// rarest is the distance, even or odd as parity says, of the pair that ordinary
// text holds least often.
func rarest(text string, parity int) int {
	best := parity
	for i := parity; i+1 < len(text) && i <= maxDistance; i += 2 {
		if commonness(text[i], text[i+1]) < commonness(text[best], text[best+1]) {
			best = i
		}
	}
	return best
}

// spellings are the n pairs at a distance, in every case where case does not
// matter.
func (l literal) spellings(at int) (pairs [4]uint16, n int) {
	a, b := l.text[at], l.text[at+1]
	pairs[0] = uint16(a) | uint16(b)<<8
	n = 1
	if !l.fold {
		return pairs, n
	}
	for _, p := range [3][2]byte{{upper(a), b}, {a, upper(b)}, {upper(a), upper(b)}} {
		if p := uint16(p[0]) | uint16(p[1])<<8; !slices.Contains(pairs[:n], p) {
			pairs[n] = p
			n++
		}
	}
	return pairs, n
}

func upper(b byte) byte {
	if 'a' <= b && b <= 'z' {
		return b - 'a' + 'A'
	}
	return b
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b - 'A' + 'a'
	}
	return b
}

// load reads 8 bytes.
func load(s string, i int) uint64 {
	b := s[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// next returns the first of the places j, j+2, … near which a literal may begin,
// and what may; -1 for none. Entries at the same distance follow each other.
func (t *table) next(s string, j int) (int, []entry) {
	for ; j+8 <= len(s); j += 8 {
		w := load(s, j)
		p0, p1, p2, p3 := uint16(w), uint16(w>>16), uint16(w>>32), uint16(w>>48)
		h0 := t.bits[p0>>6] >> (p0 & 63)
		h1 := t.bits[p1>>6] >> (p1 & 63)
		h2 := t.bits[p2>>6] >> (p2 & 63)
		h3 := t.bits[p3>>6] >> (p3 & 63)
		if (h0|h1|h2|h3)&1 == 0 {
			continue
		}
		for hits := h0&1 | h1&1<<2 | h2&1<<4 | h3&1<<6; hits != 0; hits &= hits - 1 {
			i := j + bits.TrailingZeros64(hits)
			if p := t.pair(s, i); p.fits(s, i) {
				return i, t.entries[p.first:p.last]
			}
		}
	}
	for ; j+2 <= len(s); j += 2 {
		if two := uint16(s[j]) | uint16(s[j+1])<<8; t.bits[two>>6]>>(two&63)&1 != 0 {
			if p := t.pair(s, j); p.fits(s, j) {
				return j, t.entries[p.first:p.last]
			}
		}
	}
	return -1, nil
}

// pair is what is known of the pair at s[j:], which is in the table.
func (t *table) pair(s string, j int) *pair {
	p := uint16(s[j]) | uint16(s[j+1])<<8
	return &t.pairs[int(t.rank[p>>6])+bits.OnesCount64(t.bits[p>>6]&(1<<(p&63)-1))]
}

// fits reports whether the bytes around the pair at s[j:] are as in one of its
// literals.
func (p *pair) fits(s string, j int) bool {
	if j > 0 && p.before>>(sortOf[s[j-1]]&63)&1 == 0 {
		return false
	}
	return j+2 >= len(s) || p.behind>>(sortOf[s[j+2]]&63)&1 != 0
}

// window is 8 bytes of a text, where there are so many.
type window struct {
	bytes uint64
	whole bool
}

func windowAt(s string, start int) window {
	if start < 0 || start+8 > len(s) {
		return window{}
	}
	return window{load(s, start), true}
}

// differs reports whether a window shows that the literal of an entry does not
// stand there.
func (e *entry) differs(w window) bool { return w.whole && (w.bytes|e.fold)&e.mask != e.value }

// matches reports whether the literal stands at s[start:].
func (l *literal) matches(s string, start int) bool {
	if start < 0 || len(s)-start < len(l.text) {
		return false
	}
	part := s[start : start+len(l.text)]
	return part == l.text || l.fold && equalFold(part, l.text)
}

// equalFold compares with a text in lower case; only the case of a to z does
// not matter.
func equalFold(s, lowered string) bool {
	for i := range len(s) {
		if lower(s[i]) != lowered[i] {
			return false
		}
	}
	return true
}

// often says how often a byte occurs in source code, logs and prose, in parts
// per thousand; what is not listed is rare.
var often = func() (t [256]uint16) {
	for i := range t {
		t[i] = 2
	}
	for b, n := range map[byte]uint16{
		' ': 140, 'e': 80, 't': 60, 'a': 52, 'n': 50, 'o': 50, 'i': 50, 'r': 50, 's': 50, 'l': 35, 'd': 32, 'c': 30, 'u': 25,
		'm': 22, 'p': 25, 'h': 25, 'f': 20, 'g': 18, 'b': 12, 'y': 12, 'w': 12, 'v': 9, 'k': 8, 'x': 5, '"': 20, '.': 15,
		',': 12, '/': 14, '-': 12, '_': 10, ':': 10, '=': 8, '(': 8, ')': 8, '0': 14, '1': 12, '2': 9, '3': 7, '4': 6, '5': 6,
		'6': 6, '7': 6, '8': 6, '9': 6, '\n': 25, '\t': 25,
	} {
		t[b] = n
	}
	return t
}()

// commonPairs stand in words more often than their letters tell.
const commonPairs = "th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic " +
	"ne ea ra ce li ch ll be ma si om ur ca el pe ac ut ro lo po su rf un no ol ad ke ey ok sk gh up pa am ct pr ss et fo wh ty id ir ex " +
	"la bo bs ab pl ie ge pu tp ld ck ay ul xp xt .c t. s. e. r. n. d. e_ s_ r_ t_ n_ d_ e- r- s- t- n- d- 20 01 02 00 10"

// commonness estimates how often ordinary text holds a pair. Signs stand doubled
// in rules and comments more often than by chance.
func commonness(a, b byte) int {
	n := int(often[a]) * int(often[b])
	if a == b && !alnum[a] {
		n *= 20
	}
	if p := uint16(a) | uint16(b)<<8; frequent()[p>>6]>>(p&63)&1 != 0 {
		n *= 4
	}
	return n
}

// frequent has the bits of commonPairs.
var frequent = sync.OnceValue(func() *[1024]uint64 {
	t := &[1024]uint64{}
	for i := 0; i+1 < len(commonPairs); i += 3 {
		p := uint16(commonPairs[i]) | uint16(commonPairs[i+1])<<8
		t[p>>6] |= 1 << (p & 63)
	}
	return t
})
