package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serverCommand is "gatehouse serve" with the flags, unless the first of them is
// --as=PROGRAM or --as=PROGRAM,COMMAND. (A word of its own would make the guard take
// the client for a server.)
func serverCommand(flags []string) []string {
	if len(flags) > 0 {
		if words, other := strings.CutPrefix(flags[0], "--as="); other {
			return append(strings.Split(words, ","), flags[1:]...)
		}
	}
	return append([]string{"gatehouse", "serve"}, flags...)
}

// offered prints the name of the server and its tools.
func (c *client) offered(ctx context.Context) error {
	list, err := c.session.ListTools(ctx, nil)
	if err != nil {
		return err
	}
	names := make([]string, 0, len(list.Tools))
	for _, t := range list.Tools {
		names = append(names, t.Name)
	}
	_, err = fmt.Printf("offered %s: %s\n", c.session.InitializeResult().ServerInfo.Name, strings.Join(names, " "))
	return err
}

// toldIn is what a tool answered: its structured content, or else its text, which
// is JSON, too.
func toldIn(result *mcp.CallToolResult) ([]byte, error) {
	if result.StructuredContent != nil || len(result.Content) != 1 {
		return json.Marshal(result.StructuredContent)
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		return nil, fmt.Errorf("an answer of type %T", result.Content[0])
	}
	var out bytes.Buffer
	err := json.Compact(&out, []byte(text.Text))
	return out.Bytes(), err
}
