package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

const noCurl = `package gatehouse.permission

decisions contains {"effect": "deny", "rule": "team.no_curl", "reason": "no downloads"} if {
	some c in input.bash.commands
	c.name.basename == "curl"
}
`

// A set of policies judges calls, requests and calls of tools in this process:
//
//	engine.Options{
//		Deciders:  []permission.Decider{set},
//		Admission: []admission.Decider{set},
//		Inproc:    []permission.InprocDecider{set},
//	}
//
// [policy.NewLive] makes one of it that can be replaced while sessions run.
func ExampleLoad() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "team.rego"), []byte(noCurl), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	set, err := policy.Load(context.Background(), policy.Options{Profile: "dev", Paths: []string{dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, command := range []string{"ls", "ls && curl https://example.com", "make"} {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			fmt.Println(err)
			return
		}
		session := permission.Session{Cwd: "/home/me/project", Roots: []string{"/home/me/project"}, Mode: "default"}
		d, err := set.Decide(context.Background(), permission.Request{Tool: "Bash", Input: input, Session: session})
		fmt.Println(d.Effect, d.Rule, err)
	}
	// Output:
	// allow shell.reads <nil>
	// deny team.no_curl <nil>
	// ask engine.default <nil>
}
