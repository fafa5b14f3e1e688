package upstream

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkCall compares a call of a tool through a link with the same call by the
// client of the go-sdk, both to a program.
func BenchmarkCall(b *testing.B) {
	c := programConfig(b, "sdk")
	text := strings.Repeat("hello ", 40)
	b.Run("direct", func(b *testing.B) {
		client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
		session, err := client.Connect(b.Context(), &mcp.CommandTransport{Command: exec.Command(c.Command[0], c.Command[1:]...)}, nil)
		if err != nil {
			b.Fatal(err)
		}
		defer session.Close()
		for b.Loop() {
			res, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "echo", Arguments: map[string]any{"text": text}})
			if err != nil || res.IsError {
				b.Fatal(err, res)
			}
		}
	})
	b.Run("link", func(b *testing.B) {
		s, _ := open(b, c)
		l := connectTo(b, s, "a")
		l.start()
		params, _ := json.Marshal(map[string]any{"name": "echo", "arguments": map[string]any{"text": text}})
		for b.Loop() {
			if got := l.ask("tools/call", string(params)); !strings.Contains(got, text) {
				b.Fatal(got)
			}
		}
	})
}
