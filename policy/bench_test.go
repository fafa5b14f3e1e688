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
