package engine

import (
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
)

// notices lists the messages of a session's notices of one type.
func notices(s *Session, kind string) (all []string) {
	for _, e := range s.Events(nil, 0).Events {
		if text := string(e.Data); strings.Contains(text, `"type":"`+kind+`"`) {
			all = append(all, text)
		}
	}
	return all
}

func TestAnnouncements(t *testing.T) {
	e, err := New(Options{Roots: []string{t.TempDir()}, Admission: []admission.Decider{grants{}}})
	if err != nil {
		t.Fatal(err)
	}
	join := func() *Session {
		t.Helper()
		s := e.newSession(StartParams{}, "")
		s.state, s.cwd = Idle, e.o.Roots[0]
		if err := e.join(s); err != nil {
			t.Fatal(err)
		}
		return s
	}
	early, ended := join(), join()
	ended.cancel("test", "test")
	<-ended.Done()
	more := map[string]any{"file": "x.rego"}
	e.Announce(Announcement{Type: "policy", Message: "broken", Standing: true, More: more})
	more["file"] = "changed afterwards"
	e.Announce(Announcement{Type: "other", Message: "passing"})
	late := join()
	e.Announce(Announcement{Type: "policy", Message: "repaired"})
	last := join()
	for _, c := range []struct {
		name  string
		s     *Session
		kind  string
		parts []string
	}{
		{"a session that was there", early, "policy", []string{`"file":"x.rego","message":"broken"`, "repaired"}},
		{"the same, another type", early, "other", []string{"passing"}},
		{"a session that had ended", ended, "policy", nil},
		{"one that came while it stood", late, "policy", []string{`"file":"x.rego","message":"broken"`, "repaired"}},
		{"what does not stand", late, "other", nil},
		{"one that came after it was over", last, "policy", nil},
	} {
		got := notices(c.s, c.kind)
		if len(got) != len(c.parts) {
			t.Errorf("%s: notices %q, want %q", c.name, got, c.parts)
			continue
		}
		for i, part := range c.parts {
			if !strings.Contains(got[i], part) {
				t.Errorf("%s: notice %s, want %s", c.name, got[i], part)
			}
		}
	}
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
