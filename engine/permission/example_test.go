package permission_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// Several deciders judge each call, and the strictest answer wins.
func Example() {
	reads := permission.DeciderFunc(func(_ context.Context, r permission.Request) (permission.Decision, error) {
		if r.Tool == "Read" {
			return permission.Decision{Effect: permission.Allow, Rule: "team.reads"}, nil
		}
		return permission.Decision{}, nil // no opinion
	})
	secrets := permission.DeciderFunc(func(_ context.Context, r permission.Request) (permission.Decision, error) {
		var input struct {
			Path string `json:"file_path"`
		}
		if err := json.Unmarshal(r.Input, &input); err != nil {
			return permission.Decision{}, err // counts as a deny
		}
		if input.Path == ".env" {
			return permission.Decision{Effect: permission.Deny, Rule: "team.secrets", Reason: "keys are in it"}, nil
		}
		return permission.Decision{}, nil
	})
	chain := permission.Chain{Deciders: []permission.Decider{reads, secrets}, Default: permission.Ask}

	for _, r := range []permission.Request{
		{Tool: "Read", Input: json.RawMessage(`{"file_path":"main.go"}`)},
		{Tool: "Read", Input: json.RawMessage(`{"file_path":".env"}`)},
		{Tool: "Write", Input: json.RawMessage(`{"file_path":"main.go"}`)},
		{Tool: "Write", Input: json.RawMessage(`{`)},
	} {
		d := chain.Decide(context.Background(), r)
		fmt.Println(d.Effect, d.Rule)
	}
	// Output:
	// allow team.reads
	// deny team.secrets
	// ask engine.default
	// deny engine.error
}

// The size of a result can be judged before the session gets it.
func ExampleInprocFunc() {
	small := permission.InprocFunc(func(_ context.Context, r permission.InprocRequest) permission.Decision {
		if r.Phase == permission.PhaseResult && r.Result.Bytes > 10_000 {
			return permission.Decision{Effect: permission.Deny, Rule: "team.large", Reason: "ask for fewer rows"}
		}
		return permission.Decision{Effect: permission.Allow}
	})
	r := permission.InprocRequest{Server: "tickets", Phase: permission.PhaseResult, Result: permission.InprocResult{Bytes: 20_000}}
	fmt.Println(small.Inproc(context.Background(), r).Rule)
	// Output: team.large
}
