package inproc_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/gatehouse-mcp/gatehouse/engine/inproc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool whose arguments are a Go type. A program hands the server to an engine, in
// engine.Options.ToolServers; here it is called without one.
func ExampleServe() {
	type article struct {
		Name string `json:"name" jsonschema:"name of the article, such as lamp"`
	}
	price := func(_ context.Context, req *mcp.CallToolRequest, a article) (*mcp.CallToolResult, any, error) {
		euros, known := map[string]int{"lamp": 25, "chair": 80}[a.Name]
		if !known {
			return nil, nil, fmt.Errorf("no article %q", a.Name) // the model reads it
		}
		text := fmt.Sprintf("%s: %d euros", inproc.SessionID(req), euros)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	}
	shop := mcp.NewServer(&mcp.Implementation{Name: "shop", Version: "1"}, nil)
	mcp.AddTool(shop, &mcp.Tool{Name: "price", Description: "What an article costs, in euros."}, price)

	s := converse(inproc.Serve(shop, nil), "session-1")
	defer s.end()
	fmt.Println(s.call("price", `{"name":"lamp"}`))
	fmt.Println(s.call("price", `{"name":"moon"}`))
	fmt.Println(s.call("price", `{"article":"lamp"}`))
	// Output:
	// session-1: 25 euros
	// error: no article "moon"
	// error: validating "arguments": validating root: unexpected additional properties ["article"]
}

// Tools that are known as JSON, and change while sessions run.
func ExampleToolSet() {
	echo := inproc.Tool{
		Name: "echo", Description: "Says it again.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		Call: func(_ context.Context, session string, arguments json.RawMessage) (json.RawMessage, error) {
			return json.Marshal(map[string]any{"content": []any{map[string]string{"type": "text", "text": session + " said " + string(arguments)}}})
		},
	}
	set := inproc.NewToolSet("echoes", "1", "", nil)
	if err := set.Replace([]inproc.Tool{echo}); err != nil {
		fmt.Println(err)
		return
	}
	s := converse(set, "session-2")
	defer s.end()
	fmt.Println(s.call("echo", `{"text":"hello"}`))
	fmt.Println(s.call("echo", `{}`))

	alike := echo
	echo.Name, alike.Name = "say.it", "say_it"
	fmt.Println(set.Replace([]inproc.Tool{echo, alike}))
	// Output:
	// session-2 said {"text":"hello"}
	// error: validating "arguments": validating root: required: missing properties: ["text"]
	// replace tools: tool "say_it" is spelt as tool "say.it" is by the CLI, which would call one for the other; rename one of them
}

// conversation is the part of an engine, and of the CLI behind it.
type conversation struct{ link inproc.Link }

func converse(server interface {
	Connect(session string, push func(json.RawMessage) error) (inproc.Link, error)
}, session string) conversation {
	link, err := server.Connect(session, func(json.RawMessage) error { return nil })
	if err != nil {
		panic(err)
	}
	c := conversation{link}
	c.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

func (c conversation) send(message string) json.RawMessage {
	answer := make(chan json.RawMessage, 1)
	c.link.Deliver(json.RawMessage(message), func(response json.RawMessage) { answer <- response })
	return <-answer
}

func (c conversation) call(tool, arguments string) string {
	var response struct {
		Result struct {
			Content []struct{ Text string }
			IsError bool
		}
	}
	raw := c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	if err := json.Unmarshal(raw, &response); err != nil || len(response.Result.Content) == 0 {
		return string(raw)
	}
	if response.Result.IsError {
		return "error: " + response.Result.Content[0].Text
	}
	return response.Result.Content[0].Text
}

func (c conversation) end() {
	if err := c.link.Close(context.Background()); err != nil {
		panic(err)
	}
}
