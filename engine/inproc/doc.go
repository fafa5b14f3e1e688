// Package inproc lets the CLI call tools that live in this process: it bridges the
// JSON-RPC messages of a session onto a real MCP server of the go-sdk.
//
// Start at [Serve], which makes an engine.ToolServer of an mcp.Server:
//
//	server := mcp.NewServer(&mcp.Implementation{Name: "tickets"}, nil)
//	mcp.AddTool(server, &mcp.Tool{Name: "create"}, create)
//	engine.Options{ToolServers: map[string]engine.ToolServer{"tickets": inproc.Serve(server, nil)}}
//
// A [ToolSet] is for tools that are known as JSON only and change while sessions
// run. In a handler [SessionID] names the session that calls.
//
// The engine judges and redacts; nothing here decides.
package inproc
