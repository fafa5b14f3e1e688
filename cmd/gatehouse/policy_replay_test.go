package main

import "testing"

func TestChange(t *testing.T) {
	for _, test := range []struct{ was, wasRule, is, isRule, want string }{
		{"allow", "a.b", "allow", "a.b", ""},
		{"allow", "a.b", "allow", "c.d", "rule"},
		{"allow", "a.b", "modify", "a.b", "rule"},
		{"allow", "a.b", "ask", "a.b", "stricter"},
		{"ask", "a.b", "deny", "a.b", "stricter"},
		{"deny", "a.b", "halt", "a.b", "rule"},
		{"ask", "a.b", "allow", "a.b", "looser"},
		{"deny", "a.b", "ask", "a.b", "looser"},
		{"halt", "a.b", "modify", "a.b", "looser"},
		{"deny", "a.b", "unheard", "a.b", "looser"}, // fails closed: nobody knows what it does
	} {
		if got := change(loggedResult{Effect: test.was, Rule: test.wasRule}, test.is, test.isRule); got != test.want {
			t.Errorf("%s:%s to %s:%s: %q, want %q", test.was, test.wasRule, test.is, test.isRule, got, test.want)
		}
	}
}

func TestReplayCode(t *testing.T) {
	for _, test := range []struct {
		r      replayed
		failOn string
		want   int
	}{
		{replayed{}, failOnLooser, policyNo},
		{replayed{}, failOnNone, policyYes},
		{replayed{Decisions: 2, Differ: 1, Stricter: 1}, failOnLooser, policyYes},
		{replayed{Decisions: 2, Differ: 1, Stricter: 1}, failOnAny, policyNo},
		{replayed{Decisions: 2, Differ: 1, Looser: 1}, failOnLooser, policyNo},
		{replayed{Decisions: 2, Differ: 1, Looser: 1}, failOnNone, policyYes},
		{replayed{Decisions: 2, Unreadable: 5, Unjudged: 1}, failOnLooser, policyYes},
		{replayed{Unreadable: 1}, failOnLooser, policyNo},
		{replayed{Unjudged: 1}, failOnAny, policyNo},
	} {
		if got := test.r.code(test.failOn); got != test.want {
			t.Errorf("%+v, --fail-on %s: %d, want %d", test.r, test.failOn, got, test.want)
		}
	}
}
