package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A long answer of another family's tool arrives as it is, line breaks included, over
// any transport; what is no text in it does not break the line.
func TestLongAnswers(t *testing.T) {
	long := strings.Repeat("line \"one\" \\ <tag> é \u2028\n  two\n", 5000)
	answers := map[string]string{"short": "a\n\"b\"", "long": long, "bytes": long + "\xff."}
	tool := further("further", nil)
	tool.Run = func(_ context.Context, c Call) (*mcp.CallToolResult, error) {
		return c.Answer([]byte(answers[c.Required("word")])), nil
	}
	m := New(nil, &Options{Further: []Tool{tool}})
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	server, err := m.Connect(t.Context(), Transport(fromClient, toClient, nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	overStdio, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).
		Connect(t.Context(), &mcp.IOTransport{Reader: fromServer, Writer: toServer}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { overStdio.Close(); server.Wait() })
	for name, c := range map[string]*mcp.ClientSession{"stdio": overStdio, "memory": connectTo(t, t.Context(), m)} {
		for word, text := range answers {
			want := strings.ToValidUTF8(text, "\uFFFD")
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "further", Arguments: json.RawMessage(`{"word":"` + word + `"}`)})
			if err != nil {
				t.Fatal(err)
			}
			if got := res.Content[0].(*mcp.TextContent).Text; got != want || res.StructuredContent != nil || len(res.Content) != 1 {
				t.Errorf("%s, %s: %d bytes, want %d; structured %v", name, word, len(got), len(want), res.StructuredContent)
			}
		}
	}
}
