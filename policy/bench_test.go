package policy

import (
	"context"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

func BenchmarkDecide(b *testing.B) {
	root := workspace(b)
	s := load(b, Options{})
	for name, r := range map[string]permission.Request{
		"read":  request(root, "Read", `{"file_path":"main.go"}`),
		"shell": request(root, "Bash", `{"command":"git status --short && cat main.go"}`),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if d, _ := s.Decide(context.Background(), r); d.Effect == permission.Halt {
					b.Fatal(d.Rule)
				}
			}
		})
	}
}

// BenchmarkInproc judges a call of a tool in this process, and its result.
func BenchmarkInproc(b *testing.B) {
	root := workspace(b)
	s := load(b, Options{})
	call := permission.InprocRequest{
		Call: request(root, "mcp__own__create", `{"title":"a broken lamp","labels":["light","hall"]}`), Server: "own", Phase: permission.PhaseCall,
		Passed: permission.Decision{Effect: permission.Allow, Rule: "dev.allowed_tools"},
	}
	call.Call.Session.InprocServers = []string{"own"}
	result := call
	result.Phase, result.Duration = permission.PhaseResult, 12*time.Millisecond
	result.Result = permission.InprocResult{Bytes: 900, Blocks: []string{"text"}}
	for name, r := range map[string]permission.InprocRequest{"call": call, "result": result} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if d := s.Inproc(context.Background(), r); d.Effect != permission.Allow {
					b.Fatal(d.Rule)
				}
			}
		})
	}
}

// BenchmarkLoad loads the built-in policies as a start does, and compiles them
// from their text with every check, as user policies are.
func BenchmarkLoad(b *testing.B) {
	b.Run("compiled-ahead", func(b *testing.B) {
		for b.Loop() {
			if _, err := Load(context.Background(), Options{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("from-text", func(b *testing.B) {
		sources, err := builtinSources("dev")
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := compile(context.Background(), "builtin", sources, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
