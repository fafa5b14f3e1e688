package cli

import "slices"

// family is what a sweep is to end: a process, what it started, and what bears
// one of its marks.
type family struct {
	root  member   // zero: none
	heirs bool     // only what root started, not root
	marks []string // "NAME=value"; see the marks of proc

	seen  bool            // root was seen alive
	home  int             // the session of terminals it was started in; others below it are its own
	known map[member]bool // seen before; true: tied to root by more than a mark

	groups []int // those of the living at the last look that showed any
}

// living returns who of the family lives, and remembers them: once a parent dies,
// its children are found only by what was seen before.
func (f *family) living(t *table) []*proc {
	s := search{table: t, found: make(map[int]bool)}
	root := t.at(f.root)
	if root != nil {
		f.seen, f.home = true, root.session
		if f.home == root.pid {
			f.home = 0 // begun by root: all in it are its own
		}
	}
	if f.seen {
		s.strange = []int{0, f.home}
		if t.own != nil {
			s.strange = append(s.strange, t.own.session)
		}
	}
	switch {
	case root == nil:
	case f.heirs:
		s.takeAll(t.children[root.pid], true)
	default:
		s.take(root, true)
	}
	for m, tied := range f.known {
		if p := t.at(m); p != nil {
			s.take(p, tied)
		}
	}
	for _, mark := range f.marks {
		s.takeAll(t.marked[mark], false)
	}
	return f.remember(s)
}

func (f *family) remember(s search) []*proc {
	if f.known == nil {
		f.known = make(map[member]bool)
	}
	list := make([]*proc, 0, len(s.found))
	for pid, tied := range s.found {
		p := s.table.byPID[pid]
		if f.heirs && p.member == f.root {
			continue
		}
		list = append(list, p)
		f.known[p.member] = f.known[p.member] || tied
	}
	if len(list) > 0 {
		f.groups = f.groups[:0]
	}
	for _, p := range list {
		if !slices.Contains(f.groups, p.group) {
			f.groups = append(f.groups, p.group)
		}
	}
	slices.SortFunc(list, func(a, b *proc) int { return a.pid - b.pid })
	return list
}

// search is one walk over a table.
type search struct {
	table   *table
	found   map[int]bool // by pid; the value as in family.known
	strange []int        // sessions of terminals that others live in, too; nil: none is known to be ours
}

func (s *search) takeAll(list []*proc, tied bool) {
	for _, p := range list {
		s.take(p, tied)
	}
}

// take adds a process and what belongs to it. By links to the root that is its
// group where it leads one, and everything in a session of terminals that was
// begun below the root: nobody can enter one, only be born in it. A mark alone
// proves less: it takes the process and what it started.
func (s *search) take(p *proc, tied bool) {
	if before, seen := s.found[p.pid]; seen && (before || !tied) || s.table.spared[p.pid] {
		return
	}
	s.found[p.pid] = tied
	s.takeAll(s.table.children[p.pid], tied)
	if !tied {
		return
	}
	if p.group == p.pid {
		s.takeAll(s.table.groups[p.group], tied)
	}
	if s.strange != nil && !slices.Contains(s.strange, p.session) {
		s.takeAll(s.table.sessions[p.session], tied)
	}
}
