package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tool is a tool of another family, served beside the own ones: its arguments are
// decoded as strictly, and its panics are caught.
type Tool struct {
	Name, Title, Description string
	Input                    json.RawMessage // schema; its properties are the known arguments
	Annotations              mcp.ToolAnnotations

	Run func(ctx context.Context, c Call) (*mcp.CallToolResult, error)
	// Fail renders an error of Run, of the arguments, or a panic.
	Fail func(c Call, err error) *mcp.CallToolResult
}

// Call is one request to a [Tool].
type Call struct {
	Engine   *engine.Engine
	Progress func(ctx context.Context, message string) // tells a client that asked for it that the call goes on; never nil

	arguments *arguments
}
