package policy

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// maxKeptRules bounds the room that a cache keeps for the next evaluation.
const maxKeptRules = 1024

// ruleCache is what an evaluation knows of rules already: their values by
// reference, functions with their arguments. The engine's own makes two objects
// of every reference, which was a seventh of what a decision allocates.
//
// Values that are written out are known from the beginning.
type ruleCache struct {
	query  *query
	frames []cacheFrame // of "with", the last one counts
	first  cacheFrame
}

// cacheFrame holds references in the order they came, and where each hash begins.
type cacheFrame struct {
	known []cachedRule
	at    map[int]int // from the hash of a reference to the last entry of it, plus 1
	terms []*ast.Term // the references, end to end
}

type cachedRule struct {
	hash, from, to int // of the reference, which is terms[from:to]
	before         int // entry of the same hash, plus 1
	value          *ast.Term
	undefined      bool
}

// fewRules are looked through without an index.
const fewRules = 12

func (c *ruleCache) begin(q *query) { c.query = q }

func (c *ruleCache) end() {
	c.query = nil
	clear(c.frames)
	c.frames = c.frames[:0]
	c.first.forget()
}

func (f *cacheFrame) forget() {
	if cap(f.known) > maxKeptRules || cap(f.terms) > 8*maxKeptRules {
		*f = cacheFrame{}
		return
	}
	clear(f.known)
	clear(f.terms)
	clear(f.at)
	f.known, f.terms = f.known[:0], f.terms[:0]
}

func (c *ruleCache) frame() *cacheFrame {
	if n := len(c.frames); n > 0 {
		return &c.frames[n-1]
	}
	return &c.first
}

// Push begins a frame that knows nothing.
func (c *ruleCache) Push() { c.frames = append(c.frames, cacheFrame{}) }

// Pop forgets the last frame.
func (c *ruleCache) Pop() {
	last := len(c.frames) - 1
	c.frames[last] = cacheFrame{}
	c.frames = c.frames[:last]
}

// Get returns a known value; true says that there is known to be none.
func (c *ruleCache) Get(ref ast.Ref) (*ast.Term, bool) {
	if len(c.frames) == 0 {
		if v := c.query.fixedValue(ref); v != nil {
			return v, false
		}
	}
	f := c.frame()
	if i := f.find(ref, hashOf(ref)); i > 0 {
		r := &f.known[i-1]
		if r.undefined {
			return nil, true
		}
		return r.value, false
	}
	return nil, false
}

// Put notes a value; nil says that there is none.
func (c *ruleCache) Put(ref ast.Ref, value *ast.Term) {
	f, hash := c.frame(), hashOf(ref)
	i := f.find(ref, hash)
	if i == 0 {
		i = f.add(ref, hash)
	}
	if r := &f.known[i-1]; value != nil {
		r.value = value
	} else {
		r.undefined = true
	}
}

// Keys lists what has a value.
func (c *ruleCache) Keys() (all []ast.Ref) {
	f := c.frame()
	for _, r := range f.known {
		if r.value != nil {
			all = append(all, append(ast.Ref(nil), f.terms[r.from:r.to]...))
		}
	}
	return all
}

func (f *cacheFrame) find(ref ast.Ref, hash int) int {
	i := len(f.known)
	if i > fewRules {
		i = f.at[hash]
	}
	for i > 0 {
		r := &f.known[i-1]
		if r.hash == hash && sameTerms(f.terms[r.from:r.to], ref) {
			return i
		}
		if i--; len(f.known) > fewRules {
			i = r.before
		}
	}
	return 0
}

func (f *cacheFrame) add(ref ast.Ref, hash int) int {
	from := len(f.terms)
	f.terms = append(f.terms, ref...)
	f.known = append(f.known, cachedRule{hash: hash, from: from, to: len(f.terms)})
	switch n := len(f.known); {
	case n == fewRules+1: // the index begins
		if f.at == nil {
			f.at = make(map[int]int, 4*fewRules)
		}
		for i := range f.known {
			f.index(i)
		}
	case n > fewRules:
		f.index(n - 1)
	}
	return len(f.known)
}

func (f *cacheFrame) index(i int) {
	r := &f.known[i]
	r.before = f.at[r.hash]
	f.at[r.hash] = i + 1
}

// hashOf joins the hashes of a reference's terms. The first ones name the package
// and say little, so they are left out where more follow.
func hashOf(ref ast.Ref) int {
	h := len(ref)
	for _, t := range ref[max(0, min(3, len(ref)-1)):] {
		h = h*31 + t.Hash()
	}
	return h
}

func sameTerms(a, b []*ast.Term) bool {
	if len(a) != len(b) {
		return false
	}
	for i := len(a) - 1; i >= 0; i-- { // they differ at the end, if anywhere
		if a[i] != b[i] && !a[i].Equal(b[i]) {
			return false
		}
	}
	return true
}
