package policy

import (
	"context"
	"testing"

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
