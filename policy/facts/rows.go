package facts

import (
	"path"
	"slices"
	"strings"
)

// protection is one row of the tables of protected places. Its pattern is
// matched against every run of path segments, letters folded, so a row holds
// at any depth; one that begins with "/" holds from the root only, one that
// ends in "/" covers everything below.
type protection struct {
	name    string   // protected_by
	pattern string   // slash-separated globs
	except  []string // last segments that are not meant
	rules   []string // the same in the CLI's rule syntax; nil = made from pattern

	kind     kind
	want     []string // pattern, folded and split
	below    bool     // pattern ended in "/"
	anchored bool     // pattern began with "/"
}

type kind uint8

const (
	kindSecret kind = iota
	kindGuard
	kindDoubt
	kindDoubtWrite
	kinds
)

// index finds the rows that may hold by the names of a path's segments, so
// that a path costs a few look-ups and not a walk over all rows.
type index struct {
	rows     []protection
	byName   map[string][]int // the pattern's last segment, when it is a plain name
	byEnd    map[string][]int // the extension that ends it, when it begins with a star
	byLetter [256][]int       // the letter that begins it, of other patterns
	anchored map[string][]int // the first segment of rows that hold from the root
}

// rows are all tables in one index; the first row that holds names its kind.
var rows = newIndex(secrets, guards, doubtful, doubtfulWrites)

func newIndex(tables ...[]protection) *index {
	x := &index{byName: map[string][]int{}, byEnd: map[string][]int{}, anchored: map[string][]int{}}
	for k, table := range tables {
		for _, row := range table {
			row.kind = kind(k)
			row.below, row.anchored = strings.HasSuffix(row.pattern, "/"), strings.HasPrefix(row.pattern, "/")
			row.want = strings.Split(fold(strings.Trim(row.pattern, "/")), "/")
			x.rows = append(x.rows, row)
			x.file(len(x.rows) - 1)
		}
	}
	return x
}

// file puts a row where [index.lookup] will find it.
func (x *index) file(at int) {
	row := &x.rows[at]
	last := row.want[len(row.want)-1]
	switch {
	case row.anchored:
		x.anchored[row.want[0]] = append(x.anchored[row.want[0]], at)
	case !magic(last):
		x.byName[last] = append(x.byName[last], at)
	case row.below:
		panic("protected places: " + row.pattern + ": only a row from the root may end in a pattern and cover what is below")
	case strings.HasPrefix(last, "*"):
		x.byEnd[path.Ext(last)] = append(x.byEnd[path.Ext(last)], at)
	default:
		x.byLetter[last[0]] = append(x.byLetter[last[0]], at)
	}
}

// lookup judges folded segments.
func (x *index) lookup(segs []string) verdict {
	best := [kinds]int{-1, -1, -1, -1}
	for end := range segs {
		for _, at := range x.byName[segs[end]] {
			x.try(&best, at, segs, end)
		}
	}
	if end := len(segs) - 1; end >= 0 && segs[end] != "" {
		for _, at := range x.byLetter[segs[end][0]] {
			x.try(&best, at, segs, end)
		}
		for _, at := range x.byEnd[path.Ext(segs[end])] {
			x.try(&best, at, segs, end)
		}
		for _, at := range x.anchored[segs[0]] {
			x.try(&best, at, segs, len(x.rows[at].want)-1)
		}
	}
	name := func(k kind) string {
		if best[k] < 0 {
			return ""
		}
		return x.rows[best[k]].name
	}
	return verdict{secret: name(kindSecret), guard: name(kindGuard), doubt: name(kindDoubt), doubtWrite: name(kindDoubtWrite)}
}

// try takes a row that holds when its last segment is segs[end], and comes
// before the best of its kind.
func (x *index) try(best *[kinds]int, at int, segs []string, end int) {
	row := &x.rows[at]
	first := end + 1 - len(row.want)
	switch {
	case best[row.kind] >= 0 && best[row.kind] <= at,
		first < 0 || end >= len(segs),
		!row.below && end != len(segs)-1:
		return
	}
	for i := len(row.want) - 1; i >= 0; i-- {
		if !meets(row.want[i], segs[first+i]) {
			return
		}
	}
	if !slices.Contains(row.except, segs[len(segs)-1]) {
		best[row.kind] = at
	}
}

// meets matches one segment of a row.
func meets(want, seg string) bool {
	star := strings.IndexAny(want, "*?[")
	switch {
	case star < 0:
		return want == seg
	case !strings.HasPrefix(seg, want[:star]):
		return false
	}
	ok, err := path.Match(want, seg)
	return err == nil && ok
}

// match names the first row of a table that holds, or "".
func match(k kind, segs []string) string {
	v := rows.lookup(segs)
	return [...]string{v.secret, v.guard, v.doubt, v.doubtWrite}[k]
}
