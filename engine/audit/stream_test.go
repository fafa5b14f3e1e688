package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// seen gathers what a stream has.
func seen(t *testing.T, s *Stream, f Filter) (tools []string) {
	t.Helper()
	var last time.Time
	if err := s.Each(func(e Entry) error {
		if e.Time.Before(last) {
			t.Errorf("%s record %d comes late", e.Boot, e.Seq)
		}
		if last = e.Time; e.Err == nil && f.Match(&e.Record) {
			tools = append(tools, e.Tool)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return tools
}

// Records of several servers come in the order of time, files and servers that
// come later included.
func TestStreamFollows(t *testing.T) {
	root := t.TempDir()
	s := NewStream(root, time.Time{})
	defer s.Close()
	f := Filter{Kinds: []Kind{Decision}}
	if got := seen(t, s, f); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
	var logs []*Log
	var want []string
	for round := range 5 {
		if round < 3 {
			r := newRig(t)
			r.root, r.boot, r.options.SegmentBytes = root, fmt.Sprintf("server-%d", round), 1000
			l := r.open(t)
			defer closeLog(t, l)
			logs = append(logs, l)
		}
		want = want[:0]
		for n := range 9 {
			name := fmt.Sprintf("T%d-%d", round, n)
			record(t, logs[n%len(logs)], decision(name, "x"))
			want = append(want, name)
		}
		if got := seen(t, s, f); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
}

func TestStreamGoesPastWhatIsNoRecord(t *testing.T) {
	x := newTampered(t)
	lines := strings.SplitAfter(x.texts[0], "\n")
	x.write(t, 0, "garbage\n"+strings.Join(lines, "")+"\n"+strings.Repeat("x", 2*maxRecord))
	s := NewStream(x.root, time.Time{})
	defer s.Close()
	good, bad := 0, 0
	if err := s.Each(func(e Entry) error {
		if e.Err != nil {
			bad++
		} else {
			good++
		}
		return nil
	}); err != nil || bad != 3 || good != len(x.records2()) {
		t.Errorf("%d records and %d lines that are none, %v", good, bad, err)
	}
}

// records2 are the lines of the log as it was.
func (x *tampered) records2() []string {
	return strings.Split(strings.TrimSpace(strings.Join(x.texts, "")), "\n")
}

func TestStreamSince(t *testing.T) {
	x := newTampered(t)
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(filepath.Join(x.folder(), x.files[0]), old, old); err != nil {
		t.Fatal(err)
	}
	s := NewStream(x.root, time.Now().Add(-time.Minute))
	defer s.Close()
	first := int64(-1)
	if err := s.Each(func(e Entry) error {
		if first < 0 {
			first = e.Seq
		}
		return nil
	}); err != nil || first != x.seqAt(1, 0) {
		t.Errorf("begins with record %d, %v", first, err)
	}
}

func TestFilter(t *testing.T) {
	r := decision("mcp__crm__get", "x")
	r.Time, r.Boot = time.Unix(100, 0), "b1"
	r.Verdict.Rules = []string{"mcp.default", "git.push"}
	for _, test := range []struct {
		f    Filter
		want bool
	}{
		{Filter{}, true},
		{Filter{Since: time.Unix(100, 0)}, true},
		{Filter{Since: time.Unix(101, 0)}, false},
		{Filter{Until: time.Unix(100, 0)}, false},
		{Filter{Tools: []string{"Bash", "mcp__*"}}, true},
		{Filter{Tools: []string{"mcp"}}, false},
		{Filter{Tools: []string{"[x"}}, false},
		{Filter{Effects: []string{"ask", "deny"}}, true},
		{Filter{Effects: []string{"allow"}}, false},
		{Filter{Kinds: []Kind{Admission}}, false},
		{Filter{Rules: []string{"mcp.*"}}, true},
		{Filter{Rules: []string{"shell.reads"}}, false},
		{Filter{Session: "5e55", Server: "b"}, true},
		{Filter{Session: "1"}, false},
		{Filter{Server: "b2"}, false},
	} {
		if got := test.f.Match(&r); got != test.want {
			t.Errorf("%+v: %t", test.f, got)
		}
	}
	if r.Verdict = nil; (&Filter{Effects: []string{"deny"}}).Match(&r) || (&Filter{Rules: []string{"*"}}).Match(&r) {
		t.Error("a record without a decision has an effect or a rule")
	}
}
