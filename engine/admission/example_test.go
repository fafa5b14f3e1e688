package admission_test

import (
	"context"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// A program that fills in the parameters itself names what it does.
func ExampleAllow() {
	d := admission.Allow(admission.Start, admission.Reply)
	for _, r := range []admission.Request{
		{Action: admission.Start, Cwd: "/home/me/project", CwdInsideRoots: true},
		{Action: admission.Start, Cwd: "/etc"},
		{Action: admission.Answer},
	} {
		got, _ := d.Admit(context.Background(), r)
		fmt.Printf("%s: %s %s\n", r.Action, got.Effect, got.Rule)
	}
	// Output:
	// start: allow go.allow
	// start: deny go.allow
	// answer: deny go.allow
}

// One session at a time, for each caller.
func ExampleDeciderFunc() {
	one := admission.DeciderFunc(func(_ context.Context, r admission.Request) (permission.Decision, error) {
		if r.Action == admission.Start && r.Load.CallerSessions > 0 {
			return permission.Decision{Effect: permission.Deny, Rule: "team.one", Reason: "another session of yours runs"}, nil
		}
		return permission.Decision{Effect: permission.Allow}, nil
	})
	d, _ := one.Admit(context.Background(), admission.Request{Action: admission.Start, Load: admission.Load{CallerSessions: 1}})
	fmt.Println(d.Effect, d.Rule)
	// Output: deny team.one
}
