// Package upstream reaches MCP servers that this process holds the credentials for,
// and offers their tools to sessions as if they lived here.
//
// Start at [Open], which gives an engine.ToolServer:
//
//	s, err := upstream.Open(upstream.Config{Name: "tickets", Command: []string{"tickets-mcp"}, Env: …}, upstream.Options{})
//	defer s.Close(ctx)
//
// A server is started (a command) or reached (a URL) when the first session lists
// its tools, and started again, with growing pauses, when it ends. What it sends is
// bounded, and none of its secrets leaves this package: they are covered in whatever
// the server says.
package upstream
