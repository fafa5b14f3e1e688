package cli

import (
	"os"
	"slices"
	"testing"
)

// p makes a process; parent, group and session of terminals follow its id.
func p(pid, parent, group, session int, marks ...string) proc {
	return proc{member: member{pid, "s"}, parent: parent, group: group, session: session, marks: marks}
}

// world is a machine with this process (in session 5, run by 10), the CLI 100 and strangers.
func world(more ...proc) *table {
	return newTable(append([]proc{
		p(1, 0, 1, 1), p(10, 1, 10, 5), p(os.Getpid(), 10, 20, 5),
		p(100, os.Getpid(), 100, 5, "M=1"), p(7000001, os.Getpid(), 20, 5), p(7000002, 1, 7000002, 7000002),
	}, more...))
}

func TestFamily(t *testing.T) {
	cli := family{root: member{100, "s"}, marks: []string{"M=1"}}
	for _, tt := range []struct {
		name   string
		family family
		table  *table
		want   []int
	}{
		{"the process alone", cli, world(), []int{100}},
		{"what it started", cli, world(p(101, 100, 100, 5), p(102, 101, 100, 5)), []int{100, 101, 102}},
		{"a session of its own", cli, world(p(101, 100, 101, 101), p(102, 101, 102, 101)), []int{100, 101, 102}},
		{"an orphan with the mark, and its child", cli, world(p(101, 1, 101, 101, "M=1"), p(102, 101, 102, 101)), []int{100, 101, 102}},
		{"an orphan without", cli, world(p(101, 1, 101, 101)), []int{100}},
		{"an orphan in its group", cli, world(p(101, 1, 100, 5)), []int{100, 101}},
		{"an orphan in a session begun below", cli, world(p(101, 100, 101, 101), p(102, 1, 102, 101)), []int{100, 101, 102}},
		{"an orphan in a session it began itself", family{root: member{7000002, "s"}}, world(p(101, 1, 101, 7000002)), []int{101, 7000002}},
		{"another's mark", cli, world(p(101, 1, 101, 101, "M=2")), []int{100}},
		{"a mark takes no neighbours", cli, world(p(101, 7000002, 101, 7000002, "M=1")), []int{100, 101}},
		{"a reused id", family{root: member{100, "earlier"}}, world(p(101, 100, 100, 5)), nil},
		{"ours when a session's mark is on us", family{marks: []string{"M=3"}}, world(p(101, 10, 101, 5, "M=3")), []int{101}},
		{"only heirs", family{root: member{100, "s"}, heirs: true}, world(p(101, 100, 100, 5)), []int{101}},
		{"heirs of what runs us: not us, not ours", family{root: member{10, "s"}, heirs: true}, world(p(101, 10, 101, 101)), []int{101}},
		{"our own heirs", family{root: member{os.Getpid(), "s"}, heirs: true}, world(p(101, 100, 101, 101)), []int{100, 101, 7000001}},
		{"what runs us is spared", family{root: member{10, "s"}}, world(), nil},
	} {
		var got []int
		for _, p := range tt.family.living(tt.table) {
			got = append(got, p.pid)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// What was seen once is found when the links to it are gone, unless its id is reused.
func TestFamilyRemembers(t *testing.T) {
	f := family{root: member{100, "s"}}
	f.living(world(p(101, 100, 101, 101), p(102, 101, 102, 102)))
	later := newTable([]proc{p(102, 1, 102, 102), p(103, 102, 102, 102), p(104, 1, 104, 102), {member: member{101, "reused"}}})
	var got []int
	for _, p := range f.living(later) {
		got = append(got, p.pid)
	}
	if !slices.Equal(got, []int{102, 103, 104}) { // 104 is in 102's session of terminals
		t.Errorf("found %v", got)
	}
}
