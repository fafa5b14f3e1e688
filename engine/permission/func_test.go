package permission

import (
	"context"
	"errors"
	"testing"
)

func TestDeciderFunc(t *testing.T) {
	say := func(d Decision, err error) Chain {
		return Chain{Deciders: []Decider{DeciderFunc(func(context.Context, Request) (Decision, error) { return d, err })}, Default: Ask}
	}
	for _, row := range []struct {
		name string
		c    Chain
		want Effect
		rule string
	}{
		{"allow", say(Decision{Effect: Allow}, nil), Allow, FuncRule},
		{"a named rule", say(Decision{Effect: Deny, Rule: "own.no"}, nil), Deny, "own.no"},
		{"no opinion", say(Decision{}, nil), Ask, "engine.default"},
		{"an error", say(Decision{Effect: Allow}, errors.New("x")), Deny, "engine.error"},
		{"no function", Chain{Deciders: []Decider{DeciderFunc(nil)}}, Deny, "engine.panic"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if d := row.c.Decide(t.Context(), Request{Tool: "Read"}); d.Effect != row.want || d.Rule != row.rule {
				t.Errorf("got %s by %s, want %s by %s", d.Effect, d.Rule, row.want, row.rule)
			}
		})
	}
	if DeciderFunc(nil).Revision() == "" {
		t.Error("a function has no revision")
	}
}

func TestInprocFunc(t *testing.T) {
	for _, d := range []Decision{{}, {Effect: Deny, Rule: "own.no"}} {
		got := InprocFunc(func(context.Context, InprocRequest) Decision { return d }).Inproc(t.Context(), InprocRequest{})
		if got.Effect != d.Effect || got.Rule == "" || d.Rule != "" && got.Rule != d.Rule {
			t.Errorf("%+v became %+v", d, got)
		}
	}
}
