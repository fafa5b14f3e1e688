package policy

import (
	"context"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy/corpus"
)

// corpusSet is profile dev in the workspace of the corpus.
func corpusSet(t testing.TB) (*Set, func(corpus.Row) permission.Request) {
	t.Helper()
	root, home, err := corpus.Workspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := load(t, Options{Home: home})
	return s, func(r corpus.Row) permission.Request {
		q := request(root, r.Tool, string(r.Input))
		q.Session.AllowedTools, q.Session.DisallowedTools = r.Allowed, r.Disallowed
		return q
	}
}

// TestCorpus judges every call of the corpus twice: with no lists, and with
// the bare tool allowed, which must answer no danger.
func TestCorpus(t *testing.T) {
	s, of := corpusSet(t)
	rows, err := corpus.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		d, err := s.Decide(context.Background(), of(row))
		if err != nil || !row.Meets(d.Effect.String()) || strings.HasPrefix(d.Rule, "engine.") && d.Rule != "engine.default" {
			t.Errorf("line %d: %s %q: got %s by %s (%s), want %s", row.Line, row.Tool, what(row), d.Effect, d.Rule, d.Reason, row.Want)
		}
		row.Allowed = []string{row.Tool}
		d, _ = s.Decide(context.Background(), of(row))
		if d.Effect == permission.Allow && !row.Everyday() || row.Want == "deny" && d.Effect != permission.Deny {
			t.Errorf("line %d: %s %q with the bare tool allowed: got %s by %s, want %s", row.Line, row.Tool, what(row), d.Effect, d.Rule, row.Want)
		}
	}
}

// TestCorpusProfiles judges the corpus by the other profiles with the tool
// allowed: they allow nothing that dev does not.
func TestCorpusProfiles(t *testing.T) {
	rows, err := corpus.Rows()
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range []string{"readonly", "ci", "locked", "none"} {
		root, home, err := corpus.Workspace(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		s := load(t, Options{Profile: profile, Home: home})
		for _, row := range rows {
			r := request(root, row.Tool, string(row.Input))
			r.Session.AllowedTools = []string{row.Tool}
			d := decide(t, s, r)
			switch {
			case d.Effect == permission.Allow && (!row.Everyday() || profile == "none"),
				d.Effect == permission.Allow && row.Intent == "work" && profile != "ci",
				d.Effect == permission.Ask && (profile == "ci" || profile == "locked"):
				t.Errorf("profile %s, line %d: %s %q: got %s by %s", profile, row.Line, row.Tool, what(row), d.Effect, d.Rule)
			case profile == "none" && row.Category == "self" && row.Want == "deny" && d.Effect != permission.Deny:
				t.Errorf("profile none, line %d: %s %q: got %s by %s, which touches the gate", row.Line, row.Tool, what(row), d.Effect, d.Rule)
			}
		}
	}
}

func what(r corpus.Row) string {
	if r.Command != "" {
		return r.Command
	}
	return string(r.Input)
}

func TestCorpusLists(t *testing.T) {
	s, of := corpusSet(t)
	rows, err := corpus.Lists()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		if d, err := s.Decide(context.Background(), of(row)); err != nil || !row.Meets(d.Effect.String()) {
			t.Errorf("line %d: %q with %v: got %s by %s (%s), want %s", row.Line, row.Command, row.Allowed, d.Effect, d.Rule, d.Reason, row.Want)
		}
	}
}
