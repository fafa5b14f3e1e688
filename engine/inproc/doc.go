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
// # What a link bounds
//
// Each process of a session has a link of its own, and each initialize of the CLI
// begins a new session of the server on it; the calls of the one before are
// cancelled and answered. Every message is answered exactly once: a call that its
// handler does not answer in time, does not hear cancelled or ends with a panic is
// answered for it, and its id stays in use until the handler ends. On one link are
// bounded the requests under way (Options.MaxInFlight; handlers that go on after
// their answer count), their bytes (64 MiB), the notifications that wait for a
// handler (256), the requests of the server without an answer (64), and the sessions
// whose handlers have not ended (8). What is over a bound is refused with an error
// that names it, code -32000.
//
// The engine judges and redacts; nothing here decides.
package inproc
