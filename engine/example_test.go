package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// scripted plays a scenario in the place of the CLI, in a folder of its own. A
// program of yours leaves Executable and Args out: the CLI is found on PATH.
func scripted(scenario string) (o engine.Options, remove func()) {
	dir, err := os.MkdirTemp("", "example")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	file := filepath.Join(dir, "scenario.json")
	if err == nil {
		err = os.WriteFile(file, []byte(scenario), 0o600)
	}
	if err != nil {
		panic(err)
	}
	o = engine.Options{Executable: os.Args[0], Args: []string{"scripted-cli", "--scenario", file}, Roots: []string{dir}}
	return o, func() { os.RemoveAll(dir) }
}

// readOnly allows reading and denies commands; what else there is, it leaves to a person.
func readOnly(_ context.Context, r permission.Request) (permission.Decision, error) {
	switch r.Tool {
	case "Read", "Grep", "Glob":
		return permission.Decision{Effect: permission.Allow, Rule: "example.reads"}, nil
	case "Bash":
		return permission.Decision{Effect: permission.Deny, Rule: "example.shell", Reason: "no commands here"}, nil
	}
	return permission.Decision{}, nil // no opinion
}

// A session whose calls a Go function judges.
func Example() {
	o, remove := scripted(`{"turns":[[{"tool":{"name":"Read","input":{"file_path":"main.go"}}},{"tool":{"name":"Bash","input":{"command":"make"}}},{"text":"Read it; make was denied."}]]}`)
	defer remove()
	o.Deciders = []permission.Decider{permission.DeciderFunc(readOnly)}
	o.Admission = []admission.Decider{admission.Allow(admission.Start)}

	ctx := context.Background()
	eng, err := engine.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close(ctx)
	s, err := eng.Start(ctx, engine.StartParams{Prompt: "What does main.go do?"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for page := range s.Pages(ctx) {
		for _, e := range page.Events {
			if e.Type == event.PermissionResult {
				var d struct{ ToolName, Behavior, Rule string }
				if err := json.Unmarshal(e.Data, &d); err == nil {
					fmt.Println(d.ToolName, d.Behavior, d.Rule)
				}
			}
		}
	}
	fmt.Println(s.Info().Result.Result)
	// Output:
	// Read allow example.reads
	// Bash deny example.shell
	// Read it; make was denied.
}

// What no decider has an opinion on is asked. The loop sees each question on a page
// of its own and answers it.
func ExampleSession_Pages() {
	o, remove := scripted(`{"turns":[[{"tool":{"name":"Write","input":{"file_path":"a.txt","content":"x"}}},{"text":"Written."}]]}`)
	defer remove()
	o.Deciders = []permission.Decider{permission.DeciderFunc(readOnly)}
	o.Admission = []admission.Decider{admission.Allow(admission.Start, admission.Answer)}

	ctx := context.Background()
	eng, err := engine.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close(ctx)
	s, err := eng.Start(ctx, engine.StartParams{Prompt: "Write a.txt"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range s.Pages(ctx) {
		for _, a := range s.Pending() {
			fmt.Println("asked:", a.Summary)
			answer := engine.Answer{RequestID: a.RequestID, Allow: true, Digest: a.InputSHA256} // of the input that was shown
			if err := s.Answer(ctx, answer); err != nil {
				fmt.Println(err)
			}
		}
	}
	fmt.Println(s.Info().State, s.Info().Result.Result)
	// Output:
	// asked: Write: a.txt
	// idle Written.
}

// A reply is the next turn of the same session, and pages begin with it.
func ExampleSession_Prompt() {
	o, remove := scripted(`{"turns":[[{"text":"One."}],[{"text":"Two."}]]}`)
	defer remove()
	o.Admission = []admission.Decider{admission.Allow(admission.Start, admission.Reply)}

	ctx := context.Background()
	eng, err := engine.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close(ctx)
	s, err := eng.Start(ctx, engine.StartParams{Prompt: "Count"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range s.Pages(ctx) {
	}
	fmt.Println(s.Info().Result.Result)
	if _, err := s.Prompt(ctx, engine.ReplyParams{Prompt: "Go on"}); err != nil {
		fmt.Println(err)
		return
	}
	for range s.Pages(ctx) {
	}
	fmt.Println(s.Info().Result.Result, s.Info().TotalTurns)
	// Output:
	// One.
	// Two. 2
}

// Without admission policies nothing starts; the code of the error says why.
func ExampleCodeOf() {
	o, remove := scripted(`{}`)
	defer remove()
	eng, err := engine.New(o)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer eng.Close(context.Background())
	_, err = eng.Start(context.Background(), engine.StartParams{Prompt: "hello"})
	fmt.Println(engine.CodeOf(err))
	// Output: PERMISSION_DENIED
}
